"""The papers done again: each claim, the paper's figure, ours, the verdict. `PAPERS` is what the command goes by."""

from labelwise.experiments.reproduce import (
    bomc_exhibits,
    csbpca_exhibits,
    gpb2m_exhibits,
    miml_exhibits,
    mllcs_exhibits,
)
from labelwise.experiments.reproduce.claims import Claim, Exhibit, Paper, Reproduction, reproduce_paper
from labelwise.experiments.reproduce.together import Account, account_for, report_together

PAPERS: dict[str, Paper] = {
    "miml": miml_exhibits.PAPER,
    "bomc": bomc_exhibits.PAPER,
    "gpb2m": gpb2m_exhibits.PAPER,
    "csbpca": csbpca_exhibits.PAPER,
    "mllcs": mllcs_exhibits.PAPER,
}

__all__ = [
    "PAPERS",
    "Account",
    "Claim",
    "Exhibit",
    "Paper",
    "Reproduction",
    "account_for",
    "report_together",
    "reproduce_paper",
]
