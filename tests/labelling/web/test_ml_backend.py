"""The backend as Label Studio calls it: who may, what comes back, and that no request breaks it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelling.web.site_client import BASE, TestClient
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.exchange.label_studio_predictions import version_of, version_prefix
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.web import ml_backend
from labelwise.labelling.web.server import create_app

WORDS = ["apple", "car", "ball", "wall", "road"]
CONFIG = (
    '<View><Choices name="topic" toName="text" choice="multiple">'
    '<Choice value="red"/><Choice value="round"/></Choices></View>'
)
CHANCE = np.random.default_rng(0)
TEXTS = [" ".join([*CHANCE.choice(WORDS, size=4), f"n{i}"]) for i in range(30)]  # of the items, which are 0 to 29
MADE_UP = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


class LabelStudio:
    """Label Studio with a token."""

    def __init__(self, app, token: str = "", address: str = "10.0.0.2") -> None:
        self.client = TestClient(app, base_url=BASE, client=(address, 5000), raise_server_exceptions=False)
        self.headers = {"authorization": f"Token {token}"} if token else {}

    def post(self, path: str, body=None, **options):
        return self.client.post(f"/label-studio/{path}", json=body, headers=self.headers, **options)

    def get(self, path: str):
        return self.client.get(f"/label-studio/{path}", headers=self.headers)


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    path, texts = tmp_path_factory.mktemp("backend") / "filled.db", TEXTS
    data = LabelData.from_arrays(
        np.zeros((30, 1)),
        label_names=["red", "round"],
        item_ids=[str(i) for i in range(30)],
        items=[{"text": text} for text in texts],
    )
    with Project.create(path, data, text="text", control=0, model="label_gp") as project:
        for i in range(15):
            project.tell(Answer(str(i), {"red": "apple" in texts[i], "round": "ball" in texts[i]}), who="ann")
        project.refresh()
    return path


@pytest.fixture
def project(copied) -> Project:
    return copied


@pytest.fixture
def studio(project) -> LabelStudio:
    return LabelStudio(create_app(project), project.people.add_token("label-studio"))


def annotated(number: int = 1, item: int = 20, choices=("red",), at: str = "2024-05-01T10:00:00Z") -> dict:
    result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}]
    annotation = {"id": number, "completed_by": 3, "created_at": at, "updated_at": at, "result": result}
    project = {"id": 1, "label_config": CONFIG}
    return {
        "action": "ANNOTATION_CREATED",
        "annotation": annotation,
        "task": {"id": 1000 + item, "data": {"text": TEXTS[item]}},
        "project": project,
    }


# -- what comes back ---------------------------------------------------------------------------------------------------


def test_it_is_up_and_has_a_version_that_changes_with_each_training(studio, project):
    assert studio.get("health").json()["status"] == "UP"
    assert studio.get("").status_code == 200
    first = studio.post("setup", {"project": "1.5", "schema": CONFIG}).json()["model_version"]
    assert first == studio.post("setup", {}).json()["model_version"]
    studio.post("webhook", annotated())
    project.refresh()
    assert studio.post("setup", {}).json()["model_version"] != first


def test_predictions_come_in_order_with_scores_and_the_version(studio, project):
    tasks = [{"id": 7 * i, "data": {"text": TEXTS[i]}} for i in (25, 3, 29)] + [
        {"id": 999, "data": {"text": "apple apple ball"}}
    ]
    reply = studio.post("predict", {"tasks": tasks, "label_config": CONFIG, "project": "1.5", "params": {}}).json()
    assert reply["model_version"] == studio.post("setup", {}).json()["model_version"]
    assert len(reply["results"]) == 4
    assert {each["model_version"] for each in reply["results"]} == {reply["model_version"]}
    assert reply["results"][1]["score"] == 1.0, "nothing is open there"
    new = reply["results"][3]["result"][0]
    assert (new["from_name"], new["to_name"], new["type"]) == ("topic", "text", "choices")
    assert new["value"]["choices"] == ["red", "round"], "a task that is no item is believed by the model"


@pytest.mark.parametrize("attribute", ["", ' choice="single"', ' choice="single-radio"'])
def test_where_one_may_be_chosen_the_most_probable_is(studio, attribute):
    config = CONFIG.replace(' choice="multiple"', attribute)
    tasks = [{"id": 9, "data": {"text": "apple apple ball"}}, {"id": 10, "data": {"text": TEXTS[3]}}]
    many, single = (
        studio.post("predict", {"tasks": tasks, "label_config": c}).json()["results"] for c in (CONFIG, config)
    )
    assert many[0]["result"][0]["value"]["choices"] == ["red", "round"]
    assert len(single[0]["result"][0]["value"]["choices"]) == 1
    known = [each["result"][0]["value"]["choices"] if each["result"] else [] for each in (many[1], single[1])]
    assert known[1] == known[0][:1], "what is answered stands, and nothing is chosen where every label is absent"


def test_the_version_follows_training_and_beliefs(studio, project):
    browser = Browser(project)
    first = version_of(browser)
    assert first == studio.post("setup", {}).json()["model_version"]
    assert studio.get("versions").json() == {"versions": [first]}
    assert first.startswith(version_prefix(project)) and first.endswith(f"-{project.events()[-1].id}")
    project.tell(Answer("20", {"red": True}), who="ann")
    assert version_of(browser) == first
    project.refresh()
    assert version_of(browser) not in (first, "")


def test_tasks_ordered_by_score_are_our_questions(studio, project):
    tasks = [{"id": 100 - i, "data": {"text": TEXTS[i]}} for i in range(30)]
    results = studio.post("predict", {"tasks": tasks}).json()["results"]
    lowest = sorted(range(30), key=lambda i: results[i]["score"])
    asked = [int(lease.question.item) for lease in project.service.ask("bob", 15)]
    assert lowest[:15] == asked


def test_without_a_model_strangers_are_not_believed(make):
    project = make()
    studio = LabelStudio(create_app(project), project.people.add_token("ls"))
    reply = studio.post("predict", {"tasks": [{"id": "p1"}, {"id": "x", "data": {"text": "y"}}, 7, None]})
    assert reply.status_code == 200
    assert [each["result"] for each in reply.json()["results"]] == [[], [], [], []]


def test_an_annotation_is_an_answer_once(studio, project):
    first = studio.post("webhook", annotated()).json()
    event = project.events()[-1]
    assert first["event"] == event.id and dict(event.values) == {"red": True, "round": False}
    assert studio.post("webhook", annotated()).json() == {**first, "repeated": True}
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}], "project": {"id": 1}}
    assert studio.post("webhook", gone).json()["taken_back"] == 1
    assert [e.kind for e in project.events()][-2:] == ["answer", "undo"]


def test_the_worker_learns_from_annotations(studio, project):
    before = project.campaign().believe().probabilities()[20:]
    for i in range(20, 30):
        studio.post("webhook", annotated(number=i, item=i, choices=["round"]))
    project.refresh()
    assert project.campaign().believe().probabilities()[20:, 1].mean() > before[:, 1].mean()


# -- who may -----------------------------------------------------------------------------------------------------------

CALLS = {"setup": {}, "predict": {"tasks": []}, "webhook": annotated()}


@pytest.mark.parametrize("path", CALLS)
@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_its_token_nobody_is_answered(project, path, token):
    before = project.events()
    reply = LabelStudio(create_app(project), token).post(path, CALLS[path])
    assert reply.status_code == 401 and reply.headers["www-authenticate"].startswith("Basic")
    assert LabelStudio(create_app(project), token).get("health").status_code == 401
    assert project.events() == before


def test_the_token_is_taken_in_three_ways(project):
    token = project.people.add_token("ls")
    app = create_app(project)
    basic = base64.b64encode(f"anybody:{token}".encode()).decode()
    for said in (f"Token {token}", f"Bearer {token}", f"Basic {basic}"):
        studio = LabelStudio(app)
        studio.headers = {"authorization": said}
        assert studio.get("health").status_code == 200
    for said in ("Basic", "Basic %%%", "Basic " + base64.b64encode(b"\xff\xfe").decode(), "Digest x", "Token"):
        studio.headers = {"authorization": said}
        assert studio.get("health").status_code == 401


def test_a_new_token_ends_the_old_one_and_a_removed_one_is_refused(project):
    old = project.people.add_token("ls")
    new = project.people.add_token("ls")
    app = create_app(project)
    assert LabelStudio(app, old).get("health").status_code == 401
    assert LabelStudio(app, new).get("health").status_code == 200
    project.people.remove_token("ls")
    assert LabelStudio(app, new).get("health").status_code == 401


def test_wrong_tokens_are_limited_and_the_right_one_never_waits(project):
    right = project.people.add_token("ls")
    app = create_app(project)
    codes = [LabelStudio(app, f"wrong {i}").get("health").status_code for i in range(30)]
    assert codes == [401] * 10 + [429] * 20
    for address in ("10.0.0.2", "10.0.0.9"):
        assert LabelStudio(app, right, address=address).get("health").status_code == 200


def test_one_stale_token_is_limited_wherever_it_comes_from(project):
    app = create_app(project)
    codes = [LabelStudio(app, "stale", address=f"10.0.1.{i}").get("health").status_code for i in range(15)]
    assert codes == [401] * 10 + [429] * 5
    assert LabelStudio(app, "other", address="10.0.1.3").get("health").status_code == 401


def test_one_account_is_limited_wherever_it_comes_from(project):
    app = create_app(project)

    def code(i: int, account: str) -> int:
        studio = LabelStudio(app, address=f"10.0.2.{i}")
        studio.headers = {"authorization": f"Basic {base64.b64encode(f'{account}:{i:06} guess'.encode()).decode()}"}
        return studio.get("health").status_code

    assert [code(i, "ls") for i in range(12)] == [401] * 10 + [429] * 2
    assert code(99, "other") == 401


def test_wrong_links_do_not_keep_label_studio_waiting(project):
    from labelling.web.site_client import Person

    app = create_app(project)
    guesser = Person(app, address="10.0.0.2")
    codes = [guesser.client.post("/enter", data={"secret": f"guess {i}"}).status_code for i in range(12)]
    assert codes[-1] == 429
    assert LabelStudio(app, "wrong").get("health").status_code == 401, "tokens have a limit of their own"
    assert LabelStudio(app, project.people.add_token("ls")).get("health").status_code == 200


def test_a_session_is_no_token(project):
    from labelling.web.site_client import Person

    person = Person(create_app(project))
    person.enter(project.people.add("eve", "admin"))
    assert person.client.post("/label-studio/webhook", json=annotated()).status_code == 401


# -- whatever is sent --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"\xff\xfe",
        b'{"tasks": "x"}',
        b'{"tasks": {}}',
        b'{"a": "\\ud800"}',
        b'{"a": "\\\\\\u0000"}',
        b'{"a": "\\u0000"}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
@pytest.mark.parametrize("path", ["setup", "predict", "webhook"])
def test_what_is_no_request_is_told(studio, project, path, data):
    before = project.events()
    reply = studio.client.post(f"/label-studio/{path}", content=data, headers=studio.headers)
    assert reply.status_code in ((200, 400) if data.startswith(b'{"tasks"') else (400,))
    assert project.events() == before


def test_a_backslash_before_u0000_is_only_text(studio):
    assert (
        studio.client.post("/label-studio/setup", content=b'{"a": "\\\\u0000"}', headers=studio.headers).status_code
        == 200
    )


def test_a_large_body_is_refused(studio, monkeypatch):
    monkeypatch.setattr(ml_backend, "LARGEST", 1000)
    assert studio.post("webhook", {"x": "y" * 2000}).status_code == 413
    assert studio.post("setup", {"x": "y" * 500}).status_code == 200


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_no_body_breaks_it(studio):
    keys = st.sampled_from(["action", "annotation", "annotations", "task", "tasks", "project", "label_config"])
    actions = st.sampled_from(["ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED"])

    @MADE_UP
    @given(st.dictionaries(keys, ANYTHING), st.none() | actions, st.sampled_from(["setup", "predict", "webhook"]))
    def send(body, action, path):
        body |= {} if action is None else {"action": action}
        reply = studio.client.post(
            f"/label-studio/{path}", content=json.dumps(body, ensure_ascii=True), headers=studio.headers
        )
        assert reply.status_code in (200, 400), (path, body, reply.text)

    send()


def test_no_part_of_an_annotation_breaks_it(studio):
    """A good webhook with one part of it replaced by anything."""
    places = [
        (key, inner)
        for key in ("annotation", "task", "project")
        for inner in (None, "id", "result", "completed_by", "updated_at", "data", "meta", "label_config")
    ]

    @MADE_UP
    @given(st.sampled_from(places), ANYTHING)
    def send(place, value):
        body = annotated()
        if place[1] is None:
            body[place[0]] = value
        else:
            body[place[0]] = {**body[place[0]], place[1]: value}
        reply = studio.client.post("/label-studio/webhook", content=json.dumps(body), headers=studio.headers)
        assert reply.status_code in (200, 400), (body, reply.text)

    send()


@pytest.mark.slow
def test_requests_made_up_from_the_description_do_not_break_it(studio):
    schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis, a test dependency")
    seen: set[tuple[str, int]] = set()

    def send(case) -> None:
        case.headers = {**(case.headers or {}), **studio.headers, "host": "127.0.0.1:8000"}
        response = case.call()
        seen.add((case.operation.path, response.status_code))
        assert response.status_code in (200, 400), f"{case.operation.path}: {response.text}"
        if response.status_code == 200:
            case.validate_response(response)

    description = schemathesis.openapi.from_asgi("/api/openapi.json", studio.client.app)
    for operation in description.get_all_operations():
        if operation.ok().path.startswith("/label-studio"):
            MADE_UP(given(case=operation.ok().as_strategy())(send))()
    assert {path for path, status in seen if status == 200} >= {"/label-studio/health", "/label-studio/setup"}


def test_a_box_for_suggestions_is_filled_with_likely_labels_and_why(tmp_path):
    """From the first task on: names need no answer. What is asked at random is not told."""
    texts = ["the goal of the football match", "a minister lost the vote", "football and a goal", "the party vote"] * 5
    data = LabelData.from_arrays(
        np.zeros((20, 1)),
        label_names=["football", "voting"],
        items=[{"text": f"{each} {i}"} for i, each in enumerate(texts)],
    )
    box = CONFIG.replace("<View>", '<View><TextArea name="suggestions" toName="text"/>')
    with Project.create(tmp_path / "box.db", data, text="text", start=0, control=0, strategy="uncertainty") as made:
        made.refresh()
        studio = LabelStudio(create_app(made), made.people.add_token("studio"))
        tasks = [{"data": {"text": f"{texts[0]} 0"}}, {"data": {"text": f"{texts[1]} 1"}}]
        results = studio.post("predict", {"tasks": tasks, "label_config": box}).json()["results"]
        lines = [
            result["value"]["text"] for each in results for result in each["result"] if result["type"] == "textarea"
        ]
        assert [line[0].split(" ")[0] for line in lines] == ["football", "voting"]
        assert all("%, by its name: " in line[0] for line in lines)
        without = studio.post("predict", {"tasks": tasks, "label_config": CONFIG}).json()["results"]
        assert all(result["type"] != "textarea" for each in without for result in each["result"])
