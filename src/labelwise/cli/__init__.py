"""The `labelwise` command. One small file per command; each reads its input, calls the library, and writes the output.

Exit codes: 0 done, 1 something broke inside, 2 wrong usage or input (one line says what and how to mend it), 3 another
worker is running, 4 nothing to ask, 5 the answer was refused (too late, or its label is gone), 6 the project cannot be
opened, read or written, 130 stopped by Ctrl-C.
"""

import sys
from importlib.util import find_spec

MISSING = [package for package in ("typer", "rich") if find_spec(package) is None]

if not MISSING:
    from labelwise.cli._app import app as app


def main() -> None:
    """Run the command, or say what to install when the extra for it is missing."""
    if MISSING:
        print(f"the labelwise command needs {' and '.join(MISSING)}: pip install labelwise[cli]", file=sys.stderr)
        sys.exit(2)
    app()
