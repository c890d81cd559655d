"""Campaign: ask, tell, believe. The one learning loop of library, command, page and studies."""

from labelwise.campaign.answers import refit_point
from labelwise.campaign.defaults import START
from labelwise.campaign.guard import Guard, evidence_point
from labelwise.campaign.loop import Campaign, Model
from labelwise.records.asking import START_REASON
from labelwise.records.costs import Costs, Spent

__all__ = [
    "START",
    "START_REASON",
    "Campaign",
    "Costs",
    "Guard",
    "Model",
    "Spent",
    "evidence_point",
    "refit_point",
]
