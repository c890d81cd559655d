"""Several people at once: leases, answers, skips, undoing, late answers, labels that go in between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from labelwise import Answer
from labelwise.labelling import AnswerRefused, Project, ProjectError, Service
from labelwise.labelling.exchange.transfer import read_events_file, write_events

YES = {"left": True, "low": False, "far": None}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(make, location, clock) -> Service:
    project = make(location, lease_seconds=60)
    project.refresh()
    return Service(project.store, project.settings, clock)


def test_two_people_never_get_the_same_question(service):
    given = [lease.question.item for who in ("ann", "bob") for lease in service.ask(who, 4)]
    assert len(set(given)) == 8


def test_asking_again_gives_what_one_has_first(service):
    first = service.ask("ann", 2)
    again = service.ask("ann", 3)
    assert [lease.token for lease in again[:2]] == [lease.token for lease in first]
    assert again[2].token not in {lease.token for lease in first}


def test_an_answer_is_saved_once_however_often_it_is_sent(service):
    lease = service.ask("ann")[0]
    receipts = {service.answer(lease.token, YES).event for _ in range(3)}
    assert len(receipts) == 1
    with pytest.raises(AnswerRefused, match="answered or skipped already"):
        service.answer(lease.token, {"left": False})


def test_threads_share_the_queue_without_a_question_given_twice(service):
    def label(who: str) -> list[str]:
        items, lease = [], next(iter(service.ask(who)), None)
        while lease is not None:
            items.append(lease.question.item)
            _, lease = service.answer_and_ask(lease.token, YES)
        return items

    with ThreadPoolExecutor(5) as pool:
        given = [item for items in pool.map(label, "abcde") for item in items]
    assert len(given) == len(set(given)) == 10


def test_an_expired_lease_goes_to_the_next_person_and_its_late_answer_is_refused(service, clock):
    lease = service.ask("ann")[0]
    clock.now += 61
    other = service.ask("bob")[0]
    assert other.question.item == lease.question.item
    with pytest.raises(AnswerRefused, match="somebody else has it now; nothing was saved"):
        service.answer(lease.token, YES)
    assert service.answer(other.token, YES).event == 1


def test_a_late_answer_counts_while_nobody_else_has_the_question(service, clock):
    lease = service.ask("ann")[0]
    clock.now += 61
    receipt = service.answer(lease.token, YES)
    assert "came after its time" in receipt.notices[0]
    assert lease.question.item not in {other.question.item for other in service.ask("bob", 10)}


def test_a_lease_that_expired_on_record_can_still_be_answered_once(service, clock):
    lease, _ = service.ask("ann", 2)
    clock.now += 61
    service.ask("bob", 1)[0]  # expires both and takes the first
    second = service.ask("ann", 2)
    assert lease.question.item not in {other.question.item for other in second}


def test_renewal_keeps_a_question(service, clock):
    lease = service.ask("ann")[0]
    clock.now += 50
    assert service.renew(lease.token).expires_at == clock.now + 60
    clock.now += 50
    assert service.ask("bob")[0].question.item != lease.question.item
    clock.now += 61
    with pytest.raises(AnswerRefused, match="is over"):
        service.renew(lease.token)


def test_a_skipped_question_goes_to_others_but_not_to_the_same_person(service):
    lease = service.ask("ann")[0]
    service.skip(lease.token)
    assert lease.question.item not in {other.question.item for other in service.ask("ann", 10)}
    assert service.ask("bob")[0].question.item == lease.question.item


def test_undo_takes_the_last_answer_back_and_asks_again(service, make):
    first, second = service.ask("ann", 2)
    service.answer(first.token, YES)
    service.answer(second.token, YES)
    again = service.undo("ann")
    assert again.question.item == second.question.item
    assert again.question.labels == second.question.labels
    project = Project(service.store.location)
    assert project.labelled().n_observed == 2
    service.answer(again.token, {"left": False, "low": False})
    assert project.labelled().n_observed == 4
    project.close()


def test_undo_without_an_answer_says_so(service):
    with pytest.raises(ProjectError, match="'ann' has no answer to take back"):
        service.undo("ann")


def test_told_answers_need_no_question_and_end_the_lease_of_one(service):
    lease = service.ask("ann")[0]
    service.tell([Answer(lease.question.item, {"left": True})], "ann")
    assert service.ask("ann")[0].token != lease.token
    with pytest.raises(ProjectError, match=r"said yes to 'left' .* mark the answer as a correction"):
        service.tell([Answer(lease.question.item, {"left": False})], "ann")
    service.tell([Answer(lease.question.item, {"left": False}, correction=True)], "ann")


def test_a_batch_with_one_wrong_answer_changes_nothing(service):
    batch = [Answer("p1", {"left": True}), Answer("p2", {"loft": True})]
    with pytest.raises(ProjectError, match="there is no label 'loft' in the project; did you mean 'left'"):
        service.tell(batch, "ann")
    with pytest.raises(ProjectError, match="there is no item 'nobody'"):
        service.tell([batch[0], Answer("nobody", {"left": True})], "ann")
    with Project(service.store.location) as project:
        assert project.events() == []


@pytest.mark.parametrize("values", [{}, {"left": 1}, {"left": "yes"}])
def test_wrong_values_are_refused(service, values):
    lease = service.ask("ann")[0]
    with pytest.raises(ProjectError, match=r"says nothing|must be True, False or None"):
        service.answer(lease.token, values)


@pytest.mark.parametrize("who", ["", "  ", "a\nb"])
def test_a_person_needs_a_name(service, who):
    with pytest.raises(ProjectError, match="needs a name"):
        service.ask(who)


def test_answers_to_a_label_retired_meanwhile_are_kept_with_a_notice(service):
    lease = service.ask("ann")[0]
    with Project(service.store.location) as project:
        project.retire_label("far")
        receipt = service.answer(lease.token, {"left": True, "far": True})
        assert "label 'far' is retired" in receipt.notices[0]
        assert project.events()[-1].values == {"left": True, "far": True}
        assert project.labelled().label_names == ("left", "low")
        with pytest.raises(AnswerRefused, match="'far' is retired and takes no answers"):
            service.tell([Answer("p3", {"far": True})], "ann")


def test_answers_to_a_merged_label_name_the_one_to_use(service):
    with Project(service.store.location) as project:
        project.merge_labels("far", "low")
    with pytest.raises(AnswerRefused, match="was merged into 'low'"):
        service.tell([Answer("p3", {"far": True})], "ann")


def test_an_unknown_lease_is_refused(service):
    with pytest.raises(AnswerRefused, match="no question with the lease 'nothing'"):
        service.answer("nothing", YES)


def test_overlap_asks_two_people_and_no_third(make):
    project = make(overlap=2)
    project.refresh()
    items = {who: [lease.question.item for lease in project.service.ask(who, 10)] for who in ("ann", "bob", "eve")}
    assert items["ann"] == items["bob"]
    assert items["eve"] == []


def test_overlap_goes_on_over_a_new_training(make):
    project = make(overlap=2, ready=3)
    lease = project.ask(who="ann")[0]
    project.service.answer(lease.token, {"left": True})
    project.refresh()
    assert lease.question.item not in {other.question.item for other in project.service.ask("ann", 5)}
    again = project.service.ask("bob")[0]
    assert again.question.item == lease.question.item
    assert again.question.labels == ("left", "low", "far")
    project.service.answer(again.token, {"left": False})
    project.refresh()
    assert lease.question.item not in {other.question.item for other in project.service.ask("eve", 10)}


def test_everything_may_be_sent_twice(service):
    answered, skipped = service.ask("ann", 2)
    events = {service.answer(answered.token, YES, "ann").event for _ in range(2)}
    events |= {service.skip(skipped.token, "ann").event for _ in range(2)}
    assert events == {1, 2}
    again = [service.undo("ann", 2) for _ in range(2)]
    assert again[0].token == again[1].token and again[0].question.item == skipped.question.item
    service.answer(again[0].token, YES)
    with pytest.raises(AnswerRefused, match="only the last answer"):
        service.undo("ann", 1)


def test_what_another_person_was_given_is_refused(service):
    token = service.ask("ann")[0].token
    for attempt in (service.skip, service.renew, lambda token, who: service.answer(token, YES, who)):
        with pytest.raises(AnswerRefused, match="no question with the lease"):
            attempt(token, "bob")
    assert service.answer(token, YES, "ann").event == 1


def test_pairs_about_an_item_are_given_together(make, location):
    project = make(location, strategy="uncertainty_pairs", ready=60)
    project.tell([Answer(f"p{i}", {"left": i % 2 == 0, "low": True, "far": False}) for i in range(6)], who="eve")
    project.refresh()
    mine = project.service.ask_about_items("ann", 2)
    items = [lease.question.item for lease in mine]
    assert len(set(items)) == 2 < len(items) and items == sorted(items, key=items.index)
    assert [lease.token for lease in project.service.ask_about_items("ann", 2)] == [lease.token for lease in mine]
    others = {(lease.question.item, lease.question.labels) for lease in project.service.ask_about_items("bob", 2)}
    assert not others & {(lease.question.item, lease.question.labels) for lease in mine}
    asked = dict.fromkeys(mine[0].question.labels, True)
    receipt, after = project.service.answer_and_ask_about_items(mine[0].token, asked, "ann", 2)
    assert receipt.event == 7 and {lease.token for lease in mine[1:]} <= {lease.token for lease in after}


def test_what_stands_is_not_told_again(service):
    first = service.tell([Answer("p1", YES), Answer("p2", {"left": True})], "ann")
    again = service.tell([Answer("p1", YES), Answer("p2", {"left": True}), Answer("p2", {"low": True})], "ann")
    assert [receipt.repeated for receipt in first + again] == [False, False, True, True, False]
    assert [receipt.event for receipt in again[:2]] == [receipt.event for receipt in first]
    part = service.tell([Answer("p1", {"left": True}), Answer("p1", {"left": True}, correction=True)], "ann")
    assert all(receipt.repeated for receipt in part)
    assert not service.tell([Answer("p1", YES)], "bob")[0].repeated  # another person's word
    service.tell([Answer("p1", {"left": False}, correction=True)], "ann")
    assert not service.tell([Answer("p1", YES | {"left": True}, correction=True)], "ann")[0].repeated
    service.undo("ann")
    assert not service.tell([Answer("p1", {"left": True}, correction=True)], "ann")[0].repeated


def test_a_label_is_settled_by_yes_or_no_and_the_last_settlement_stands(make, location):
    project = make(location)
    for who, value in (("eve", True), ("max", False)):
        project.service.settle(Answer("p0", {"left": value}), who)
    project.tell(Answer("p0", {"left": True}), who="ann")  # one more yes than no, and the last to speak
    with pytest.raises(ProjectError, match="by yes or no"):
        project.service.settle(Answer("p0", {"left": None}), "eve")
    data = project.labelled()
    row, column = data.item_ids.index("p0"), data.label_names.index("left")
    assert data.observed_mask()[[row]].toarray()[0, column] and not data.Y[[row]].toarray()[0, column]


def test_an_answer_to_a_question_that_was_settled_and_undone_does_not_settle(make, location):
    project = make(location)
    project.service.settle(Answer("p0", {"left": True, "low": True, "far": True}), "eve")
    again = project.service.undo("eve")
    project.service.answer(again.token, {"left": True, "low": False, "far": False}, "eve")
    assert project.events()[-1].reason != "settled"


def test_taking_an_answer_back_takes_back_what_a_merge_made_of_it(make, location):
    project = make(location)
    (receipt,) = project.tell(Answer("p0", {"left": True}), who="ann")
    project.merge_labels("left", "low")
    assert project.labelled().n_observed == 1
    assert project.service.undo("ann", receipt.event).question.item == "p0"
    assert project.labelled().n_observed == 0


def test_an_export_of_ones_own_adds_nothing(make, location, tmp_path):
    project = make(location)
    project.tell(Answer("p0", {"left": True}), who="ann")
    with project.store.writing() as connection:  # times as exact as a clock may give them
        connection.exec_driver_sql("UPDATE events SET at = at + 0.00000034")
    path = str(tmp_path / "answers.csv")
    write_events(project.events(), path)
    assert project.record(read_events_file(path)) == 0
