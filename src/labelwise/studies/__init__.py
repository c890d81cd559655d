"""Studies: a simulated answerer, strategies compared over one or many sets, the papers; figures and reports."""

from labelwise.numerics.metrics import METRICS, evaluate
from labelwise.studies.plans import Arena, Entrant, Plan
from labelwise.studies.simulate import Answerer, Result, Schedule, simulate
from labelwise.studies.sources import Source
from labelwise.studies.study import ArenaResult, Study, run_arena, run_study
from labelwise.studies.tables import Table
