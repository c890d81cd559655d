"""What can be checked of a release on this machine: build, metadata, and a newcomer's first commands.

python deploy/release_check.py

Builds wheel and sdist into dist/ and checks their metadata, then installs the wheel into a new environment and runs
`labelwise demo --quick`, `new`, `serve` (until it answers at /healthz) and `predict` there. The last line has megabytes
and seconds as JSON. Nothing is uploaded.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
TICKETS = """id,body,tags
1,The invoice is wrong and I want a refund,billing;refund
2,The parcel has not come yet,delivery
3,I was charged twice for one parcel,billing;delivery
4,Please refund my last invoice,billing;refund
"""
PATIENCE = 120.0  # seconds that a server may take to start


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="labelwise-release-") as scratch:
        folder = Path(scratch)
        _build(_environment(folder / "build"))
        figures = _play_newcomer(folder, next(DIST.glob("*.whl")))
    print(json.dumps(figures))


def _environment(folder: Path) -> Path:
    """A new environment: the path of its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _build(python: Path) -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    _pip(python, "build", "twine")
    subprocess.run([python, "-m", "build", "--outdir", DIST, ROOT], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([python, "-m", "twine", "check", "--strict", *DIST.iterdir()], check=True)


def _pip(python: Path, *what: str) -> None:
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what], check=True)


def _play_newcomer(folder: Path, wheel: Path) -> dict[str, float]:
    python = _environment(folder / "new")
    before = _megabytes(folder / "new")
    figures = {"wheel_mb": round(wheel.stat().st_size / 1e6, 2)}
    figures["install_s"] = _timed(lambda: _pip(python, str(wheel)))
    figures["installed_mb"] = round(_megabytes(folder / "new") - before)
    (folder / "tickets.csv").write_text(TICKETS, encoding="utf-8")

    def run(*words: str) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"MPLBACKEND": "Agg"}
        subprocess.run([python, "-m", "labelwise", *words], check=True, cwd=folder, env=environment)

    figures["version_s"] = _timed(lambda: run("--version"))
    figures["demo_s"] = _timed(lambda: run("demo", "--quick", "--out", "first"))
    new = ("new", "tickets.db", "--items", "tickets.csv", "--text", "body", "--known", "tags")
    figures["new_s"] = _timed(lambda: run(*new))
    figures["serve_s"] = _timed(lambda: _serve(python, folder))
    figures["predict_s"] = _timed(lambda: run("predict", "tickets.db", "--out", "tagged.csv"))
    if len((folder / "tagged.csv").read_text(encoding="utf-8").splitlines()) != 5:
        raise SystemExit("predict did not write a line for each of the four tickets")
    return figures


def _serve(python: Path, folder: Path) -> None:
    """Start the page, wait for its first answer, and stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["serve", "tickets.db", "--port", str(port), "--no-worker"]
    process = subprocess.Popen([python, "-m", "labelwise", *words], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as reply:
                    assert reply.status == 200
                return
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit("labelwise serve did not answer at /healthz") from None
                time.sleep(0.1)
    finally:
        process.terminate()
        process.wait()


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def _timed(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return round(time.monotonic() - began, 1)


if __name__ == "__main__":
    main()
