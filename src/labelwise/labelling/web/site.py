"""What one running page consists of, shared by all its routes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from labelwise.labelling.served import ServedProject
from labelwise.labelling.web.limits import Limiter
from labelwise.labelling.wording import counted, why_no_f1


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("labelwise.labelling.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"counted": counted, "why_no_f1": why_no_f1}
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
    """

    project: ServedProject
    local_user: str | None = None
    navigation: tuple[tuple[str, str], ...] = ()
    templates: Environment = field(default_factory=_templates)
    logins: Limiter = field(default_factory=Limiter)

    @property
    def is_local(self) -> bool:
        return self.local_user is not None

    @property
    def cookie(self) -> str:
        """The name of the session cookie: browsers share cookies between ports, so projects need names of their own."""
        return f"labelwise_{self.project.identity[:12]}"

    @property
    def title(self) -> str:
        return Path(self.project.store.shown).stem
