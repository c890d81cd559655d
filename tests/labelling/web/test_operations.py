"""Running it: health, figures, logs, tokens by scope, and the client against a real server."""

from __future__ import annotations

import io
import json
import logging
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from labelwise import Client
from labelwise.cli import app as command
from labelwise.labelling import ClientError, ProjectError
from labelwise.labelling.people import People
from labelwise.labelling.web import operations
from labelwise.labelling.web.reach import Reach, listen
from labelwise.labelling.web.server import Server, create_app, server_config

LINE = re.compile(r'(\w+)(?:\{((?:\w+="[^"]*",?)*)\})? (-?[\d.e+]+|\+Inf)')


@pytest.fixture
def people(project) -> People:
    project.people.add("ann")
    project.people.add("eve", "admin")
    project.people.add("vic", "viewer")
    return project.people


@pytest.fixture
def visitor(project) -> TestClient:
    return TestClient(create_app(project), base_url="http://127.0.0.1:8000")


@pytest.fixture
def address(project):
    """A real server of the project, in a thread."""
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    ready = threading.Event()
    server = Server(server_config(create_app(project), Reach(), port), ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    assert ready.wait(20)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
    listening.close()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def figures(text: str) -> dict[str, float]:
    """Every sample by its name and labels; each line is one, or a HELP or TYPE before it."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            assert re.match(r"# (HELP|TYPE) labelwise_\w+ \S", line)
            continue
        match = LINE.fullmatch(line)
        assert match, line
        found[line.rpartition(" ")[0]] = float(match[3])
    return found


# -- health and figures ------------------------------------------------------------------------------------------------


def test_anybody_learns_whether_it_is_well_and_nothing_else(visitor):
    reply = visitor.get("/healthz")
    assert (reply.status_code, reply.text) == (200, "ok\n")


def test_a_project_that_cannot_be_read_is_not_well(project, visitor, monkeypatch):
    from labelwise.labelling.errors import StoreError

    def fail() -> None:
        raise StoreError("/secret/place.db: disk I/O error")

    monkeypatch.setattr(project.store, "check", fail)
    reply = visitor.get("/healthz")
    assert reply.status_code == 503 and "secret" not in reply.text


def test_figures_need_a_token_or_a_session(visitor, people):
    assert visitor.get("/metrics", follow_redirects=False).status_code == 401
    assert visitor.get("/metrics", headers=bearer("wrong")).status_code == 401
    token = people.add_api_token("prometheus", "ann", "metrics")
    assert visitor.get("/metrics", headers=bearer(token)).headers["content-type"] == operations.PROMETHEUS


def test_figures_count_what_happens_and_name_nobody(visitor, people, project):
    token = people.add_api_token("nightly", "ann", "answer")
    (lease,) = visitor.post("/api/ask", json={}, headers=bearer(token)).json()["yours"]
    body = {"lease": lease, "values": {"left": True}}
    assert visitor.post("/api/answer", json=body, headers=bearer(token)).status_code == 200
    visitor.get("/no/such/ann")
    text = visitor.get("/metrics", headers=bearer(token)).text
    found = figures(text)
    assert found["labelwise_answers"] == found["labelwise_people_answered"] == 1
    assert found["labelwise_people"] == 3
    assert found["labelwise_items"] == 40
    assert found['labelwise_requests_total{method="POST",place="/api/answer",status="200"}'] == 1
    assert found['labelwise_requests_total{method="GET",place="other",status="404"}'] == 1
    assert found['labelwise_request_seconds_bucket{place="/api/ask",le="+Inf"}'] == 1
    assert found['labelwise_trainings_total{state="good"}'] == 1
    assert found["labelwise_worker_running"] == 0
    for secret in ("ann", "left", "p1", lease, token):
        assert secret not in re.sub(r"# .*", "", text)


def test_buckets_are_cumulative_and_end_with_all():
    requests = operations.Requests(["/label"])
    for seconds in (0.001, 0.02, 0.02, 99.0):
        requests.add("GET", "/label", 200, seconds)
    found = figures("\n".join(requests.lines()))
    counts = [n for name, n in found.items() if "bucket" in name]
    assert counts == sorted(counts) and counts[0] == 1 and counts[-2:] == [3, 4]
    assert found['labelwise_request_seconds_sum{place="/label"}'] == pytest.approx(99.041)


def test_the_figures_are_read_by_the_parser_of_prometheus(project):
    parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus-client as a rival")
    families = list(parser.text_string_to_metric_families("\n".join([*operations.project_lines(project), ""])))
    assert {"labelwise_answers", "labelwise_trainings"} <= {family.name for family in families}


# -- logs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def logged(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    loggers = [logging.getLogger(name) for name in ("labelwise", "uvicorn", "labelwise.requests")]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    operations.log_as_json(requests=True)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for each, (each.handlers, each.propagate, level) in zip(loggers, before, strict=True):
        each.setLevel(level)


def test_logs_are_a_json_object_a_line(visitor, logged):
    visitor.get("/enter/a-secret")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("labelwise.somewhere").exception("two\nlines")
    request, trouble = logged()
    assert (request["method"], request["place"], request["status"]) == ("GET", "/enter", 200)
    assert request["seconds"] > 0 and request["time"].endswith("+00:00")
    assert (trouble["level"], trouble["message"]) == ("error", "two\nlines") and "ValueError: broken" in trouble[
        "trace"
    ]


def test_a_wrong_form_of_logs_is_refused(project):
    done = CliRunner().invoke(command, ["serve", project.store.location, "--log-format", "xml"])
    assert done.exit_code == 2 and "text or json" in done.output


# -- tokens ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "scope", "allowed"),
    [
        ("ann", "metrics", {"/metrics"}),
        ("ann", "read", {"/metrics", "GET /api/status"}),
        ("ann", "answer", {"/metrics", "GET /api/status", "POST /api/ask"}),
        ("vic", "answer", {"/metrics", "GET /api/status"}),
        ("vic", "admin", {"/metrics", "GET /api/status"}),
        ("eve", "admin", {"/metrics", "GET /api/status", "POST /api/ask"}),
    ],
)
def test_a_token_does_what_its_scope_and_its_person_may(visitor, people, who, scope, allowed):
    header = bearer(people.add_api_token("program", who, scope))
    replies = {
        "/metrics": visitor.get("/metrics", headers=header),
        "GET /api/status": visitor.get("/api/status", headers=header),
        "POST /api/ask": visitor.post("/api/ask", json={}, headers=header),
    }
    assert {name for name, reply in replies.items() if reply.status_code == 200} == allowed
    assert {reply.status_code for name, reply in replies.items() if name not in allowed} <= {403}


def test_only_the_scope_admin_of_an_admin_is_an_admin(people):
    tokens = {scope: people.add_api_token(scope, "eve", scope) for scope in ("read", "answer", "admin")}
    found = {scope: people.user_of_token(token) for scope, token in tokens.items()}
    assert {scope: user.is_admin for scope, user in found.items()} == {"read": False, "answer": False, "admin": True}
    people.change_role("ann", "admin")  # so that eve is not the last one
    people.change_role("eve", "annotator")
    assert not people.user_of_token(tokens["admin"]).is_admin


def test_a_token_is_good_at_the_interface_alone(visitor, people):
    header = bearer(people.add_api_token("program", "eve", "admin"))
    assert visitor.get("/people", headers=header, follow_redirects=False).status_code == 303
    assert visitor.post("/label-studio/predict", json={}, headers=header).status_code == 401
    studio = bearer(people.add_token("label-studio"))
    assert visitor.get("/api/status", headers=studio).status_code == 401


def test_tokens_are_kept_as_digests_end_and_go_with_their_person(project, people):
    token = people.add_api_token("program", "ann", "read", days=1)
    with project.store.reading() as connection:
        kept = str(connection.exec_driver_sql("select * from api_tokens").all())
    assert token not in kept and "ann" in kept
    assert people.user_of_token(token).name == "ann"
    assert People(project.store, clock=lambda: time.time() + 2 * 24 * 3600).user_of_token(token) is None
    again = people.add_api_token("program", "ann", "read")
    assert people.user_of_token(token) is None and people.user_of_token(again) is not None
    people.remove("ann")
    assert people.user_of_token(again) is None
    with pytest.raises(ProjectError, match="no user 'ann'"):
        people.add_api_token("program", "ann", "read")


@pytest.mark.parametrize(("scope", "days"), [("everything", None), ("read", 0), ("read", -1.0)])
def test_wrong_tokens_are_not_made(people, scope, days):
    with pytest.raises(ProjectError, match=r"scope|days"):
        people.add_api_token("program", "ann", scope, days)


def test_wrong_tokens_have_to_wait_and_right_ones_never(visitor, people):
    right = bearer(people.add_api_token("program", "ann", "read"))
    statuses = [visitor.get("/api/status", headers=bearer("wrong")).status_code for _ in range(30)]
    assert statuses[0] == 401 and statuses[-1] == 429
    assert visitor.get("/api/session", headers=right).status_code == 200


def test_a_session_is_no_way_around_the_scope(sign_in, project):
    person = sign_in("eve", "admin")
    token = project.people.add_api_token("program", "eve", "read")
    reply = person.client.post("/api/ask", json={}, headers=bearer(token) | {"x-csrf-token": "none"})
    assert reply.status_code == 403


def test_a_project_without_users_takes_tokens_on_this_machine_alone(project):
    token = project.people.add_api_token("script", "me", "answer")
    alone = TestClient(create_app(project, local_user="me"), base_url="http://127.0.0.1:8000")
    assert alone.get("/api/session", headers=bearer(token)).json()["who"] == "me"
    others = TestClient(create_app(project), base_url="http://127.0.0.1:8000")
    assert others.get("/api/session", headers=bearer(token)).status_code == 401


def test_the_command_makes_tokens(project, people):
    def run(*words):
        return CliRunner().invoke(command, ["user", "token", project.store.location, "nightly", *words])

    token = run("--as", "ann", "--scope", "answer", "--days", "7").stdout.strip()
    assert people.user_of_token(token).scope == "answer"
    assert run("--scope", "read").exit_code == 2
    assert run("--remove").exit_code == 0 and people.user_of_token(token) is None


# -- the client --------------------------------------------------------------------------------------------------------


def test_the_client_asks_answers_skips_and_undoes(address, project, people):
    with Client(address, people.add_api_token("program", "ann", "answer")) as client:
        assert client.who() == ("ann", "annotator")
        question = client.ask()[0]
        assert set(question.labels) <= set(project.label_names()) and question.expires_at > time.time()
        assert client.ask()[0].lease == question.lease
        name = next(iter(question.labels))
        saved = client.answer(question, {name: True}, seconds=3.5)
        event = project.events()[-1]
        assert (event.who, event.item, event.values[name]) == ("ann", question.item, True)
        assert 0 < event.timing.seconds <= 3.5  # no longer than it was out
        assert client.undo(saved).item == question.item
        assert project.events()[-1].kind == "undo"
        assert client.skip(client.ask()[0]).event > saved.event
        assert [label.name for label in client.labels()] == project.label_names()
        assert client.status()["items"] == 40
        assert "labelwise_answers 0" in client.metrics()


def test_the_client_says_what_the_server_refused(address, people, monkeypatch):
    client = Client(address, people.add_api_token("program", "ann", "read"))
    with pytest.raises(ClientError, match="may only read") as refused:
        client.ask()
    assert refused.value.status == 403
    with pytest.raises(ClientError, match="show a token"):
        Client(address, "wrong").who()
    with pytest.raises(ClientError, match="items: "):
        Client(address, people.add_api_token("other", "ann", "answer")).ask(99)
    monkeypatch.delenv("LABELWISE_TOKEN", raising=False)
    with pytest.raises(ValueError, match="LABELWISE_TOKEN"):
        Client(address)


def test_figures_are_read_while_twenty_people_label(address, project):
    for number in range(20):
        project.people.add(f"p{number}")
    tokens = [project.people.add_api_token(f"t{number}", f"p{number}", "answer") for number in range(20)]

    def label(token: str) -> float:
        with Client(address, token) as client:
            for question in client.ask():  # as long as there are some: not everybody gets one
                client.answer(question, {next(iter(question.labels)): True})
            return figures(client.metrics())["labelwise_answers"]

    with ThreadPoolExecutor(20) as pool:
        seen = list(pool.map(label, tokens))
    given = sum(event.kind == "answer" and event.who.startswith("p") for event in project.events())
    assert max(seen) == given >= 10
