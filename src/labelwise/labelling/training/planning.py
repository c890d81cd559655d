"""Which questions to keep ready: those that the campaign asks next, and what others shall answer too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.campaign.defaults import BATCH
from labelwise.labelling.items.features import telling_words, word_weights
from labelwise.labelling.records import CONTROL, START
from labelwise.labelling.store.questions import Ready
from labelwise.labelling.store.schema import WHOLE_ITEM
from labelwise.labelling.training.chance import copies
from labelwise.labelling.training.learner import Learner
from labelwise.labelling.training.votes import NEVER, UNKNOWN
from labelwise.records.asking import Question

Entry = tuple[int, int]  # an item and a label, or WHOLE_ITEM, by number
WORD_SAMPLE = 500  # items from which it is told what a word says


@dataclass(frozen=True)
class Planned:
    """A question by numbers, and why it is asked."""

    item: int
    label: int  # or WHOLE_ITEM
    reason: str
    score: float | None = None


class Planner:
    """The next questions of a learner, in order; without regard to who will be asked.

    Parameters
    ----------
    learner : Learner
    leased : item, label and reason of every question that somebody has now
    skipped : person, item and label of every skip that was not taken back

    Attributes
    ----------
    exhausted_ : whether the last plan holds every question that is open and that nobody has
    """

    def __init__(
        self,
        learner: Learner,
        leased: Iterable[tuple[int, int, str]] = (),
        skipped: Iterable[tuple[str, int, int]] = (),
    ) -> None:
        self.learner = learner
        self.settings = learner.settings
        self.pairs = learner.settings.target == "pairs"
        self.leased = list(leased)
        self.skipped = list(skipped)
        self.exhausted_ = False
        self.ids = np.array(learner.items.ids, dtype=np.int64)

    def plan(self, n: int) -> list[Ready]:
        """About n questions for everybody, best first: after them, as many as somebody has had and others may get."""
        planned = [*self._unfinished(), *self._next(n)]
        had = self._closed_to_one()
        if had and not self.exhausted_:
            planned += self._next(n + had)
        first: dict[Entry, Planned] = {}
        for each in planned:
            first.setdefault((each.item, each.label), each)
        beliefs, words = self._beliefs([item for item, _ in first])
        return [
            Ready(
                each.item,
                each.label,
                rank,
                each.reason,
                each.score,
                self._remaining(each.item, each.label),
                beliefs.get(each.item),
                words.get(each.item),
            )
            for rank, each in enumerate(first.values())
        ]

    def _next(self, n: int) -> list[Planned]:
        """The campaign's next questions: first those of one batch, as a study asks them, then more."""
        campaign, excluded = self.learner.campaign, self._excluded()
        asked = campaign.ask(min(n, BATCH), exclude=excluded)
        if n > BATCH:
            asked += campaign.ask(n - len(asked), exclude=[*excluded, *map(self._as_excluded, asked)])
        self.exhausted_ = len(asked) < n
        if self.pairs and asked and asked[-1].reason == START:  # the rest about the last item: it is read once
            more = campaign.ask(len(self.learner.labels.ids), exclude=[*excluded, *map(self._as_excluded, asked)])
            asked += [each for each in more if (each.item, each.reason) == (asked[-1].item, START)]
        id_of = dict(zip(self.learner.items.names, self.learner.items.ids, strict=True))
        label_of = dict(zip(self.learner.labels.names, self.learner.labels.ids, strict=True))

        def planned(question: Question) -> Planned:
            label = label_of[question.labels[0]] if self.pairs else WHOLE_ITEM
            score = float(question.score)
            return Planned(id_of[question.item], label, question.reason, score if np.isfinite(score) else None)

        return [planned(question) for question in asked]

    def _as_excluded(self, question: Question) -> Any:
        """A question as a campaign is told not to ask it."""
        return (question.item, question.labels[0]) if self.pairs else question.item

    def _closed_to_one(self) -> int:
        """The most open questions that one person has had already: he skipped them, or answered them in part."""
        had = {(who, item, label) for who, item, label in self.skipped if self._may_be_planned(item, label)}
        if not self.pairs:
            for item, votes in self.learner.history.items.items():
                if self._is_open(item, WHOLE_ITEM):
                    spoke = (votes.values[:, ~votes.given] != NEVER).any(1)  # labels that came with it are no answers
                    had |= {(who, item, WHOLE_ITEM) for who, row in votes.people.items() if spoke[row]}
        return max(Counter(who for who, _, _ in had).values(), default=0)

    def _may_be_planned(self, item: int, label: int) -> bool:
        """Whether a question is of the kind that is asked, and open."""
        is_asked = label in self.learner.labels.column_of if self.pairs else label == WHOLE_ITEM
        return is_asked and self._is_open(item, label)

    # -- what others shall answer too ---------------------------------------------------------------------------------

    def _unfinished(self) -> list[Planned]:
        """Questions that some but not all of the people who shall be asked have answered, or have now."""
        if self.settings.overlap == 1:
            return []
        found = self._shared()
        for item, votes in self.learner.history.items.items():
            asked = np.flatnonzero((votes.voters() > 0) & ~votes.given)
            labels = [self.learner.labels.ids[column] for column in asked.tolist()] if self.pairs else [WHOLE_ITEM]
            reason = CONTROL if votes.is_random.any() else "overlap"
            found += [
                Planned(item, label, reason) for label in labels if asked.size and self._remaining(item, label) > 0
            ]
        return found

    def _shared(self) -> list[Planned]:
        """Questions that somebody has now and that others shall be asked, too."""
        counted = Counter((item, label) for item, label, _ in self.leased)
        reasons = {(item, label): reason for item, label, reason in self.leased}
        return [
            Planned(item, label, CONTROL if reasons[item, label] == CONTROL else "overlap")
            for (item, label), number in counted.items()
            if self._may_be_planned(item, label) and self._remaining(item, label) > number
        ]

    # -- what is open -------------------------------------------------------------------------------------------------

    def _remaining(self, item: int, label: int) -> int:
        """How many people may still be asked."""
        votes = self.learner.history.items.get(item)
        had = 0
        if votes is not None and self.pairs:
            had = int(votes.voters()[self.learner.labels.column_of[label]])
        elif votes is not None:
            had = int((votes.values[:, ~votes.given] != NEVER).any(1).sum())
            if self.settings.overlap == 1 and self._is_open(item, label):
                had = 0  # an answer in part leaves the rest to be asked
        return copies(self.settings, item, label) - had

    def _is_open(self, item: int, label: int) -> bool:
        votes = self.learner.history.items.get(item)
        if votes is None:
            return True
        silent = votes.voters() == 0
        return bool(silent.any() if label == WHOLE_ITEM else silent[self.learner.labels.column_of[label]])

    def _excluded(self) -> list[Any]:
        """What the campaign must not ask: what is being answered, and labels nobody was sure of."""
        learner = self.learner
        name_of, labels = learner.history.names, learner.labels
        excluded: list[Any] = []
        for item, label, _ in self.leased:
            if label == WHOLE_ITEM:
                excluded.append(name_of[item])
            elif label in labels.all_names and labels.all_names[label] in labels.names:
                excluded.append((name_of[item], labels.all_names[label]))
        for item, votes in learner.history.items.items():
            if not self.pairs and self._remaining(item, WHOLE_ITEM) <= 0:
                excluded.append(name_of[item])  # answered in part by as many people as shall be asked
            unsure = np.flatnonzero((votes.known == UNKNOWN) & (votes.voters() > 0))
            excluded += [(name_of[item], labels.names[column]) for column in unsure.tolist()]
        return excluded

    def _beliefs(self, items: list[int]) -> tuple[dict[int, bytes], dict[int, str]]:
        """The probabilities of every label of these items and, of texts, the words behind them, as they are stored."""
        learner = self.learner
        if learner.knows_nothing or not items:
            return {}, {}
        distinct = sorted(set(items))
        rows = np.searchsorted(self.ids, distinct)
        p = learner.campaign.believe().rows(rows).probabilities()  # (m, q)
        beliefs = {item: row.astype("<f4").tobytes() for item, row in zip(distinct, p, strict=True)}
        if learner.featurizer.vectorizer is None:
            return beliefs, {}
        others = np.arange(0, self.ids.size, max(1, self.ids.size // WORD_SAMPLE))  # those asked about are in doubt
        all_p = np.concatenate([p, learner.campaign.believe().rows(others).probabilities()])
        X = sp.csr_array(learner.X[np.concatenate([rows, others])])
        used = np.unique(X[: rows.size].indices)
        X = X[:, used]
        vocabulary = learner.featurizer.vectorizer.get_feature_names_out()[used].tolist()
        words = telling_words(X[: rows.size], word_weights(X, all_p), vocabulary)
        return beliefs, dict(zip(distinct, words, strict=True))
