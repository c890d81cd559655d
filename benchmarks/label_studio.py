"""labelwise beside a real Label Studio: does every answer given there arrive once, on the right item, and leave again?

    python benchmarks/label_studio.py --label-studio VENV [--quick]

VENV is an environment with the package label-studio 1.23 (or LABEL_STUDIO_VENV names it); without one nothing is
measured. Both are started on this machine only. The same csv without ids goes to both sides. Then, at random: answers,
changes, skips and deletions by the webhook, choices that are no labels, a file imported after the webhook, answers and
deletions while labelwise is down, read by the interface and by a file. Afterwards a project is exported to Label
Studio, answered there and read back. After every step what stands here is compared with what stands there.

The last line printed is one JSON object: `sent` changes in Label Studio, `right` the answers compared and equal,
`wrong` the answers here that nobody gave so there, `lost` those there that are not here, `doubled` those counted twice.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labelwise import Answer
from labelwise.labelling import Project

LABELS = ("late", "broken", "refund", "praise")
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="topic" toName="text" choice="multiple">'
    + "".join(f'<Choice value="{name}"/>' for name in (*LABELS, "elsewhere"))
    + "</Choices></View>"
)
TOKEN = "0123456789abcdef" * 2 + "01234567"
STUDIO_SETTINGS = {
    "LABEL_STUDIO_USERNAME": "ann@example.org",
    "LABEL_STUDIO_PASSWORD": "for-this-run-only",
    "LABEL_STUDIO_USER_TOKEN": TOKEN,
    "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
    "COLLECT_ANALYTICS": "false",
    "LATEST_VERSION_CHECK": "false",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "ML_BLOCK_LOCAL_IP": "false",
    "SSRF_PROTECTION_ENABLED": "false",
}
SIZES = {"quick": (60, 40), "full": (400, 300)}  # rows of the csv, changes of each step
START_SECONDS = 600.0  # Label Studio makes its database first
SAME = 4  # rows that show the same as another one: no answer to them can be filed


class Studio:
    """Label Studio's HTTP interface."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.sent = 0

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        raw = isinstance(body, bytes)
        data = body if raw or body is None else json.dumps(body).encode()
        sent = {"authorization": f"Token {TOKEN}", "content-type": "application/json", **headers}
        request = urllib.request.Request(self.address + path, data, sent, method=method)
        with urllib.request.urlopen(request, timeout=120) as reply:
            text = reply.read()
        return json.loads(text) if text else None

    def new_project(self, title: str) -> int:
        return int(self.call("POST", "/api/projects", {"title": title, "label_config": CONFIG})["id"])

    def upload(self, project: int, path: Path) -> None:
        """A file as the page sends it."""
        edge = "edge-of-the-file"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="FileUpload"; filename="{path.name}"\r\n\r\n'
        body = head.encode() + path.read_bytes() + f"\r\n--{edge}--\r\n".encode()
        headers = {"content-type": f"multipart/form-data; boundary={edge}"}
        self.call("POST", f"/api/projects/{project}/import", body, **headers)

    def add_webhook(self, project: int, url: str, token: str) -> None:
        headers = {"Authorization": f"Token {token}"}
        body = {"url": url, "project": project, "send_payload": True, "send_for_all_actions": True, "headers": headers}
        self.call("POST", "/api/webhooks/", body)

    def export(self, project: int, path: Path) -> Path:
        tasks = self.call("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
        path.write_text(json.dumps(tasks), encoding="utf-8")
        return path

    def tasks(self, project: int) -> list[dict[str, Any]]:
        return list(self.call("GET", f"/api/tasks?project={project}&fields=all&page_size=10000")["tasks"])

    def annotate(self, task: int, choices: list[str], skipped: bool = False) -> None:
        self.sent += 1
        self.call("POST", f"/api/tasks/{task}/annotations/", {"result": result(choices), "was_cancelled": skipped})

    def change(self, annotation: int, choices: list[str]) -> None:
        self.sent += 1
        self.call("PATCH", f"/api/annotations/{annotation}/", {"result": result(choices), "was_cancelled": False})

    def delete(self, annotation: int) -> None:
        self.sent += 1
        self.call("DELETE", f"/api/annotations/{annotation}/")


def result(choices: list[str]) -> list[dict[str, Any]]:
    return [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": choices}}]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < START_SECONDS:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"{address} did not answer: {log.read_text(encoding='utf-8')[-2000:]}")


@contextmanager
def running(command: list[str], address: str, log: Path, **settings: str) -> Iterator[None]:
    """A server that answers at its address, and is stopped at the end."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **settings})
        try:
            wait_for(process, address, log)
            yield
        finally:
            process.terminate()
            process.wait()


def labelwise(*words: str) -> list[str]:
    return [sys.executable, "-c", "from labelwise.cli import app; app()", *words]


def run_labelwise(*words: str, **settings: str) -> str:
    done = subprocess.run(labelwise(*words), capture_output=True, text=True, env={**os.environ, **settings})
    if done.returncode:
        raise RuntimeError(f"labelwise {words}: {done.stderr}")
    return done.stdout.strip()


def serving(project: Path, port: int, log: Path) -> Any:
    return running(
        labelwise("serve", str(project), "--port", str(port), "--no-worker"), f"http://127.0.0.1:{port}/", log
    )


def change_at_random(studio: Studio, project: int, chance: random.Random, n: int) -> None:
    """Answers, changes, skips, deletions, and choices that are no labels here."""
    tasks = studio.tasks(project)
    annotations = {task["id"]: [each["id"] for each in task["annotations"]] for task in tasks}
    for _ in range(n):
        task = chance.choice(tasks)["id"]
        choices = [name for name in LABELS if chance.random() < 0.4]
        kind, mine = chance.random(), annotations[task]
        if kind < 0.15 and mine:
            studio.delete(mine.pop(chance.randrange(len(mine))))
        elif kind < 0.4 and mine:
            studio.change(chance.choice(mine), choices)
        elif kind < 0.5:
            studio.annotate(task, [], skipped=True)
        elif kind < 0.6:
            studio.annotate(task, ["elsewhere"] if chance.random() < 0.5 else ["elsewhere", *choices])
        else:
            studio.annotate(task, choices)
        fresh = studio.call("GET", f"/api/tasks/{task}/annotations/")
        annotations[task] = [each["id"] for each in fresh]


Said = tuple[str, str, tuple[tuple[str, bool], ...]]  # what an item shows, kind, values


def said_there(studio: Studio, project: int, path: Path, unclear: set[str], not_echoed: set[int]) -> Counter[Said]:
    """What stands in Label Studio and can be filed: not on rows that show the same, not of unknown choices alone."""
    with Project(path) as here:
        labels = set(here.label_names())  # a file adds those it names
    found: Counter[Said] = Counter()
    for task in studio.tasks(project):
        for annotation in task["annotations"]:
            if task["data"]["text"] in unclear or annotation["import_id"] in not_echoed:
                continue
            values, is_known = values_of(annotation, labels)
            if is_known:
                kind = "skip" if annotation["was_cancelled"] else "answer"
                found[(task["data"]["text"], kind, values)] += 1
    return found


def values_of(annotation: dict[str, Any], labels: set[str]) -> tuple[tuple[tuple[str, bool], ...], bool]:
    if annotation["was_cancelled"]:
        return (), True
    chosen = {name for each in annotation["result"] for name in each["value"]["choices"]}
    if chosen - labels:
        known = sorted(chosen & set(LABELS))
        return tuple((name, True) for name in known), bool(known)
    return tuple((name, name in chosen) for name in sorted(LABELS)), True


def said_here(path: Path) -> Counter[Said]:
    """What stands here of people in Label Studio."""
    with Project(path) as project:
        events = project.events()
        shown = {name: project.content_of(name) for name in project.item_names()}
    undone = {event.undoes for event in events}
    found: Counter[Said] = Counter()
    for event in events:
        if event.kind != "undo" and event.id not in undone and event.who.startswith("label-studio:"):
            values = tuple(sorted((name, bool(value)) for name, value in event.values.items() if name in LABELS))
            found[(shown[event.item]["text"], event.kind, values)] += 1
    return found


class Comparison:
    """Counts over all steps."""

    def __init__(self) -> None:
        self.figures: Counter[str] = Counter(right=0, wrong=0, lost=0, doubled=0)

    def add(self, step: str, there: Counter[Said], here: Counter[Said]) -> None:
        more, fewer = here - there, there - here
        doubled = sum(number for said, number in more.items() if there[said])
        found = {
            "right": sum((here & there).values()),
            "wrong": sum(more.values()) - doubled,
            "lost": sum(fewer.values()),
            "doubled": doubled,
        }
        self.figures.update(found)
        print(step, found, file=sys.stderr, flush=True)


def same_csv(studio: Studio, folder: Path, size: tuple[int, int], chance: random.Random, counts: Comparison) -> None:
    """The same csv on both sides, without ids; everything that can happen to annotations."""
    rows, changes = size
    texts = [f"row {i}: {chance.choice(['late parcel', 'broken cup', 'thanks', 'money back'])}" for i in range(rows)]
    unclear = set(texts[:SAME])
    write_csv(folder / "rows.csv", [*texts, *texts[:SAME]])
    path, port = folder / "same.db", free_port()
    run_labelwise("new", str(path), "--items", str(folder / "rows.csv"), "--text", "text", "--labels", ",".join(LABELS))
    studio.new_project("so that numbers differ")
    project = studio.new_project("the same csv")
    studio.upload(project, folder / "rows.csv")
    token = run_labelwise("user", "token", str(path), "label-studio")
    studio.add_webhook(project, f"http://127.0.0.1:{port}/label-studio/webhook", token)

    def compare(step: str) -> None:
        counts.add(step, said_there(studio, project, path, unclear, set()), said_here(path))

    live = ("import", str(path), "--from-label-studio", studio.address, "--project", str(project))
    with serving(path, port, folder / "serve.log"):
        change_at_random(studio, project, chance, changes)
        compare("webhook")
        told = run_labelwise("import", str(path), str(studio.export(project, folder / "after.json")))
        print(told, file=sys.stderr)
        compare("a file after the webhook")
    change_at_random(studio, project, chance, changes)
    with serving(path, port, folder / "serve.log"):
        print(run_labelwise(*live, "--reconcile", LABEL_STUDIO_TOKEN=TOKEN), file=sys.stderr)
        compare("read by the interface after a break")
        print(run_labelwise(*live, LABEL_STUDIO_TOKEN=TOKEN), file=sys.stderr)
        compare("read again")
        change_at_random(studio, project, chance, changes // 4)
        compare("webhook after that")
    change_at_random(studio, project, chance, changes)
    file = studio.export(project, folder / "break.json")
    with serving(path, port, folder / "serve.log"):
        print(run_labelwise("import", str(path), str(file), "--reconcile"), file=sys.stderr)
        compare("a file after a break")
        change_at_random(studio, project, chance, changes // 4)
        compare("webhook after that")


def exported(studio: Studio, folder: Path, size: tuple[int, int], chance: random.Random, counts: Comparison) -> None:
    """A project with answers of its own, exported to Label Studio, answered there, read back."""
    rows, changes = size
    path, port, there = folder / "exported.db", free_port(), studio.new_project("an export of ours")
    write_csv(folder / "items.csv", [f"item {i}" for i in range(rows)])
    run_labelwise(
        "new", str(path), "--items", str(folder / "items.csv"), "--text", "text", "--labels", ",".join(LABELS)
    )
    with Project(path) as project:
        names = sorted(project.item_names())[: rows // 4]
        answers = [Answer(name, {label: chance.random() < 0.5 for label in LABELS}) for name in names]
        ours = {receipt.event for receipt in project.tell(answers, who="owner")}
    run_labelwise("export", str(path), str(folder / "tasks.json"))
    studio.call("POST", f"/api/projects/{there}/import", json.loads((folder / "tasks.json").read_text()))
    token = run_labelwise("user", "token", str(path), "label-studio")
    studio.add_webhook(there, f"http://127.0.0.1:{port}/label-studio/webhook", token)
    live = ("import", str(path), "--from-label-studio", studio.address, "--project", str(there))
    with serving(path, port, folder / "serve.log"):
        print(run_labelwise(*live, LABEL_STUDIO_TOKEN=TOKEN), file=sys.stderr)
        counts.add("our own answers come back", Counter(), said_here(path))
        tasks = [task["id"] for task in studio.tasks(there) if not task["annotations"]]
        for task in chance.sample(tasks, min(changes, len(tasks))):
            studio.annotate(task, [name for name in LABELS if chance.random() < 0.4])
        counts.add("webhook of exported tasks", said_there(studio, there, path, set(), ours), said_here(path))
        print(run_labelwise("import", str(path), str(studio.export(there, folder / "back.json"))), file=sys.stderr)
        counts.add("a file of exported tasks", said_there(studio, there, path, set(), ours), said_here(path))


def write_csv(path: Path, texts: list[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label-studio", metavar="VENV", default=os.environ.get("LABEL_STUDIO_VENV", ""))
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    command = Path(options.label_studio) / "bin" / "label-studio"
    if not options.label_studio or not command.exists():
        print("skipped: give --label-studio or LABEL_STUDIO_VENV, an environment with label-studio", file=sys.stderr)
        print(json.dumps({"skipped": "no Label Studio here"}))
        return
    chance, counts, port = random.Random(options.seed), Comparison(), free_port()
    studio = Studio(f"http://127.0.0.1:{port}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = [str(command), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
        settings = {**STUDIO_SETTINGS, "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "studio")}
        with running(start, f"{studio.address}/api/version", folder / "studio.log", **settings):
            same_csv(studio, folder, SIZES[options.size], chance, counts)
            exported(studio, folder, SIZES[options.size], chance, counts)
    print(json.dumps({"sent": studio.sent, **counts.figures}))


if __name__ == "__main__":
    main()
