"""List the saved results whose code has changed since they were measured.

    python benchmarks/stale.py

A result knows the files that its benchmark loaded and a hash of each (see run_all.py). What was only added to such a
file does not count, nor do comments, docstrings and layout. A result without hashes was saved before they were kept, or
by hand: it counts as stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from _sources import changed

MAX_NAMES = 3  # changed files to name


def stale(folder: Path) -> dict[str, str]:
    """Name of a result to why it is stale."""
    found = {}
    for path in sorted((folder / "results").glob("*.json")):
        code = json.loads(path.read_text(encoding="utf-8")).get("code")
        if code is None:
            found[path.stem] = "it does not say which code it measured"
        elif code.get("earlier_runs") is True:
            found[path.stem] = "it took over runs of earlier code, and none was done again"
        elif behind := changed(code["sources"], folder, code.get("commit", "")):
            more = ", ..." if len(behind) > MAX_NAMES else ""
            share = f"{len(behind)} of {len(code['sources'])} files changed"
            found[path.stem] = f"{share} since {_version(code)}: {', '.join(behind[:MAX_NAMES])}{more}"
    return found


def _version(code: dict[str, str]) -> str:
    return f"{code['version']} ({code['commit'][:8]})" if "commit" in code else f"{code['version']}"


def main(folder: Path = Path(__file__).parent) -> int:
    found = stale(folder)
    for name, why in found.items():
        print(f"{name:24} {why}")
    print(f"{len(found)} of {len(list((folder / 'results').glob('*.json')))} results are stale")
    return 0


if __name__ == "__main__":
    sys.exit(main())
