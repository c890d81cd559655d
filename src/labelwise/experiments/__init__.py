"""Experiments: the simulated answerer, measures, studies over seeds, statistics; `figures` and `report` need extras."""

from labelwise.experiments.metrics import evaluate
from labelwise.experiments.simulate import Answerer, Result, Schedule, simulate
from labelwise.experiments.study import Plan, Study, run_study
from labelwise.experiments.tables import Table

__all__ = ["Answerer", "Plan", "Result", "Schedule", "Study", "Table", "evaluate", "run_study", "simulate"]
