"""Who may use the page, and as what: users, one-time links, sessions."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.store import Store
from labelwise.labelling.store.items import item_ids
from labelwise.labelling.store.people import (
    Assigned,
    StoredToken,
    StoredUser,
    add_invitation,
    add_session,
    assign,
    count_users,
    drop_token,
    end_session,
    find_api_token,
    find_session,
    forget_expired_sessions,
    invited,
    items_to_assign,
    owner_of_token,
    read_assigned,
    read_users,
    remove_user,
    set_role,
    unassign,
    use_invitation,
    was_removed,
    write_api_token,
    write_token,
    write_user,
)
from labelwise.labelling.store.schema import STUDIO
from labelwise.labelling.training.chance import chance

ANNOTATOR, REVIEWER, ADMIN, VIEWER = "annotator", "reviewer", "admin", "viewer"
ROLES = {
    ANNOTATOR: "labels",
    REVIEWER: "labels, sees everybody's answers, settles and answers notes",
    ADMIN: "does all of that, and manages labels and people",
    VIEWER: "looks at everything and changes nothing",
}
METRICS, READ, ANSWER, WHOLE = "metrics", "read", "answer", "admin"
SCOPES = {  # of a token: what it is good for, at most; never more than its person may do
    METRICS: "the figures at /metrics, nothing else",
    READ: "looks at everything and changes nothing",
    ANSWER: "also asks and answers as its person",
    WHOLE: "everything that its person may do",
}
DAY_SECONDS = 24 * 3600.0
LINK_SECONDS = 7 * 24 * 3600.0  # a one-time link that nobody used
SESSION_SECONDS = 30 * 24 * 3600.0


@dataclass(frozen=True)
class User:
    """A person who is signed in. `csrf` is the token of their forms and requests, derived from the session.

    `is_local`: the person works alone on this machine, the project has no users. `scope`: of the token, where a program
    acts for the person; the role is then what the scope allows of it.
    """

    name: str
    role: str
    csrf: str
    is_local: bool = False
    scope: str | None = None

    @property
    def is_admin(self) -> bool:
        return self.role == ADMIN

    @property
    def may_settle(self) -> bool:
        """Whether what they say may stand against others, and whether they answer notes."""
        return self.role in (REVIEWER, ADMIN)

    @property
    def may_answer(self) -> bool:
        return self.role != VIEWER

    @property
    def sees_all(self) -> bool:
        """Whether others' answers are shown to them before they have given their own."""
        return self.role != ANNOTATOR


class People:
    """The users of a project. What is secret (a link, a cookie) is stored as its digest only.

    Parameters
    ----------
    store : Store
    clock : seconds since 1970
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self._clock = clock

    def add(self, name: str, role: str = ANNOTATOR) -> str:
        """Add a user; returns the secret of a one-time link."""
        check_local(name)
        check_role(role)
        with self.store.writing() as connection:
            if any(user.name == name for user in read_users(connection)):
                raise ProjectError(f"there is a user {name!r} already; for a new link: labelwise user link ... {name}")
            write_user(connection, name, role, self._clock())
            return self._invite(connection, name)

    def link(self, name: str) -> str:
        """Another one-time link for a user, for a second device or when a session is over."""
        with self.store.writing() as connection:
            self._check_known(connection, name)
            return self._invite(connection, name)

    def change_role(self, name: str, role: str) -> None:
        """Give a user another role, at once."""
        check_role(role)
        with self.store.writing() as connection:
            self._check_known(connection, name)
            if role != ADMIN:
                self._check_another_admin(connection, name)
            set_role(connection, name, role)

    def remove(self, name: str) -> None:
        """Nobody signs in by this name any more, and who is signed in is out; the answers stay."""
        with self.store.writing() as connection:
            self._check_known(connection, name)
            remove_user(connection, name, self._clock())

    def all(self) -> list[StoredUser]:
        with self.store.reading() as connection:
            return read_users(connection)

    def has_users(self) -> bool:
        with self.store.reading() as connection:
            return count_users(connection) > 0

    # -- whose items are whose ----------------------------------------------------------------------------------------

    def assign_share(self, name: str, share: float) -> int:
        """Give a user a share of all items, in place of what they had; how many items that are.

        The items are drawn by chance, which depends on the item alone, from those that are nobody's. They are asked of
        this person first, and of others only if nothing else is ready for them. A share of 0 takes all back.
        """
        if not 0 <= share <= 1:
            raise ProjectError(f"a share of the items is between 0 and 1 (0 % and 100 %), got {share!r}")
        with self.store.writing() as connection:
            self._check_known(connection, name)
            total, free = items_to_assign(connection, name)
            wanted = round(share * total)
            if wanted > free.size:
                raise ProjectError(
                    f"{wanted} items are wanted for {name!r}, and {free.size} of {total} are not assigned to others; "
                    "take a smaller share, or take items back from somebody (a share of 0)"
                )
            unassign(connection, name)
            drawn = free[np.argsort(chance(0, "assign", free), kind="stable")[:wanted]]
            assign(connection, name, np.sort(drawn).tolist())
            return wanted

    def assign_items(self, name: str, items: Iterable[str]) -> int:
        """Give a user these items, besides what they have, whosoever they were; how many there are."""
        wanted = list(items)
        with self.store.writing() as connection:
            self._check_known(connection, name)
            numbers = sorted(item_ids(connection, wanted).values())
            assign(connection, name, numbers)
            return len(numbers)

    def assigned(self) -> dict[str, Assigned]:
        """How many items are whose, and how many of them are answered."""
        with self.store.reading() as connection:
            return read_assigned(connection)

    # -- sessions -----------------------------------------------------------------------------------------------------

    def redeem(self, secret: str) -> tuple[User, str] | None:
        """Sign in by a one-time link: the user and the secret of the session, or None if the link is not valid."""
        with self.store.reading() as connection:  # wrong links do not keep those waiting who write
            if invited(connection, _digest(secret), self._clock()) is None:
                return None

        def use(connection: sa.Connection) -> tuple[str, str] | None:
            now, digest = self._clock(), _digest(secret)
            who = invited(connection, digest, now)
            if who is None:
                return None
            use_invitation(connection, digest, now)
            return who, self._begin(connection, who, is_local=False)

        begun = self.store.write(use)
        user = None if begun is None else self.user_of_session(begun[1])
        return None if begun is None or user is None else (user, begun[1])

    def begin_named(self, name: str, new_role: str | None = None) -> str:
        """The session of somebody whom a proxy or a provider vouches for; ProjectError if they may not come in.

        Parameters
        ----------
        name : who it is
        new_role : of people who are not users yet, who become users with it; None refuses them. Who was removed stays
            out until somebody adds them again.
        """
        with self.store.writing() as connection:
            if self._is_new(connection, name, new_role):
                assert new_role is not None
                write_user(connection, name, new_role, self._clock())
            return self._begin(connection, name, is_local=False)

    def check_named(self, name: str, new_role: str | None = None) -> None:
        """Raise what `begin_named` would raise; nothing is written."""
        with self.store.reading() as connection:
            self._is_new(connection, name, new_role)

    def begin_local(self, name: str) -> tuple[User, str]:
        """A session for the one who works alone on this machine."""
        check_local(name)
        session = self.store.write(lambda connection: self._begin(connection, name, is_local=True))
        return User(name, ADMIN, csrf_of(session), is_local=True), session

    def user_of_session(self, session: str, local_allowed: bool = False) -> User | None:
        """Whose session this is; None where it is over, its user is gone, or it is local and users were added since."""
        with self.store.reading() as connection:
            found = find_session(connection, _digest(session))
            if found is None or found.expires_at < self._clock():
                return None
            if found.is_local:
                alone = local_allowed and not count_users(connection)
                return User(found.who, ADMIN, csrf_of(session), is_local=True) if alone else None
        return None if found.role is None else User(found.who, found.role, csrf_of(session))

    def end(self, session: str) -> None:
        """Sign out."""
        self.store.write(lambda connection: end_session(connection, _digest(session)))

    # -- other programs -----------------------------------------------------------------------------------------------

    def add_token(self, name: str) -> str:
        """The secret that a program shows with every request; a new one where it has one already."""
        check_person(name)
        secret = secrets.token_urlsafe(32)
        self.store.write(lambda connection: write_token(connection, name, _digest(secret), self._clock()))
        return secret

    def add_api_token(self, name: str, who: str, scope: str = READ, days: float | None = None) -> str:
        """The secret by which a program acts for a person at /api; a new one where it has one already.

        Parameters
        ----------
        name : str
            Of the token, to replace and to remove it.
        who : str
            A user; what the program answers is saved under this name. In a project without users anybody.
        scope : "metrics", "read", "answer" or "admin"
            What it may do at most; "admin" is everything that the person may do.
        days : float or None
            How long it is good for; None has no end.
        """
        check_person(name)
        if scope not in SCOPES:
            raise ProjectError(f"a scope is one of {', '.join(SCOPES)}, got {scope!r}")
        if days is not None and not days > 0:
            raise ProjectError(f"a token is good for some days, got {days!r}; leave it out for no end")
        secret, now = secrets.token_urlsafe(32), self._clock()
        until = None if days is None else now + days * DAY_SECONDS

        def write(connection: sa.Connection) -> None:
            if count_users(connection):
                self._check_known(connection, who)
            check_local(who)
            write_api_token(connection, StoredToken(name, _digest(secret), who, scope, until, None), now)

        self.store.write(write)
        return secret

    def user_of_token(self, secret: str, local_allowed: bool = False) -> User | None:
        """For whom, and as what, the program acts that shows this token; None where it is no good.

        The person's role counts as it is now. In a project without users a token is good on this machine alone.
        """
        digest = _digest(secret)
        with self.store.reading() as connection:
            found = find_api_token(connection, digest)
            alone = local_allowed and not count_users(connection)
        if found is None or not hmac.compare_digest(found.digest, digest):
            return None
        role = ADMIN if alone else found.role
        if role is None or (found.expires_at is not None and found.expires_at < self._clock()):
            return None
        allowed = {METRICS: VIEWER, READ: VIEWER, ANSWER: VIEWER if role == VIEWER else ANNOTATOR}
        return User(found.who, allowed.get(found.scope, role), "", is_local=alone, scope=found.scope)

    def remove_token(self, name: str) -> None:
        """Whoever shows this program's token is refused from now on."""
        if not self.store.write(lambda connection: drop_token(connection, name)):
            raise ProjectError(f"there is no token of {name!r}")

    def owner_of_token(self, secret: str) -> str | None:
        """The name of the program that a token belongs to; None where it is no good."""
        with self.store.reading() as connection:
            return owner_of_token(connection, _digest(secret))

    # -- inside -------------------------------------------------------------------------------------------------------

    def _invite(self, connection: sa.Connection, name: str) -> str:
        secret = secrets.token_urlsafe(24)
        add_invitation(connection, _digest(secret), name, self._clock() + LINK_SECONDS)
        return secret

    def _begin(self, connection: sa.Connection, who: str, is_local: bool) -> str:
        session = secrets.token_urlsafe(32)
        forget_expired_sessions(connection, self._clock())
        add_session(connection, _digest(session), who, is_local, self._clock() + SESSION_SECONDS)
        return session

    def _is_new(self, connection: sa.Connection, name: str, new_role: str | None) -> bool:
        """Whether somebody has to be made a user to come in; ProjectError if that is not to be."""
        check_local(name)
        if any(user.name == name for user in read_users(connection)):
            return False
        if new_role is None or was_removed(connection, name):
            cure = "an admin adds people on the page People, or by: labelwise user add PROJECT NAME"
            raise ProjectError(f"{name!r} may not use this project; {cure}")
        return True

    def _check_another_admin(self, connection: sa.Connection, name: str) -> None:
        users = read_users(connection)
        if any(user.role == ADMIN for user in users) and all(u.role != ADMIN or u.name == name for u in users):
            raise ProjectError(f"{name!r} is the only admin; make somebody else one first")

    def _check_known(self, connection: sa.Connection, name: str) -> None:
        names = [user.name for user in read_users(connection)]
        if name not in names:
            raise ProjectError(f"there is no user {name!r}; there are {', '.join(names) or 'none'}")


def check_role(role: str) -> str:
    if role not in ROLES:
        raise ProjectError(f"a role is one of {', '.join(ROLES)}, got {role!r}")
    return role


def check_person(who: str) -> str:
    """A name that every format can store, checked."""
    if not who.strip() or not who.isprintable():
        raise ProjectError(f"who answers needs a name, got {who!r}")
    return who


def check_local(name: str) -> str:
    """A name of somebody here: those of people in Label Studio are not to be had."""
    if name.startswith(STUDIO):
        raise ProjectError(f"names that begin with {STUDIO!r} are of people in Label Studio; take another for {name!r}")
    return check_person(name)


def csrf_of(session: str) -> str:
    """The token against requests from other sites: from the session, but the session does not follow from it."""
    return hashlib.sha256(b"csrf " + session.encode()).hexdigest()[:32]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
