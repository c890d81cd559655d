"""Experiments: the simulated answerer, measures, studies, streams, statistics; `figures` and `report` need extras."""

from labelwise.experiments.arena import Arena, ArenaResult, Entrant, run_arena
from labelwise.experiments.metrics import evaluate
from labelwise.experiments.simulate import Answerer, Result, Schedule, simulate
from labelwise.experiments.sources import Source
from labelwise.experiments.stream_predictions import predict_stream, score_stream
from labelwise.experiments.streaming import StreamPlan, train_stream
from labelwise.experiments.study import Plan, Study, run_study
from labelwise.experiments.tables import Table

__all__ = [
    "Answerer",
    "Arena",
    "ArenaResult",
    "Entrant",
    "Plan",
    "Result",
    "Schedule",
    "Source",
    "StreamPlan",
    "Study",
    "Table",
    "evaluate",
    "predict_stream",
    "run_arena",
    "run_study",
    "score_stream",
    "simulate",
    "train_stream",
]
