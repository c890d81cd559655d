"""Notes every source file that a Python process loads, as soon as it loads it: Python imports this module at its start.

run_all.py puts this folder on the path of a benchmark. So its child processes are recorded, too, even those that are
killed. LABELWISE_LOADED names the file to write to, LABELWISE_SOURCES the folders whose files count. Peers run this on
older Pythons.
"""

import os
import sys
from importlib.machinery import PathFinder

NOTES, FOLDERS = os.environ.get("LABELWISE_LOADED"), os.environ.get("LABELWISE_SOURCES", "").split(os.pathsep)


def note(path):
    path = os.path.realpath(path)
    if path.endswith(".py") and any(path.startswith(os.path.join(folder, "")) for folder in FOLDERS if folder):
        file = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, (path + "\n").encode())
        os.close(file)


class NotingFinder:
    """Finds modules as Python does by itself, and notes where."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin:
            note(spec.origin)
        return spec


if NOTES:
    sys.meta_path.insert(sys.meta_path.index(PathFinder), NotingFinder)
    for word in getattr(sys, "orig_argv", ())[1:3]:  # the script itself is not imported
        note(word)
