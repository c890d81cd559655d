"""The rules of asking several people at once: who gets which question, for how long, and which answers count.

A request reads and writes a few rows; it never trains and never loads a model. Questions are made ready by the worker.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import sqlalchemy as sa

from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.leases import (
    MOST_HELD,
    check_not_contradicting,
    check_not_repeating,
    checked_values,
    end_leases,
    late_notice,
    lease_after_undo,
    leases_to_answer,
    leases_with,
    only_new,
    picked_and_verified,
    reason_of,
    shown_lease,
    take_next,
    timed,
    undo_answer,
    why_none,
)
from labelwise.labelling.missed import LatestMissRates
from labelwise.labelling.people import check_person
from labelwise.labelling.records import GIVEN, SETTLED, TOLD, Lease, Receipt, Settings, Verified
from labelwise.labelling.store import Store
from labelwise.labelling.store.events import (
    NewEvent,
    add_event,
    answer_before,
    event_of_lease,
    last_answer_of,
    said_before,
)
from labelwise.labelling.store.items import item_ids
from labelwise.labelling.store.labels import StoredLabels, last_change, read_labels
from labelwise.labelling.store.questions import (
    LEFT,
    Ready,
    StoredLease,
    answered_leases,
    end_lease,
    expire,
    find_lease,
    leases_on_item,
    leave_open,
    open_lease,
    ready_labels,
    renew,
    return_question,
    take,
    votes_on,
    withdraw,
)
from labelwise.labelling.store.schema import WHOLE_ITEM
from labelwise.records.asking import VERIFY, Answer, Timing

Values = Mapping[str, bool | None]  # None is unsure


class Service:
    """Questions out, answers in. Every method is one transaction: when it returns, what it did is on disk.

    Parameters
    ----------
    store : Store
    settings : Settings
    clock : seconds since 1970

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> data = lw.data.make_shapes(20, random_state=0).hide()
    >>> with tempfile.TemporaryDirectory() as folder, lw.Project.create(f"{folder}/shapes.db", data) as project:
    ...     project.refresh()  # makes the first questions
    ...     lease = project.service.ask("ann")[0]
    ...     project.service.skip(lease.token)  # somebody else may have it
    ...     project.service.ask("ann")[0].question.item == lease.question.item
    Receipt(event=1, notices=(), repeated=False)
    False
    """

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.settings = settings
        self._clock = lambda: round(clock(), 6)  # what every file format can say
        self._labels: tuple[int, StoredLabels] | None = None
        self._expired_at = float("-inf")
        self._misses = LatestMissRates()

    # -- questions ----------------------------------------------------------------------------------------------------

    def ask(self, who: str, n: int = 1) -> list[Lease]:
        """Up to n questions for a person: those they have already, then new ones; fewer where fewer are ready.

        Nobody holds more than `MOST_HELD`: beyond that they get those that they hold.
        """
        check_person(who)
        return self.store.write(lambda connection: self._ask(connection, who, n))

    def ask_about_items(self, who: str, n: int = 1) -> list[Lease]:
        """Questions about up to n items: where pairs are asked, all that are ready about each, for one reading."""
        check_person(who)
        return self.store.write(lambda connection: self._ask_about_items(connection, who, n))

    def left_for(self, who: str) -> str:
        """Why a person was given no question: more are `MAKING`, the rest is `WITH_OTHERS`, or there is `NOTHING`."""
        with self.store.reading() as connection:
            return why_none(connection, who)

    def renew(self, token: str, who: str | None = None) -> Lease:
        """More time for a question; `who`, here and below, refuses what another person was given."""

        def more_time(connection: sa.Connection) -> Lease:
            return self._shown(connection, renew(connection, self._open(connection, token, who), self._until()))

        return self.store.write(more_time)

    def skip(self, token: str, who: str | None = None, *, timing: Timing | None = None) -> Receipt:
        """Give a question back: somebody else may have it, this person will not be asked it again.

        `timing`, here and below, is how long the person took; kept within reason, and as it came the first time.
        """
        with self.store.writing() as connection:
            held = self._held(connection, token, who)
            before = event_of_lease(connection, token) if held.state == "skipped" else None
            if before is not None:
                return Receipt(before[0])
            held = self._open(connection, token, who)
            event = NewEvent(self._clock(), held.who, held.item, "skip", held.label, held.reason, lease=token)
            number = add_event(connection, timed(event, held, timing))
            return_question(connection, held, "skipped")
            return Receipt(number)

    # -- answers ------------------------------------------------------------------------------------------------------

    def answer(
        self,
        token: str,
        values: Values,
        who: str | None = None,
        *,
        timing: Timing | None = None,
        verified: Verified | None = None,
    ) -> Receipt:
        """Save the answer to a leased question; the same answer sent twice is saved once.

        `verified`, here and below, is what the person said of `Lease.verify`. It is an event of its own, saved with the
        answer and taken back with it; the answer then says nothing of these labels.
        """
        return self.store.write(
            lambda connection: self._answer(connection, token, values, who, timing=timing, verified=verified)[0]
        )

    def answer_and_ask(
        self, token: str, values: Values, *, timing: Timing | None = None, verified: Verified | None = None
    ) -> tuple[Receipt, Lease | None]:
        """Save an answer and get the next question, in one go; None where none is ready."""

        def answer_then_ask(connection: sa.Connection) -> tuple[Receipt, Lease | None]:
            receipt, who = self._answer(connection, token, values, timing=timing, verified=verified)
            return receipt, next(iter(self._ask(connection, who, 1)), None)

        return self.store.write(answer_then_ask)

    def answer_and_ask_about_items(
        self,
        token: str,
        values: Values,
        who: str,
        n: int = 1,
        *,
        timing: Timing | None = None,
        verified: Verified | None = None,
    ) -> tuple[Receipt, list[Lease]]:
        """Save an answer and get what `ask_about_items` gives, in one go."""

        def answer_then_ask(connection: sa.Connection) -> tuple[Receipt, list[Lease]]:
            receipt, _ = self._answer(connection, token, values, who, timing=timing, verified=verified)
            return receipt, self._ask_about_items(connection, who, n)

        return self.store.write(answer_then_ask)

    def tell(self, answers: Iterable[Answer], who: str) -> list[Receipt]:
        """Save answers, asked for or not: all of them, or none where one is wrong.

        An answer to a question that this person has ends its lease. One that contradicts what they said before needs
        `correction=True`. One that says what they said before, and that still stands, adds nothing: its receipt is
        `repeated`.
        """
        check_person(who)
        batch = list(answers)
        with self.store.writing() as connection:
            ids = item_ids(connection, [answer.item for answer in batch])
            return [self._tell(connection, answer, ids[answer.item], who) for answer in batch]

    def settle(self, answer: Answer, who: str) -> Receipt:
        """Save a yes or no that stands whatever others said or will say, until somebody settles it anew.

        The person himself may also take it back or correct it.
        """
        check_person(who)
        if any(value is None for value in answer.values.values()):
            raise ProjectError("a label is settled by yes or no, not by unsure")
        with self.store.writing() as connection:
            item = item_ids(connection, [answer.item])[answer.item]
            said, notices = checked_values(self._known(connection), answer.values)
            return Receipt(self._add_unasked(connection, item, who, said, SETTLED), tuple(notices))

    def undo(self, who: str, event: int | None = None) -> Lease:
        """Take a person's last answer or skip back; they are asked the question again.

        With `event`, the number of that answer: sent twice it is taken back once, and nothing else is.
        """
        with self.store.writing() as connection:
            if event is not None:
                done = lease_after_undo(connection, who, event)
                if done is not None:
                    return self._shown(connection, done)
            last = last_answer_of(connection, who)
            if last is None or last.reason == GIVEN:
                raise ProjectError(f"{who!r} has no answer to take back")
            answer = answer_before(connection, last) if last.reason == VERIFY else None
            if answer is not None:
                undo_answer(connection, last, self._clock())
                last = answer
            if event is not None and last.id != event:
                raise AnswerRefused("something was answered since; only the last answer can be taken back")
            undo_answer(connection, last, self._clock())
            return self._ask_again(connection, last, who)

    # -- whole items: a person who reads one may answer for more labels than he was asked about, in one event ----------

    def answer_item(
        self, token: str, values: Values, who: str | None = None, *, whole: bool = True, timing: Timing | None = None
    ) -> Receipt:
        """Save an answer about an item as one event: labels that were asked about, and any others.

        `token` is one of the person's leases on the item. It is the key of the answer: sent twice it is saved once.
        It ends, and so do this person's other leases on labels in `values`. With `whole`, all of them on this item
        end, and what the answer leaves open goes to somebody else. Without, it is an answer to what `token` asks, and
        to labels that were added to it.
        """
        return self.store.write(lambda connection: self._answer_item(connection, token, values, who, whole, timing))

    def answer_item_and_ask_about_items(
        self, token: str, values: Values, who: str, n: int = 1, *, whole: bool = True, timing: Timing | None = None
    ) -> tuple[Receipt, list[Lease]]:
        """Save an answer about an item and get what `ask_about_items` gives, in one go."""

        def answer_then_ask(connection: sa.Connection) -> tuple[Receipt, list[Lease]]:
            receipt = self._answer_item(connection, token, values, who, whole, timing)
            return receipt, self._ask_about_items(connection, who, n)

        return self.store.write(answer_then_ask)

    def skip_item(self, token: str, who: str | None = None, *, timing: Timing | None = None) -> Receipt:
        """Give all questions that a person has about the item of a lease back; they will not be asked them again."""
        with self.store.writing() as connection:
            before = event_of_lease(connection, self._held(connection, token, who).token)
            if before is not None:
                if before[1]:
                    raise AnswerRefused("the question was answered already; undo that first to skip it")
                return Receipt(before[0])
            held = self._open(connection, token, who)
            event = NewEvent(self._clock(), held.who, held.item, "skip", WHOLE_ITEM, held.reason, lease=token)
            number = add_event(connection, timed(event, held, timing))
            leave_open(connection, held, ready_labels(connection, held.item))
            for lease in leases_with(connection, held):
                return_question(connection, lease, LEFT)
            return Receipt(number)

    def give_back(self, tokens: Iterable[str], who: str) -> None:
        """End leases that a person has no use for, without an event; their questions may go to somebody else."""
        with self.store.writing() as connection:
            for token in tokens:
                held = find_lease(connection, token)
                if held is not None and held.who == who and held.state == "open":
                    return_question(connection, held, "expired")

    def whole_items(self, tokens: Iterable[str]) -> dict[str, Lease]:
        """The leases among these that ask about one label, as if they asked about all that is open of the item."""
        with self.store.reading() as connection:
            held = [lease for token in tokens if (lease := find_lease(connection, token)) is not None]
            single = [each for each in held if each.label != WHOLE_ITEM]
            return {each.token: self._shown(connection, replace(each, label=WHOLE_ITEM)) for each in single}

    # -- inside -------------------------------------------------------------------------------------------------------

    def _ask(self, connection: sa.Connection, who: str, n: int, new: int | None = None) -> list[Lease]:
        """What a person has, up to n, then new questions: up to n together, or so many."""
        self._expire(connection)
        mine = leases_to_answer(connection, self.settings, who, self._known(connection))
        given = [self._shown(connection, renew(connection, held, self._until())) for held in mine[:n]]
        wanted = min(n - len(given) if new is None else new, MOST_HELD - len(mine)) + len(given)
        while len(given) < wanted:
            questions = take_next(connection, self.settings, who, wanted - len(given))
            if not questions:
                break
            given += self._give_open(connection, questions, who)
        return given

    def _ask_about_items(self, connection: sa.Connection, who: str, n: int) -> list[Lease]:
        given = self._ask(connection, who, 2 * MOST_HELD, new=0)
        while len({lease.question.item for lease in given}) < n and len(given) < MOST_HELD:
            question = next(iter(take_next(connection, self.settings, who, 1)), None)
            if question is None:
                break
            first = self._give_open(connection, [question], who)  # before more is taken: it must not be given twice
            given += first
            room = MOST_HELD - len(given)
            if first and room > 0:
                given += self._give_open(connection, take(connection, who, room, about=question.item), who)
        return given

    def _ask_again(self, connection: sa.Connection, last: sa.Row, who: str) -> Lease:
        """The question of an answer that was taken back; the lease on it that the person has, if any."""
        mine = leases_on_item(connection, who, last.item)
        has = next((held for held in mine if held.label in (last.asked, WHOLE_ITEM)), None)
        if has is not None:
            return self._shown(connection, has)
        for held in mine:
            if last.asked == WHOLE_ITEM:  # it asks about all of them
                return_question(connection, held, "expired")
        withdraw(connection, last.item, last.asked)
        before = None if last.lease is None else find_lease(connection, last.lease)
        reason = TOLD if last.reason == SETTLED else last.reason  # an answer settles only where that is said
        again = Ready(last.item, last.asked, 0, reason, None, 1, None)
        if before is not None:  # as it was shown before
            again = replace(again, rank=before.rank, score=before.score, beliefs=before.beliefs, words=before.words)
        lease = self._give(connection, again, who)
        if lease is None:
            raise AnswerRefused(f"{who!r} has another answer to that question; ask for a question anew")
        return lease

    def _give_open(self, connection: sa.Connection, questions: Iterable[Ready], who: str) -> list[Lease]:
        """Leases for those of the questions about which anything is left to say."""
        given = []
        for question in questions:
            lease = self._give(connection, question, who)
            if lease is None:
                continue
            if lease.question.labels:
                given.append(lease)
            else:  # everything about it was told since it was made ready
                end_lease(connection, lease.token, "expired")
        return given

    def _expire(self, connection: sa.Connection) -> None:
        """End what is over, at most once a second: nobody minds a lease that lasts a second longer."""
        now = self._clock()
        if now >= self._expired_at + 1.0:
            expire(connection, now)
            self._expired_at = now

    def _give(self, connection: sa.Connection, asked: Ready, who: str) -> Lease | None:
        """A lease; None where the person has one already, or has answered the question."""
        held = StoredLease(
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
        return self._shown(connection, held) if open_lease(connection, held) else None

    def _answer(
        self,
        connection: sa.Connection,
        token: str,
        values: Values,
        who: str | None = None,
        corrects: bool = False,
        timing: Timing | None = None,
        verified: Verified | None = None,
    ) -> tuple[Receipt, str]:
        held = self._held(connection, token, who)
        said, further, notices = picked_and_verified(self._known(connection), held, values, verified)
        before = None if held.state == "open" else event_of_lease(connection, token)
        if before is not None:
            if before[1] != said:
                raise AnswerRefused("the question was answered or skipped already; undo that first to change it")
            return Receipt(before[0], tuple(notices)), held.who
        if not corrects:
            check_not_repeating(connection, held, {**said, **further}, self._known(connection))
        others = [each for each in leases_on_item(connection, held.who, held.item) if each.token != token]
        same = [each for each in others if each.label == held.label]
        if held.state != "open" or held.expires_at < self._clock():
            notices.append(late_notice(connection, self.settings, held, has_another=bool(same)))
        event = NewEvent(self._clock(), held.who, held.item, "answer", held.label, held.reason, said, token)
        number = add_event(connection, timed(event, held, timing))
        if further and verified is not None:
            at = round(event.at + 1e-6, 6)  # events of one moment are taken for one where they are imported
            after = NewEvent(at, held.who, held.item, "answer", WHOLE_ITEM, VERIFY, further)
            add_event(connection, timed(after, held, verified.timing))
        end_lease(connection, token, "answered")
        for other in others:
            if other in same or other.label in said or other.label in further:
                end_lease(connection, other.token, "answered")
        return Receipt(number, tuple(notices)), held.who

    def _answer_item(
        self, connection: sa.Connection, token: str, values: Values, who: str | None, whole: bool, timing: Timing | None
    ) -> Receipt:
        held = self._held(connection, token, who)
        known = self._known(connection)
        said, notices = checked_values(known, values)
        mine = {label: value for label, person, _, value in votes_on(connection, held.item) if person == held.who}
        before = event_of_lease(connection, token)
        if before is not None:
            if not before[1].keys() <= said.keys() or not said.items() <= {**mine, **before[1]}.items():
                raise AnswerRefused("the question was answered or skipped already; undo that first to change it")
            return Receipt(before[0], tuple(notices))
        new = only_new(connection, held, said, mine, known)
        if held.state != "open" or held.expires_at < self._clock():
            notices.append(late_notice(connection, self.settings, held))
        leases = leases_with(connection, held)
        reason = reason_of(connection, self.settings, known, leases, said)
        asked = WHOLE_ITEM if whole else held.label
        event = NewEvent(self._clock(), held.who, held.item, "answer", asked, reason, new, token)
        number = add_event(connection, timed(event, held, timing))
        waiting = set(ready_labels(connection, held.item)) - {lease.label for lease in leases}
        for label in waiting & new.keys():
            withdraw(connection, held.item, label)
        if whole:
            leave_open(connection, held, waiting - said.keys())
        end_leases(connection, leases, said, token, whole)
        return Receipt(number, tuple(notices))

    def _tell(self, connection: sa.Connection, answer: Answer, item: int, who: str) -> Receipt:
        said, notices = checked_values(self._known(connection), answer.values)
        done = answered_leases(connection, who)
        mine = [lease for lease in leases_on_item(connection, who, item) if lease.token not in done]
        asked = next((lease for lease in mine if lease.label == WHOLE_ITEM or lease.label in said), None)
        if asked is not None:
            return self._answer(connection, asked.token, answer.values, corrects=answer.correction)[0]
        before = said_before(connection, item, who, said)
        if before is not None:
            return Receipt(before, tuple(notices), repeated=True)
        if not answer.correction:
            check_not_contradicting(connection, (who, item), answer, said, self._known(connection))
        return Receipt(self._add_unasked(connection, item, who, said, TOLD), tuple(notices))

    def _add_unasked(self, connection: sa.Connection, item: int, who: str, said: Mapping[int, int], reason: str) -> int:
        label = next(iter(said)) if len(said) == 1 and self.settings.target == "pairs" else WHOLE_ITEM
        withdraw(connection, item, label)
        return add_event(connection, NewEvent(self._clock(), who, item, "answer", label, reason, said))

    def _shown(self, connection: sa.Connection, held: StoredLease) -> Lease:
        known = self._known(connection)
        misses = self._misses.latest(connection, known, self._clock()) if self.settings.verify else None
        return shown_lease(connection, self.store, self.settings, held, known, misses)

    def _held(self, connection: sa.Connection, token: str, who: str | None) -> StoredLease:
        held = find_lease(connection, token)
        if held is None or (who is not None and held.who != who):  # whose it is, is not for others to know
            raise AnswerRefused(f"there is no question with the lease {token!r} for {who or 'you'}; ask for one")
        return held

    def _open(self, connection: sa.Connection, token: str, who: str | None = None) -> StoredLease:
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
