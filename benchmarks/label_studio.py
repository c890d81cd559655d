"""labelwise beside a real Label Studio: does every answer given there arrive once, on the right item, and leave again?

    python benchmarks/label_studio.py --label-studio VENV [--quick]

VENV is an environment with the package label-studio 1.23 (or LABEL_STUDIO_VENV names it); without one nothing is
measured. Both are started on this machine only. The same csv without ids goes to both sides. Then, at random: answers,
changes, skips and deletions by the webhook, choices that are no labels, a file imported after the webhook, answers and
deletions while labelwise is down, read by the interface and by a file; a second webhook with a stale token beside it
all. Then a project is exported with its predictions, imported there as it is, answered in the order of uncertainty
sampling, given the predictions of the next training, and read back; at last Label Studio's export makes new projects.
In between Label Studio is stopped and started again while labelwise runs, and labelwise while Label Studio does. After
every step what stands here is compared with what stands there.

The last line printed is one JSON object: `sent` changes in Label Studio, `right` the answers compared and equal,
`wrong` the answers here that nobody gave so there, `lost` those there that are not here, `doubled` those counted twice.
`in_order` of the `next_tasks` were the next question of labelwise, `predicted` tasks have a prediction that Label
Studio asked for all at once (single choice: with at most one choice), `restarts` of either side; what is not as it
should be counts as `wrong`, too.
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
from pathlib import Path
from typing import Any

from labelwise import Answer
from labelwise.labelling import Project
from labelwise.labelling.items.browse import Browser

LABELS = ("late", "broken", "refund", "praise")
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="topic" toName="text" choice="multiple">'
    + "".join(f'<Choice value="{name}"/>' for name in (*LABELS, "elsewhere"))
    + "</Choices></View>"
)
USER = "ann@example.org"
TOKEN = "0123456789abcdef" * 2 + "01234567"
STUDIO_SETTINGS = {
    "LABEL_STUDIO_USERNAME": USER,
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
SIZES = {"quick": (60, 40), "full": (300, 80)}  # rows of the csv, changes of each step
LONGEST_SECONDS = 900.0  # Label Studio makes its database first; 1500 predictions, too, take minutes on a busy machine
MANY_TASKS = {"quick": 300, "full": 1500}  # predicted by one request
IN_TURN = {"quick": 5, "full": 12}  # tasks that are answered in the order of uncertainty sampling, three times
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
        with urllib.request.urlopen(request, timeout=LONGEST_SECONDS) as reply:
            text = reply.read()
        return json.loads(text) if text else None

    def new_project(self, title: str, config: str = CONFIG, **settings: Any) -> int:
        return int(self.call("POST", "/api/projects", {"title": title, "label_config": config, **settings})["id"])

    def connect(self, project: int, port: int, token: str) -> str:
        """Connect labelwise as the model of a project, and say what Label Studio makes of it."""
        body = {"project": project, "url": f"http://127.0.0.1:{port}/label-studio", "title": "labelwise"}
        body |= {"auth_method": "BASIC_AUTH", "basic_auth_user": "labelwise", "basic_auth_pass": token}
        return str(self.call("POST", "/api/ml", body)["readable_state"])

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

    def annotate(self, task: int, choices: list[str], skipped: bool = False, name: str = "topic") -> None:
        self.sent += 1
        body = {"result": result(choices, name), "was_cancelled": skipped}
        self.call("POST", f"/api/tasks/{task}/annotations/", body)

    def change(self, annotation: int, choices: list[str]) -> None:
        self.sent += 1
        self.call("PATCH", f"/api/annotations/{annotation}/", {"result": result(choices), "was_cancelled": False})

    def delete(self, annotation: int) -> None:
        self.sent += 1
        self.call("DELETE", f"/api/annotations/{annotation}/")


def result(choices: list[str], name: str = "topic") -> list[dict[str, Any]]:
    return [{"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": choices}}]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < LONGEST_SECONDS:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"{address} did not answer: {log.read_text(encoding='utf-8')[-2000:]}")


class Server:
    """A server that answers at its address; as a context it is started, and stopped at the end."""

    def __init__(self, command: list[str], address: str, log: Path, **settings: str) -> None:
        self.command, self.address, self.log = command, address, log
        self.environment = {**os.environ, **settings}
        self.restarts = 0

    def __enter__(self) -> Server:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=out, env=self.environment)
        try:
            wait_for(self.process, self.address, self.log)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def restart(self) -> None:
        self.__exit__()
        self.__enter__()
        self.restarts += 1


def labelwise(*words: str) -> list[str]:
    return [sys.executable, "-c", "from labelwise.cli import app; app()", *words]


def run_labelwise(*words: str, **settings: str) -> str:
    done = subprocess.run(labelwise(*words), capture_output=True, text=True, env={**os.environ, **settings})
    if done.returncode:
        raise RuntimeError(f"labelwise {words}: {done.stderr}")
    return done.stdout.strip()


def serving(project: Path, port: int, log: Path, *more: str) -> Server:
    words = ("serve", str(project), "--port", str(port), "--no-worker", *more)
    return Server(labelwise(*words), f"http://127.0.0.1:{port}/", log)


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

    def check(self, step: str, figure: str, right: int, of: int) -> None:
        """Count what is right, and the rest as wrong."""
        self.figures.update({figure: right, "wrong": of - right})
        print(step, f"{right} of {of}", file=sys.stderr, flush=True)


def same_csv(
    studio: Studio, server: Server, folder: Path, size: str, chance: random.Random, counts: Comparison
) -> None:
    """The same csv on both sides, without ids; everything that can happen to annotations."""
    rows, changes = SIZES[size]
    texts = [f"row {i}: {chance.choice(['late parcel', 'broken cup', 'thanks', 'money back'])}" for i in range(rows)]
    unclear = set(texts[:SAME])
    write_csv(folder / "rows.csv", [*texts, *texts[:SAME]])
    path, port = folder / "same.db", free_port()
    new_project(path, folder / "rows.csv")
    studio.new_project("so that numbers differ")
    project = studio.new_project("the same csv")
    studio.upload(project, folder / "rows.csv")
    token = run_labelwise("user", "token", str(path), "label-studio")
    studio.add_webhook(project, f"http://127.0.0.1:{port}/label-studio/webhook", "a stale token")
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
        server.restart()
        change_at_random(studio, project, chance, changes // 4)
        compare("webhook after a restart of Label Studio")
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


def exported(
    studio: Studio, server: Server, folder: Path, size: str, chance: random.Random, counts: Comparison
) -> None:
    """A project with answers of its own: exported with predictions, answered there in our order, read back."""
    rows, changes = SIZES[size]
    path, port = folder / "exported.db", free_port()
    write_csv(folder / "items.csv", [f"item {i}: {chance.choice(LABELS)} {chance.choice(LABELS)}" for i in range(rows)])
    new_project(path, folder / "items.csv")
    with Project(path) as project:
        names = sorted(project.item_names())[: rows // 4]
        answers = [Answer(name, {label: chance.random() < 0.5 for label in LABELS}) for name in names]
        ours = {receipt.event for receipt in project.tell(answers, who="owner")}
    tasks, interface = folder / "tasks.json", folder / "interface.xml"
    run_labelwise("export", str(path), str(tasks), "--predictions")
    run_labelwise("export", str(path), str(interface))
    config = interface.read_text(encoding="utf-8")
    there = studio.new_project("an export of ours", config, sampling="Uncertainty sampling")
    studio.call("POST", f"/api/projects/{there}/import", json.loads(tasks.read_text(encoding="utf-8")))
    token = run_labelwise("user", "token", str(path), "label-studio")
    studio.add_webhook(there, f"http://127.0.0.1:{port}/label-studio/webhook", token)
    live = ("import", str(path), "--from-label-studio", studio.address, "--project", str(there))
    send = ("export", str(path), "--to-label-studio", studio.address, "--project", str(there))

    def compare(step: str) -> None:
        counts.add(step, said_there(studio, there, path, set(), ours), said_here(path))

    with serving(path, port, folder / "serve.log") as served:
        print(run_labelwise(*live, LABEL_STUDIO_TOKEN=TOKEN), file=sys.stderr)
        counts.add("our own answers come back", Counter(), said_here(path))
        counts.check("connected", "connected", studio.connect(there, port, token) == "Connected", 1)
        answer_in_turn(studio, there, path, IN_TURN[size], chance, counts)
        compare("webhook of exported tasks")
        print(run_labelwise(*send, LABEL_STUDIO_TOKEN=TOKEN), file=sys.stderr)
        answer_in_turn(studio, there, path, IN_TURN[size], chance, counts)
        server.restart()
        served.restart()
        print(run_labelwise(*send, LABEL_STUDIO_TOKEN=TOKEN), file=sys.stderr)
        answer_in_turn(studio, there, path, IN_TURN[size], chance, counts)
        compare("webhook of exported tasks after a restart of both")
        open_tasks = [task["id"] for task in studio.tasks(there) if not task["annotations"]]
        for task in chance.sample(open_tasks, min(changes // 4, len(open_tasks))):
            studio.annotate(task, [name for name in LABELS if chance.random() < 0.4], name="labels")
        print(run_labelwise("import", str(path), str(studio.export(there, folder / "back.json"))), file=sys.stderr)
        compare("a file of exported tasks")
        counts.figures["restarts"] += served.restarts
    print(run_labelwise(*live, LABEL_STUDIO_TOKEN=TOKEN), file=sys.stderr)
    with Project(path) as project:
        people = {event.who for event in project.events()}
    counts.check("people by their names", "named", len(people & {"owner", f"label-studio:{USER}"}), len(people))
    for command in (("new", "made.db", "--items", "back.json"), ("import", "imported.db", "back.json")):
        words = [str(folder / word) if "." in word else word for word in command]
        print(run_labelwise(*words), file=sys.stderr)
        made = folder / command[1]
        counts.add(f"a new project by {command[0]}", said_there(studio, there, made, set(), set()), said_here(made))


def answer_in_turn(studio: Studio, project: int, path: Path, n: int, chance: random.Random, counts: Comparison) -> None:
    """Answer the tasks that Label Studio gives next; they should be our questions, in order."""
    order = questions_in_order(path)
    done = {task["meta"]["item"] for task in studio.tasks(project) if task["annotations"]}
    expected = [name for name in order if name not in done][:n]
    given = []
    for _ in range(n):
        task = studio.call("GET", f"/api/projects/{project}/next")
        given.append(task["meta"]["item"])
        studio.annotate(task["id"], [name for name in LABELS if chance.random() < 0.4], name="labels")
    counts.figures["next_tasks"] += n
    counts.check("in our order", "in_order", sum(a == b for a, b in zip(given, expected, strict=True)), n)


def questions_in_order(path: Path) -> list[str]:
    with Project(path) as project:
        ranks = {name: rank for name, (_, rank) in Browser(project).standing_of(sorted(project.item_names())).items()}
    return sorted((name for name in ranks if ranks[name] is not None), key=lambda name: ranks[name])


def many_at_once(studio: Studio, folder: Path, size: str, chance: random.Random, counts: Comparison) -> None:
    """Label Studio asks for the predictions of all tasks by one request; only one label may be chosen of each."""
    path, port, n = folder / "many.db", free_port(), MANY_TASKS[size]
    texts = [f"{i} {chance.choice(LABELS)} {chance.choice(LABELS)}" for i in range(n)]
    write_csv(folder / "many.csv", texts)
    new_project(path, folder / "many.csv", "--control", "0", "--start", "0", "--strategy", "uncertainty")
    there = studio.new_project("many tasks", CONFIG.replace("multiple", "single"))
    studio.upload(there, folder / "many.csv")
    with Project(path) as project:
        names = sorted(project.item_names())[:50]
        shown = {name: project.content_of(name)["text"].split() for name in names}
        project.tell([Answer(name, {label: label in shown[name] for label in LABELS}) for name in names])
        project.refresh()
    token = run_labelwise("user", "token", str(path), "label-studio")
    with serving(path, port, folder / "serve.log"):
        studio.connect(there, port, token)
        everything = {"selectedItems": {"all": True, "excluded": []}}
        studio.call("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={there}", everything)
        chosen = [task["predictions"][0]["result"] for task in studio.tasks(there) if task["predictions"]]
    right = sum(all(len(each["value"]["choices"]) == 1 for each in result) for result in chosen)
    counts.check("predicted at once", "predicted", right, n)


def new_project(path: Path, items: Path, *more: str) -> None:
    run_labelwise("new", str(path), "--items", str(items), "--text", "text", "--labels", ",".join(LABELS), *more)


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
        with Server(start, f"{studio.address}/api/version", folder / "studio.log", **settings) as server:
            same_csv(studio, server, folder, options.size, chance, counts)
            exported(studio, server, folder, options.size, chance, counts)
            many_at_once(studio, folder, options.size, chance, counts)
            counts.figures["restarts"] += server.restarts
    print(json.dumps({"sent": studio.sent, **counts.figures}))


if __name__ == "__main__":
    main()
