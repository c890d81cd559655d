"""Which questions to keep ready: those of the campaign, the random share, and what others shall answer too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.asking import Question
from labelwise.labelling.chance import chance, copies, kept_apart
from labelwise.labelling.cold_start import most_telling_items
from labelwise.labelling.history import NEVER, UNKNOWN
from labelwise.labelling.learner import Learner
from labelwise.labelling.store.questions import Ready
from labelwise.labelling.store.schema import WHOLE_ITEM
from labelwise.labelling.telling_words import telling_words, word_weights
from labelwise.labelling.terms import CONTROL, START

Entry = tuple[int, int]  # an item and a label, or WHOLE_ITEM, by number
SAMPLE = 500  # items from which it is told what a word says
Planned = tuple[int, int, str, float | None]  # the same with reason and score


def by_item(planned: Iterable[Planned]) -> list[Planned]:
    """The same with all about one item together, at the place of the first.

    >>> [entry[:2] for entry in by_item([(1, 8, "start", None), (2, 8, "control", None), (1, 9, "start", None)])]
    [(1, 8), (1, 9), (2, 8)]
    """
    about: dict[int, list[Planned]] = {}
    for entry in planned:
        about.setdefault(entry[0], []).append(entry)
    return [entry for entries in about.values() for entry in entries]


class Planner:
    """The next questions of a learner, in order; without regard to who will be asked.

    Parameters
    ----------
    learner : Learner
    leased : item and label of every question that somebody has now
    """

    def __init__(self, learner: Learner, leased: Iterable[Entry] = ()) -> None:
        self.learner = learner
        self.settings = learner.settings
        self.pairs = learner.settings.target == "pairs"
        self.leased = list(leased)
        self.ids = np.array(learner.items.ids, dtype=np.int64)
        self.apart = kept_apart(self.settings, self.ids)

    def plan(self, n: int) -> list[Ready]:
        """About n questions, best first."""
        turn = sum(len(votes.people) for votes in self.learner.history.items.values())
        drawn = chance(self.settings.random_state, "slots", turn, np.arange(n)) < self.settings.control
        control = iter(self._control(int(drawn.sum())))
        chosen = iter(self._chosen(int((~drawn).sum())))
        ordered: list[Planned] = self._unfinished()
        for is_control in drawn.tolist():
            following = next(control if is_control else chosen, None)
            if following is not None:
                ordered.append(following)
        first: dict[Entry, tuple[str, float | None]] = {}
        for item, label, reason, score in by_item([*ordered, *chosen]):
            first.setdefault((item, label), (reason, score))
        beliefs, words = self._beliefs([item for item, _ in first])
        return [
            Ready(item, label, rank, reason, score, self._remaining(item, label), beliefs.get(item), words.get(item))
            for rank, ((item, label), (reason, score)) in enumerate(first.items())
        ]

    # -- the three kinds ----------------------------------------------------------------------------------------------

    def _chosen(self, n: int) -> list[Planned]:
        """What the strategy, or before anything is known the features, would ask."""
        learner = self.learner
        if n == 0:
            return []
        if learner.knows_nothing and not self.settings.start:
            return self._first(n)
        id_of = dict(zip(learner.items.names, learner.items.ids, strict=True))
        label_of = dict(zip(learner.labels.names, learner.labels.ids, strict=True))
        asked = self._campaign_questions(n)

        def entry(question: Question) -> Planned:
            label = label_of[question.labels[0]] if self.pairs else WHOLE_ITEM
            score = float(question.score)
            return id_of[question.item], label, question.reason, score if np.isfinite(score) else None

        return [entry(question) for question in asked]

    def _campaign_questions(self, n: int) -> list[Question]:
        """The campaign's n questions, and the rest about the last item where that is one of the start: read once."""
        excluded = self._excluded()
        asked = self.learner.campaign.ask(n, exclude=excluded)
        if not (self.pairs and asked and asked[-1].reason == START):
            return asked
        more = self.learner.campaign.ask(n + len(self.learner.labels.ids), exclude=excluded)[n:]
        return asked + [each for each in more if (each.item, each.reason) == (asked[-1].item, START)]

    def _first(self, n: int) -> list[Planned]:
        """Items by what their features tell; where pairs are asked, one label of each, drawn at random."""
        closed = self._closed_items()
        n_items = min(n, int((~closed).sum()))
        q = len(self.learner.labels.ids)
        mask = sp.csr_array(np.broadcast_to(closed[:, None], (closed.size, q)) if closed.any() else (closed.size, q))
        rows, gains = most_telling_items(self.learner.X, mask.astype(bool), n_items, self.settings.random_state)
        items = self.ids[rows]
        labels = [WHOLE_ITEM] * items.size
        if self.pairs:
            place = (chance(self.settings.random_state, "label", items) * q).astype(int)
            labels = [self.learner.labels.ids[column] for column in place.tolist()]
        found = zip(items.tolist(), labels, gains.tolist(), strict=True)
        return [(item, label, "cold start", gain) for item, label, gain in found]

    def _control(self, n: int) -> list[Planned]:
        """Open questions about the items kept apart, in an order drawn from the start."""
        if n == 0:
            return []
        items = self.ids[self.apart]
        labels = np.array(self.learner.labels.ids if self.pairs else (WHOLE_ITEM,), dtype=np.int64)
        order = np.argsort(chance(self.settings.random_state, "order", items[:, None], labels[None, :]).ravel())
        held = set(self.leased)
        found: list[Planned] = []
        for place in order.tolist():
            entry = (int(items[place // labels.size]), int(labels[place % labels.size]))
            if entry not in held and self._is_open(*entry):
                found.append((*entry, CONTROL, None))
                if len(found) == n:
                    break
        return found

    def _unfinished(self) -> list[Planned]:
        """Questions that some but not all of the people who shall be asked have answered."""
        if self.settings.overlap == 1:
            return []
        found: list[Planned] = []
        for item, votes in self.learner.history.items.items():
            asked = np.flatnonzero((votes.voters() > 0) & ~votes.given)
            labels = [self.learner.labels.ids[column] for column in asked.tolist()] if self.pairs else [WHOLE_ITEM]
            reason = CONTROL if votes.control.any() else "overlap"
            found += [
                (item, label, reason, None) for label in labels if asked.size and self._remaining(item, label) > 0
            ]
        return found

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
        """What the campaign must not ask: items kept apart or being answered, and labels nobody was sure of."""
        learner = self.learner
        name_of, labels = learner.history.names, learner.labels
        excluded: list[Any] = np.array(learner.items.names, dtype=object)[self.apart].tolist()
        for item, label in self.leased:
            if label == WHOLE_ITEM:
                excluded.append(name_of[item])
            elif label in labels.all_names and labels.all_names[label] in labels.names:
                excluded.append((name_of[item], labels.all_names[label]))
        for item, votes in learner.history.items.items():
            unsure = np.flatnonzero((votes.known == UNKNOWN) & (votes.voters() > 0))
            excluded += [(name_of[item], labels.names[column]) for column in unsure.tolist()]
        return excluded

    def _closed_items(self) -> npt.NDArray[np.bool_]:
        """(n,) items that a first question cannot be about."""
        taken = {item for item, _ in self.leased} | set(self.learner.history.items)
        return self.apart | np.isin(self.ids, list(taken))

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
        others = np.arange(0, self.ids.size, max(1, self.ids.size // SAMPLE))  # those asked about are the doubtful ones
        all_p = np.concatenate([p, learner.campaign.believe().rows(others).probabilities()])
        X = sp.csr_array(learner.X[np.concatenate([rows, others])])
        used = np.unique(X[: rows.size].indices)
        X = X[:, used]
        vocabulary = learner.featurizer.vectorizer.get_feature_names_out()[used].tolist()
        words = telling_words(X[: rows.size], word_weights(X, all_p), vocabulary)
        return beliefs, dict(zip(distinct, words, strict=True))
