"""A person's leases: what is shown of them, and which answers to them are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sqlalchemy as sa

from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.items.pictures import located
from labelwise.labelling.missed import MissRates
from labelwise.labelling.records import GIVEN, TOLD, Lease, Settings, Verified, unpack_reasons
from labelwise.labelling.store import Store
from labelwise.labelling.store.events import NewEvent, add_event, last_event, moved_by_merges, undone_by
from labelwise.labelling.store.items import show_item
from labelwise.labelling.store.labels import StoredLabels, last_change
from labelwise.labelling.store.questions import (
    LEFT,
    Ready,
    StoredLease,
    answered_leases,
    answers_of,
    end_lease,
    is_askable,
    leases_of,
    others_have,
    return_question,
    take,
    take_by_place,
    turn_of_queue,
    votes_on,
    with_others,
    withdraw,
)
from labelwise.labelling.store.schema import NO, UNSURE, WHOLE_ITEM, YES
from labelwise.labelling.store.trainings import last_good
from labelwise.labelling.training.chance import chance, copies
from labelwise.records.asking import CONTROL, Answer, Question, Timing

MOST_HELD = 100  # questions that one person can hold; who has as many is given no more before he answers or skips some
Said = dict[int, int]  # label numbers to YES, NO or UNSURE
MAKING, WITH_OTHERS, NOTHING = "being made ready", "with others", "nothing"  # why there is no question for a person


def held_most(number: int) -> str | None:
    """What to say to a person who holds so many questions; None where they may have more."""
    if number < MOST_HELD:
        return None
    return f"You hold {number} questions, the most that one person can; answer or skip some to get others."


def why_none(connection: sa.Connection, who: str) -> str:
    """Why there is no question for a person: `MAKING`, `WITH_OTHERS` or `NOTHING`."""
    good = last_good(connection)
    now = (last_event(connection), last_change(connection))
    if good is None or (good.seen_event, good.seen_change) != now or is_askable(connection, who):
        return MAKING
    if not (good.report or {}).get("exhausted", False):
        return MAKING
    return WITH_OTHERS if with_others(connection, who) else NOTHING


def take_next(connection: sa.Connection, settings: Settings, who: str, n: int) -> list[Ready]:
    """Up to n questions for a person, the best first, taken out of the queue.

    Where items are assigned, it is one at a time: the person's own first, then nobody's, then those of others. As many
    are of the random share as without assignments, drawn by chance from all items: an estimate must not be about the
    items of those who work most.
    """
    turn = turn_of_queue(connection)
    if turn is None:
        return take(connection, who, n)
    plan, left, at_random = turn
    drawn = float(chance(settings.random_state, "turn", plan, left))
    return take_by_place(connection, who, drawn * left < at_random) if n > 0 else []


def leases_to_answer(connection: sa.Connection, settings: Settings, who: str, known: StoredLabels) -> list[StoredLease]:
    """A person's open leases; those of a question that they answered by another way, or hold twice, are ended."""
    answered = answered_leases(connection, who)
    kept: dict[tuple[int, int], StoredLease] = {}
    for held in leases_of(connection, who):
        is_done = held.token in answered or not open_labels(connection, settings, held, known)
        if is_done or (held.item, held.label) in kept:
            end_lease(connection, held.token, "expired")
        else:
            kept[held.item, held.label] = held
    return list(kept.values())


def shown_lease(
    connection: sa.Connection,
    store: Store,
    settings: Settings,
    held: StoredLease,
    known: StoredLabels,
    misses: MissRates | None = None,
) -> Lease:
    """A lease as a person gets it; with miss rates, also which labels to verify."""
    name, content = show_item(connection, held.item)
    content = located(content, store.folder)
    labels = open_labels(connection, settings, held, known)
    beliefs: dict[str, float] = {}
    if held.beliefs is not None and not others_answered(connection, settings, held):
        p = np.frombuffer(held.beliefs, dtype="<f4").tolist()
        by_name = dict(zip(known.names, p, strict=True)) if len(p) == len(known.names) else {}
        beliefs = {name: by_name[name] for name in labels if not np.isnan(by_name.get(name, np.nan))}
    score = float("nan") if held.score is None else held.score
    question = Question(name, labels, held.reason, score)
    words, reasons = unpack_reasons(held.words, known.names, beliefs)
    is_picked = (
        held.label == WHOLE_ITEM and held.reason != CONTROL and len(beliefs) > 1
    )  # what is drawn measures beliefs
    verify = misses.to_verify(held.who, beliefs) if misses is not None and is_picked else ()
    return Lease(held.token, held.who, question, content, held.expires_at, beliefs, held.rank, words, verify, reasons)


def others_answered(connection: sa.Connection, settings: Settings, held: StoredLease) -> bool:
    """Whether a question is a second opinion: what the model believes would give the first one away."""
    if copies(settings, held.item, held.label) == 1:
        return False
    return any(
        who != held.who and reason != GIVEN and held.label in (WHOLE_ITEM, label)
        for label, who, reason, _ in votes_on(connection, held.item)
    )


def open_labels(
    connection: sa.Connection, settings: Settings, held: StoredLease, known: StoredLabels
) -> tuple[str, ...]:
    """The names of the labels to ask about: of a whole item, what this person and enough others have not said.

    A label whose last answer this person took back is open, although one that they gave before it stands.
    """
    if held.label != WHOLE_ITEM:
        return tuple(name for label, name in zip(known.ids, known.names, strict=True) if label == held.label)
    voters: dict[int, set[str]] = {}
    settled = set()
    for label, who, reason, _ in votes_on(connection, held.item):
        voters.setdefault(label, set()).add(who)
        if reason == GIVEN:
            settled.add(label)
    if any(held.who in people for people in voters.values()):
        last = {row.label: row for row in answers_of(connection, held.who, held.item)}
        settled |= {label for label, row in last.items() if not row.undone}
    wanted = copies(settings, held.item, WHOLE_ITEM)
    settled |= {label for label, people in voters.items() if len(people - {held.who}) >= wanted}
    return tuple(name for label, name in zip(known.ids, known.names, strict=True) if label not in settled)


# -- which answers are refused -----------------------------------------------------------------------------------------


def checked_values(known: StoredLabels, values: Mapping[str, bool | None]) -> tuple[Said, list[str]]:
    """Values by label number, and what to say of labels that have gone meanwhile; their answers are kept too."""
    said: Said = {}
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


def check_not_repeating(connection: sa.Connection, held: StoredLease, said: Said, known: StoredLabels) -> None:
    """Refuse a second answer of one person to one question, and one that contradicts what they said before."""
    said_before = answers_of(connection, held.who, held.item)
    last = {row.label: row for row in said_before}
    last_to_question = next((row for row in reversed(said_before) if row.asked == held.label), None)
    cure = "nothing was saved. Undo that answer first, or mark this one as a correction"
    for row in (last_to_question, last.get(held.label)):
        if row is not None and not row.undone:
            name, _ = show_item(connection, held.item)
            raise AnswerRefused(
                f"{held.who!r} answered this question about item {name!r} already (answer no. {row.id}); {cure}"
            )
    for label in said.keys() & last.keys():
        row = last[label]
        if not row.undone and {said[label], row.value} == {YES, NO}:
            name, what = show_item(connection, held.item)[0], known.all_names[label]
            word = "yes" if row.value == YES else "no"
            raise AnswerRefused(
                f"{held.who!r} said {word} to {what!r} of item {name!r} before (answer no. {row.id}); {cure}"
            )


def check_not_contradicting(
    connection: sa.Connection, of: tuple[str, int], answer: Answer, said: Said, known: StoredLabels
) -> None:
    """Refuse an answer that contradicts what the same person said; `of` has the person and the item's number."""
    who, item = of
    before = {label: value for label, other, _, value in votes_on(connection, item) if other == who}
    for label, value in before.items():
        if label in said and {value, said[label]} == {YES, NO}:
            name = known.all_names[label]
            raise ProjectError(
                f"{who!r} said {'yes' if value == YES else 'no'} to {name!r} of item {answer.item!r} before; "
                "mark the answer as a correction to change it"
            )


def only_new(connection: sa.Connection, held: StoredLease, said: Said, mine: Said, known: StoredLabels) -> Said:
    """What this person has not said before; refused where it is something else than before."""
    item, _ = show_item(connection, held.item)
    for label, value in said.items():
        if mine.get(label, value) != value:
            raise AnswerRefused(
                f"you gave another answer to {known.all_names[label]!r} of item {item!r} meanwhile; nothing was "
                "saved. Look at the item again, or change that answer in Browse"
            )
    new = {label: value for label, value in said.items() if label not in mine}
    if not new:
        raise AnswerRefused(f"you said all of this of item {item!r} before; nothing was added")
    return new


def leases_with(connection: sa.Connection, held: StoredLease) -> list[StoredLease]:
    """A lease and the other open ones of its person on its item."""
    mine = leases_of(connection, held.who)
    return [held, *(lease for lease in mine if lease.item == held.item and lease.token != held.token)]


def end_leases(connection: sa.Connection, leases: list[StoredLease], said: Said, token: str, whole: bool) -> None:
    """End the leases that an answer is about; what it leaves open, and second copies, may go to somebody else."""
    answered: set[int] = set()
    for lease in leases:
        is_said = lease.label in said or (lease.label == WHOLE_ITEM and (whole or lease.token == token))
        if is_said and lease.label not in answered:
            end_lease(connection, lease.token, "answered")
            answered.add(lease.label)
        elif is_said or whole or lease.token == token:
            return_question(connection, lease, "expired" if is_said else LEFT)


def picked_and_verified(
    known: StoredLabels, held: StoredLease, values: Mapping[str, bool | None], verified: Verified | None
) -> tuple[Said, Said, list[str]]:
    """What was picked, less what was asked about once more; that; and notices. All in one where nothing is left."""
    said, notices = checked_values(known, values)
    if verified is None or not verified.values or held.label != WHOLE_ITEM:
        return said, {}, notices
    further, more = checked_values(known, verified.values)
    for label in said.keys() & further.keys():
        if said[label] == YES:
            raise ProjectError(f"label {known.all_names[label]!r} was picked, so it cannot be verified; leave one out")
    rest = {label: value for label, value in said.items() if label not in further}
    return (rest or further), (further if rest else {}), notices + more


def undo_answer(connection: sa.Connection, last: sa.Row, at: float) -> None:
    """Take an answer back, and the votes that merges of labels made out of it."""
    for each in (last, *moved_by_merges(connection, last)):
        add_event(connection, NewEvent(at, last.who, last.item, "undo", each.asked, each.reason, undoes=each.id))


def lease_after_undo(connection: sa.Connection, who: str, event: int) -> StoredLease | None:
    """The question that an answer taken back already has led to, while it is open."""
    undone = undone_by(connection, event, who)
    if undone is None:
        return None
    for held in leases_of(connection, who):
        if held.item == undone.item and held.label in (undone.asked, WHOLE_ITEM):
            return held
    raise AnswerRefused("that answer was taken back already, and answered again since")


def reason_of(
    connection: sa.Connection, settings: Settings, known: StoredLabels, leases: list[StoredLease], said: Said
) -> str:
    """Why the labels were answered: as they were asked, or because the person chose to speak of some of them.

    Labels that somebody picks are mostly those that are there. Among the answers of the random share they would raise
    the base rates, so they count as told.
    """
    asked = {lease.label for lease in leases}
    if WHOLE_ITEM not in asked and not said.keys() <= asked:
        whole = open_labels(connection, settings, replace(leases[0], label=WHOLE_ITEM), known)
        if any(known.id_of(name) not in said for name in whole):
            return TOLD
    return CONTROL if any(lease.reason == CONTROL for lease in leases) else leases[0].reason


def timed(event: NewEvent, held: StoredLease, timing: Timing | None) -> NewEvent:
    """The same event with the time it took: at most the time since the question was given."""
    return event if timing is None else replace(event, timing=timing.clamped(event.at - held.given_at))


def late_notice(connection: sa.Connection, settings: Settings, held: StoredLease, has_another: bool = False) -> str:
    """A late answer counts as long as nobody else was given the question; the same person may have it again."""
    if others_have(connection, held) >= copies(settings, held.item, held.label):
        name, _ = show_item(connection, held.item)
        raise AnswerRefused(
            f"the time for item {name!r} was over and somebody else has it now; nothing was saved. "
            "To add it as a second opinion, tell it without the lease"
        )
    if held.state == "expired" and not has_another:
        withdraw(connection, held.item, held.label)
    return "the answer came after its time, but nobody else had the question: it counts"
