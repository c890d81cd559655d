"""The papers done again: each claim, the paper's figure, ours, the verdict. `PAPERS` is what the command goes by."""

from labelwise.studies.papers import bomc_exhibits, csbpca, gpb2m, miml, mllcs
from labelwise.studies.papers.engine import Claim, Exhibit, Paper
from labelwise.studies.papers.reproduction import (
    Account,
    account_for,
    report_together,
    reproduce_paper,
)

PAPERS: dict[str, Paper] = {
    "miml": miml.PAPER,
    "bomc": bomc_exhibits.PAPER,
    "gpb2m": gpb2m.PAPER,
    "csbpca": csbpca.PAPER,
    "mllcs": mllcs.PAPER,
}

__all__ = [
    "PAPERS",
    "Account",
    "Claim",
    "Exhibit",
    "Paper",
    "account_for",
    "report_together",
    "reproduce_paper",
]
