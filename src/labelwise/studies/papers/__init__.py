"""The papers done again: each claim, the paper's figure, ours, the verdict. `PAPERS` is what the command goes by."""

from labelwise.studies.papers.engine import Claim, Exhibit, Paper
from labelwise.studies.papers.reproduction import (
    PAPERS,
    Account,
    account_for,
    load_paper,
    report_together,
    reproduce_paper,
)
