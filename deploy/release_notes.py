"""Print what the changelog says of a version: python deploy/release_notes.py 0.2.0"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes_of(version: str, text: str) -> str:
    """The section of a version.

    >>> notes_of("0.2", "# Changelog\\n\\n## 0.2 (2026-11-18)\\n\\n- New.\\n\\n## 0.1\\n\\n- First.\\n")
    '- New.'
    """
    found = re.search(rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if found is None:
        raise SystemExit(
            f"CHANGELOG.md has no section '## {version}'; rename 'Unreleased' to it before the tag is made"
        )
    return found[1].strip()


if __name__ == "__main__":
    print(notes_of(sys.argv[1], CHANGELOG.read_text(encoding="utf-8")))
