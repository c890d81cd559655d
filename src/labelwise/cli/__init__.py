"""The `labelwise` command: a small file for each command or for those that belong together; the work is done below.

Exit codes: 0 done, 1 something broke inside, 2 wrong usage or input (one line says what is wrong and how to correct
it), 3 another worker is running, 4 nothing to ask, 5 the answer was refused (too late, or its label is gone), 6 the
project cannot be opened, read or written, 7 it is damaged, 8 verify found something suspicious, 130 stopped by Ctrl-C.
"""

import sys
from importlib.util import find_spec
from typing import Any

MISSING = [package for package in ("typer", "rich") if find_spec(package) is None]


def __getattr__(name: str) -> Any:
    """`app`, the application with all commands."""
    if name != "app":
        raise AttributeError(f"module 'labelwise.cli' has no attribute {name!r}")
    from labelwise.cli._app import build  # needs the extra just looked for

    return build()


def main() -> None:
    """Run the command, or say what to install when the extra for it is missing."""
    if MISSING:
        print(f"the labelwise command needs {' and '.join(MISSING)}: pip install labelwise[cli]", file=sys.stderr)
        sys.exit(2)
    from labelwise.cli._app import COMMANDS, build  # needs the extra just looked for

    wanted = sys.argv[1] if len(sys.argv) > 1 else None
    build(wanted if wanted in COMMANDS else None)()
