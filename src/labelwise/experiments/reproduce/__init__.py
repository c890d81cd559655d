"""The papers done again: each claim, the paper's figure, ours, the verdict."""

from labelwise.experiments.reproduce.claims import Claim, Exhibit, Paper, Reproduction, reproduce

__all__ = ["Claim", "Exhibit", "Paper", "Reproduction", "reproduce"]
