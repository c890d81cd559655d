"""What one running page consists of, shared by all its routes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from jinja2 import Environment, PackageLoader, StrictUndefined

from labelwise.labelling.figures.wording import counted, duration, miss_line, standing_lines, why_no_f1
from labelwise.labelling.served import ServedProject
from labelwise.labelling.web.limits import Limiter
from labelwise.labelling.web.reach import Reach


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("labelwise.labelling.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {each.__name__: each for each in (counted, duration, miss_line, standing_lines, why_no_f1)}
    templates.filters |= filters
    return templates


@dataclass(frozen=True)
class Site:
    """A project and how it is shown.

    Parameters
    ----------
    project : ServedProject
    local_user : str or None
        Who works here alone, without signing in, as long as the project has no users; None where others can reach it.
    navigation : (title, address) of the pages
    logins, tokens : how often wrong links, and wrong tokens of programs, may be tried
    local_secret : what the one who works alone shows to come in
    reach : how the server is reached
    """

    project: ServedProject
    local_user: str | None = None
    navigation: tuple[tuple[str, str], ...] = ()
    templates: Environment = field(default_factory=_templates)
    logins: Limiter = field(default_factory=Limiter)
    tokens: Limiter = field(default_factory=Limiter)
    local_secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    reach: Reach = field(default_factory=Reach)

    @property
    def is_local(self) -> bool:
        return self.local_user is not None

    @property
    def cookie(self) -> str:
        """The name of the session cookie: browsers share cookies between ports, so projects need names of their own."""
        return f"labelwise_{self.project.identity[:12]}"

    @property
    def title(self) -> str:
        return self.project.store.name

    @property
    def public_title(self) -> str:
        """The same for those who are not signed in, and for errors: a database is not named there."""
        return self.project.store.name if self.project.store.is_file else "A labelling project"
