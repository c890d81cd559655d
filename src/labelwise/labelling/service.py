"""The rules of asking several people at once: who gets which question, for how long, and which answers count.

A request reads and writes a few rows; it never trains and never loads a model. Questions are made ready by the worker.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import sqlalchemy as sa

from labelwise.asking import Answer, Question
from labelwise.labelling.chance import copies
from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.picture_paths import located
from labelwise.labelling.store import Store
from labelwise.labelling.store.events import NewEvent, add_event, event_of_lease, last_answer_of, undone_by
from labelwise.labelling.store.items import item_ids, show_item
from labelwise.labelling.store.labels import StoredLabels, last_change, read_labels
from labelwise.labelling.store.questions import (
    Held,
    Ready,
    end_lease,
    expire,
    find_lease,
    leases_of,
    open_lease,
    others_have,
    put_back,
    renew,
    take,
    votes_on,
    withdraw,
)
from labelwise.labelling.store.schema import NO, UNSURE, WHOLE_ITEM, YES
from labelwise.labelling.terms import GIVEN, SETTLED, TOLD, Lease, Receipt, Settings

Values = Mapping[str, bool | None]  # None is unsure
ENOUGH_HELD = 100  # questions beyond which a person is given none about another item, and most about one in one go


class Service:
    """Questions out, answers in. Every method is one transaction: when it returns, what it did is on disk.

    Parameters
    ----------
    store : Store
    settings : Settings
    clock : seconds since 1970
    """

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.settings = settings
        self._clock = lambda: round(clock(), 6)  # what every file format can say
        self._labels: tuple[int, StoredLabels] | None = None
        self._expired_at = float("-inf")

    # -- questions ----------------------------------------------------------------------------------------------------

    def ask(self, who: str, n: int = 1) -> list[Lease]:
        """Up to n questions for a person: those he has already, then new ones; fewer where fewer are ready."""
        check_person(who)
        return self.store.write(lambda connection: self._ask(connection, who, n))

    def ask_about_items(self, who: str, n: int = 1) -> list[Lease]:
        """Questions about up to n items: where pairs are asked, all that are ready about each, for one reading."""
        check_person(who)

        return self.store.write(lambda connection: self._ask_about_items(connection, who, n))

    def renew(self, token: str, who: str | None = None) -> Lease:
        """More time for a question; `who`, here and below, refuses what another person was given."""

        def more_time(connection: sa.Connection) -> Lease:
            return self._shown(connection, renew(connection, self._open(connection, token, who), self._until()))

        return self.store.write(more_time)

    def skip(self, token: str, who: str | None = None) -> Receipt:
        """Give a question back: somebody else may have it, this person will not be asked it again."""

        def give_back(connection: sa.Connection) -> Receipt:
            held = self._held(connection, token, who)
            before = event_of_lease(connection, token) if held.state == "skipped" else None
            if before is not None:
                return Receipt(before[0])
            held = self._open(connection, token, who)
            event = NewEvent(self._clock(), held.who, held.item, "skip", held.label, held.reason, lease=token)
            number = add_event(connection, event)
            end_lease(connection, token, "skipped")
            put_back(connection, held)
            return Receipt(number)

        return self.store.write(give_back)

    # -- answers ------------------------------------------------------------------------------------------------------

    def answer(self, token: str, values: Values, who: str | None = None) -> Receipt:
        """Save the answer to a leased question; the same answer sent twice is saved once."""
        return self.store.write(lambda connection: self._answer(connection, token, values, who)[0])

    def answer_and_ask(self, token: str, values: Values) -> tuple[Receipt, Lease | None]:
        """Save an answer and get the next question, in one go; None where none is ready."""

        def both(connection: sa.Connection) -> tuple[Receipt, Lease | None]:
            receipt, who = self._answer(connection, token, values)
            return receipt, next(iter(self._ask(connection, who, 1)), None)

        return self.store.write(both)

    def answer_and_ask_about_items(
        self, token: str, values: Values, who: str, n: int = 1
    ) -> tuple[Receipt, list[Lease]]:
        """Save an answer and get what `ask_about_items` gives, in one go."""

        def both(connection: sa.Connection) -> tuple[Receipt, list[Lease]]:
            receipt, _ = self._answer(connection, token, values, who)
            return receipt, self._ask_about_items(connection, who, n)

        return self.store.write(both)

    def tell(self, answers: Iterable[Answer], who: str) -> list[Receipt]:
        """Save answers, asked for or not: all of them, or none where one is wrong.

        An answer to a question that this person has ends its lease. One that contradicts what he said before needs
        `correction=True`.
        """
        check_person(who)
        batch = list(answers)

        def all_or_none(connection: sa.Connection) -> list[Receipt]:
            ids = item_ids(connection, [answer.item for answer in batch])
            return [self._tell(connection, answer, ids[answer.item], who) for answer in batch]

        return self.store.write(all_or_none)

    def settle(self, answer: Answer, who: str) -> Receipt:
        """Save an answer that stands whatever others said or will say; only another one like it outweighs it."""
        check_person(who)

        def stand(connection: sa.Connection) -> Receipt:
            item = item_ids(connection, [answer.item])[answer.item]
            said, notices = self._checked(self._known(connection), answer.values)
            label = next(iter(said)) if len(said) == 1 and self.settings.target == "pairs" else WHOLE_ITEM
            withdraw(connection, item, label)
            event = NewEvent(self._clock(), who, item, "answer", label, SETTLED, said)
            return Receipt(add_event(connection, event), tuple(notices))

        return self.store.write(stand)

    def undo(self, who: str, event: int | None = None) -> Lease:
        """Take a person's last answer or skip back; he is asked the question again.

        With `event`, the number of that answer: sent twice it is taken back once, and nothing else is.
        """

        def take_back(connection: sa.Connection) -> Lease:
            if event is not None:
                done = self._lease_after_undo(connection, who, event)
                if done is not None:
                    return done
            last = last_answer_of(connection, who)
            if last is None or last.reason == GIVEN:
                raise ProjectError(f"{who!r} has no answer to take back")
            if event is not None and last.id != event:
                raise AnswerRefused("something was answered since; only the last answer can be taken back")
            undo = NewEvent(self._clock(), who, last.item, "undo", last.asked, last.reason, undoes=last.id)
            add_event(connection, undo)
            withdraw(connection, last.item, last.asked)
            held = None if last.lease is None else find_lease(connection, last.lease)
            again = Ready(last.item, last.asked, 0, last.reason, None, 1, None)
            if held is not None:  # as it was shown before
                again = replace(again, rank=held.rank, score=held.score, beliefs=held.beliefs, words=held.words)
            return self._give(connection, again, who)

        return self.store.write(take_back)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _ask(self, connection: sa.Connection, who: str, n: int, new: int | None = None) -> list[Lease]:
        """What a person has, up to n, then new questions: up to n together, or so many."""
        self._expire(connection)
        mine = [renew(connection, held, self._until()) for held in leases_of(connection, who)[:n]]
        given = [self._shown(connection, held) for held in mine]
        wanted = n - len(mine) if new is None else new
        return given + self._give_open(connection, take(connection, who, wanted) if wanted > 0 else (), who)

    def _ask_about_items(self, connection: sa.Connection, who: str, n: int) -> list[Lease]:
        given = self._ask(connection, who, 2 * ENOUGH_HELD, new=0)
        while len({lease.question.item for lease in given}) < n and len(given) < ENOUGH_HELD:
            question = next(iter(take(connection, who, 1)), None)
            if question is None:
                break
            more = take(connection, who, ENOUGH_HELD - 1, about=question.item)
            given += self._give_open(connection, [question, *more], who)
        return given

    def _give_open(self, connection: sa.Connection, questions: Iterable[Ready], who: str) -> list[Lease]:
        """Leases for those of the questions about which anything is left to say."""
        given = []
        for question in questions:
            lease = self._give(connection, question, who)
            if lease.question.labels:
                given.append(lease)
            else:  # everything about it was told since it was made ready
                end_lease(connection, lease.token, "expired")
        return given

    def _lease_after_undo(self, connection: sa.Connection, who: str, event: int) -> Lease | None:
        """The question that an answer taken back already has led to, while it is open."""
        undone = undone_by(connection, event, who)
        if undone is None:
            return None
        mine = leases_of(connection, who)
        held = next((held for held in mine if (held.item, held.label) == (undone.item, undone.asked)), None)
        if held is None:
            raise AnswerRefused("that answer was taken back already, and answered again since")
        return self._shown(connection, held)

    def _expire(self, connection: sa.Connection) -> None:
        """End what is over, at most once a second: nobody minds a lease that lasts a second longer."""
        now = self._clock()
        if now >= self._expired_at + 1.0:
            expire(connection, now)
            self._expired_at = now

    def _give(self, connection: sa.Connection, asked: Ready, who: str) -> Lease:
        held = Held(
            token=secrets.token_hex(8),
            item=asked.item,
            label=asked.label,
            who=who,
            reason=asked.reason,
            score=asked.score,
            rank=asked.rank,
            beliefs=asked.beliefs,
            words=asked.words,
            given_at=self._clock(),
            expires_at=self._until(),
        )
        open_lease(connection, held)
        return self._shown(connection, held)

    def _answer(
        self, connection: sa.Connection, token: str, values: Values, who: str | None = None
    ) -> tuple[Receipt, str]:
        held = self._held(connection, token, who)
        said, notices = self._checked(self._known(connection), values)
        before = None if held.state == "open" else event_of_lease(connection, token)
        if before is not None:
            if before[1] != said:
                raise AnswerRefused("the question was answered or skipped already; undo that first to change it")
            return Receipt(before[0], tuple(notices)), held.who
        if held.state != "open" or held.expires_at < self._clock():
            notices.append(self._late(connection, held))
        event = NewEvent(self._clock(), held.who, held.item, "answer", held.label, held.reason, said, token)
        number = add_event(connection, event)
        end_lease(connection, token, "answered")
        return Receipt(number, tuple(notices)), held.who

    def _late(self, connection: sa.Connection, held: Held) -> str:
        """A late answer counts as long as nobody else was given the question."""
        if others_have(connection, held) >= copies(self.settings, held.item, held.label):
            name, _ = show_item(connection, held.item)
            raise AnswerRefused(
                f"the time for item {name!r} was over and somebody else has it now; nothing was saved. "
                "To add it as a second opinion, tell it without the lease"
            )
        if held.state == "expired":
            withdraw(connection, held.item, held.label)
        return "the answer came after its time, but nobody else had the question: it counts"

    def _tell(self, connection: sa.Connection, answer: Answer, item: int, who: str) -> Receipt:
        said, notices = self._checked(self._known(connection), answer.values)
        mine = [lease for lease in leases_of(connection, who) if lease.item == item]
        asked = next((lease for lease in mine if lease.label == WHOLE_ITEM or lease.label in said), None)
        if asked is not None:
            return self._answer(connection, asked.token, answer.values)[0]
        if not answer.correction:
            self._check_not_contradicting(connection, answer, item, who, said)
        label = next(iter(said)) if len(said) == 1 and self.settings.target == "pairs" else WHOLE_ITEM
        event = NewEvent(self._clock(), who, item, "answer", label, TOLD, said)
        withdraw(connection, item, label)
        return Receipt(add_event(connection, event), tuple(notices))

    def _check_not_contradicting(
        self, connection: sa.Connection, answer: Answer, item: int, who: str, said: dict[int, int]
    ) -> None:
        before = {label: value for label, other, _, value in votes_on(connection, item) if other == who}
        for label, value in before.items():
            if label in said and {value, said[label]} == {YES, NO}:
                name = self._known(connection).all_names[label]
                raise ProjectError(
                    f"{who!r} said {'yes' if value == YES else 'no'} to {name!r} of item {answer.item!r} before; "
                    "mark the answer as a correction to change it"
                )

    def _checked(self, known: StoredLabels, values: Values) -> tuple[dict[int, int], list[str]]:
        """Values by label number, and what to say of labels that have gone meanwhile; their answers are kept too."""
        said: dict[int, int] = {}
        notices: list[str] = []
        refused: AnswerRefused | None = None
        for name, value in values.items():
            if value is not None and not isinstance(value, bool | np.bool_):
                raise ProjectError(f"label {name!r} must be True, False or None (unsure), got {value!r}")
            try:
                label = known.id_of(name)
            except AnswerRefused as gone:
                refused, label = gone, known.last_id_of(name)
                notices.append(f"{gone}; what was said of it is kept, and not used")
            said[label] = UNSURE if value is None else YES if value else NO
        if not said:
            raise ProjectError("the answer says nothing; skip the question instead")
        if refused is not None and len(notices) == len(said):
            raise refused
        return said, notices

    def _shown(self, connection: sa.Connection, held: Held) -> Lease:
        name, content = show_item(connection, held.item)
        content = located(content, self.store.folder)
        known = self._known(connection)
        labels = self._open_labels(connection, held, known)
        beliefs: dict[str, float] = {}
        if held.beliefs is not None:
            p = np.frombuffer(held.beliefs, dtype="<f4").tolist()
            by_name = dict(zip(known.names, p, strict=True)) if len(p) == len(known.names) else {}
            beliefs = {label: by_name[label] for label in labels if label in by_name}
        score = float("nan") if held.score is None else held.score
        question = Question(name, labels, held.reason, score)
        marked = json.loads(held.words) if held.words and beliefs else []
        words = tuple((word, known.names[place], weight) for word, place, weight in marked)
        return Lease(held.token, held.who, question, content, held.expires_at, beliefs, held.rank, words)

    def _open_labels(self, connection: sa.Connection, held: Held, known: StoredLabels) -> tuple[str, ...]:
        """The names of the labels to ask about: of a whole item, what this person and enough others have not said."""
        if held.label != WHOLE_ITEM:
            return tuple(name for label, name in zip(known.ids, known.names, strict=True) if label == held.label)
        voters: dict[int, set[str]] = {}
        settled = set()
        for label, who, reason, _ in votes_on(connection, held.item):
            voters.setdefault(label, set()).add(who)
            if reason == GIVEN or who == held.who:
                settled.add(label)
        wanted = copies(self.settings, held.item, WHOLE_ITEM)
        settled |= {label for label, people in voters.items() if len(people) >= wanted}
        return tuple(name for label, name in zip(known.ids, known.names, strict=True) if label not in settled)

    def _held(self, connection: sa.Connection, token: str, who: str | None) -> Held:
        held = find_lease(connection, token)
        if held is None or (who is not None and held.who != who):  # whose it is, is not for others to know
            raise AnswerRefused(f"there is no question with the lease {token!r} for {who or 'you'}; ask for one")
        return held

    def _open(self, connection: sa.Connection, token: str, who: str | None = None) -> Held:
        held = self._held(connection, token, who)
        if held.state != "open" or held.expires_at < self._clock():
            raise AnswerRefused(f"the lease {token!r} is over; ask for a question anew")
        return held

    def _known(self, connection: sa.Connection) -> StoredLabels:
        change = last_change(connection)
        if self._labels is None or self._labels[0] != change:
            self._labels = (change, read_labels(connection))
        return self._labels[1]

    def _until(self) -> float:
        return self._clock() + self.settings.lease_seconds


def check_person(who: str) -> str:
    """A name that can be told from others in every format."""
    if not who.strip() or not who.isprintable():
        raise ProjectError(f"who answers needs a name, got {who!r}")
    return who
