"""Users, one-time links and sessions, in both kinds of database."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from labelwise.labelling import ProjectError
from labelwise.labelling.people import LINK_SECONDS, SESSION_SECONDS, People


@pytest.fixture
def people(make, location) -> People:
    return make(location).people


def test_a_link_is_good_once_and_for_a_week(people):
    now = [1000.0]
    people._clock = lambda: now[0]
    secret = people.add("ann", "admin")
    user, session = people.redeem(secret)
    assert (user.name, user.role, user.is_admin) == ("ann", "admin", True)
    assert people.redeem(secret) is None and people.redeem("guess") is None
    assert people.user_of_session(session) == user
    late = people.link("ann")
    now[0] += LINK_SECONDS + 1
    assert people.redeem(late) is None
    now[0] += SESSION_SECONDS
    assert people.user_of_session(session) is None


def test_users_are_listed_removed_and_taken_in_again(people):
    people.add("bob")
    _, session = people.redeem(people.add("ann"))
    unused = people.link("ann")
    assert [(user.name, user.role) for user in people.all()] == [("ann", "annotator"), ("bob", "annotator")]
    people.remove("ann")
    assert [user.name for user in people.all()] == ["bob"]
    assert people.user_of_session(session) is None and people.redeem(unused) is None
    people.add("ann", "admin")
    assert people.user_of_session(session) is None  # a new start
    people.remove("ann")
    people.remove("bob")
    assert not people.has_users()


def test_who_works_alone_does_so_only_without_users(people):
    user, session = people.begin_local("me")
    assert user.is_admin and people.user_of_session(session, local_allowed=True) == user
    assert people.user_of_session(session) is None  # where others reach the page
    people.add("ann")
    assert people.user_of_session(session, local_allowed=True) is None


def test_leaving_ends_one_session(people):
    _, here = people.redeem(people.add("ann"))
    _, there = people.redeem(people.link("ann"))
    people.end(here)
    assert people.user_of_session(here) is None and people.user_of_session(there).name == "ann"


def test_what_is_secret_is_not_in_the_database(people):
    secret = people.add("ann")
    user, session = people.redeem(secret)
    with people.store.reading() as connection:
        tables = [connection.execute(sa.text(f"SELECT * FROM {name}")).all() for name in ("invitations", "sessions")]
    assert secret not in str(tables) and session not in str(tables) and user.csrf not in str(tables)


@pytest.mark.parametrize(
    ("name", "role", "words"),
    [("", "annotator", "needs a name"), ("a\nb", "annotator", "needs a name"), ("eve", "king", "a role is")],
)
def test_wrong_users_are_told(people, name, role, words):
    with pytest.raises(ProjectError, match=words):
        people.add(name, role)


def test_a_second_user_of_a_name_and_one_who_is_not_there_are_told(people):
    people.add("ann")
    with pytest.raises(ProjectError, match="already; for a new link: labelwise user link"):
        people.add("ann")
    for change in (people.remove, people.link):
        with pytest.raises(ProjectError, match="no user 'bob'; there are ann"):
            change("bob")
