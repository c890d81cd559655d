"""Asking a language model, against a fake server on this machine: limits, failures, and going on where it stopped."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from labelwise.data import read_opinions
from labelwise.labelling.exchange.language_model import LanguageModel, ask_language_model, estimated_tokens

TEXTS = {f"t{i}": f"a text about {'football' if i % 2 else 'voting'} no. {i}" for i in range(6)}
LABELS = [{"name": "football", "description": "ball games"}, {"name": "voting"}]


class FakeServer:
    """Answers with the labels whose names are in the text; `faults` are sent before, one at a time."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict, dict]] = []
        self.faults: list[tuple[int, bytes, dict]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                fake.requests.append((dict(self.headers), body))
                status, reply, headers = fake.faults.pop(0) if fake.faults else (200, fake.reply(body), {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_port}/v1"

    def reply(self, body) -> bytes:
        text = body["messages"][1]["content"]
        said = [name for name in ("football", "voting") if name in text] + ["made up"]
        content = json.dumps({"labels": said})
        return json.dumps({"choices": [{"message": {"content": content}}], "usage": {"total_tokens": 100}}).encode()


@pytest.fixture
def fake():
    server = FakeServer()
    yield server
    server.http.shutdown()
    server.http.server_close()


def test_every_text_is_asked_once_and_the_file_is_read_as_opinions(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    out, waited = tmp_path / "gpt.jsonl", []
    server = LanguageModel(fake.address, "small", key_variable="MY_KEY", per_minute=120)
    done = ask_language_model(TEXTS, LABELS, out, server, wait=waited.append)
    assert (done.answered, done.before, done.failed, done.tokens, done.finished) == (6, 0, (), 600, True)
    said = read_opinions(out, "gpt").scores
    assert said["t0"] == ("voting",) and said["t1"] == ("football",), "labels that are made up are left out"
    assert waited == [0.5] * 5
    headers, body = fake.requests[0]
    assert headers["Authorization"] == "Bearer secret" and body["model"] == "small"
    assert "- football: ball games\n- voting" in body["messages"][0]["content"]
    assert "secret" not in json.dumps(body) and "secret" not in out.read_text()
    again = ask_language_model(TEXTS, LABELS, out, server, wait=waited.append)
    assert (again.answered, again.before, len(fake.requests)) == (0, 6, 6)


def test_it_stops_at_its_limit_and_goes_on_from_there(fake, tmp_path):
    out = tmp_path / "gpt.jsonl"
    server = LanguageModel(fake.address, "small", per_minute=1e9, most_tokens=250)
    done = ask_language_model(TEXTS, LABELS, out, server)
    assert (done.answered, done.tokens, done.finished) == (3, 300, False)
    with open(out, "a", encoding="utf-8") as file:
        file.write('{"item": "t3", "la')  # torn by a crash
    rest = ask_language_model(TEXTS, LABELS, out, LanguageModel(fake.address, "small", per_minute=1e9))
    assert (rest.answered, rest.before, rest.finished) == (3, 3, True)
    assert len(read_opinions(out, "gpt").items) == 6
    assert "Authorization" not in fake.requests[0][0], "no key, none sent"


def test_a_busy_server_is_asked_again_as_it_wishes_and_nonsense_is_left_out(fake, tmp_path):
    nonsense = json.dumps({"choices": [{"message": {"content": "I think football"}}]}).encode()
    fake.faults = [
        (429, b"slow down", {"retry-after": "7"}),
        (503, b"", {}),
        (200, b"no json", {}),
        (200, nonsense, {}),
    ]
    waited = []
    done = ask_language_model(
        TEXTS, LABELS, tmp_path / "gpt.jsonl", LanguageModel(fake.address, "small", per_minute=6e9), wait=waited.append
    )
    assert done.failed == ("t0",) and done.answered == 5
    assert waited[:3] == [7.0, 2.0, 4.0]


def test_what_cannot_be_mended_is_told_and_what_was_answered_stays(fake, tmp_path):
    out = tmp_path / "gpt.jsonl"
    server = LanguageModel(fake.address, "small", per_minute=1e9)
    ask_language_model({"t0": TEXTS["t0"]}, LABELS, out, server)
    fake.faults = [(401, b"wrong key", {})]
    with pytest.raises(RuntimeError, match="answered 401: wrong key"):
        ask_language_model(TEXTS, LABELS, out, server)
    assert read_opinions(out, "gpt").items == ("t0",)
    fake.faults = [(500, b"broken", {})] * 6
    with pytest.raises(RuntimeError, match="answered 500: broken"):
        ask_language_model(TEXTS, LABELS, out, server, wait=lambda seconds: None)
    fake.http.shutdown()
    fake.http.server_close()
    with pytest.raises(RuntimeError, match="cannot be asked"):
        ask_language_model(TEXTS, LABELS, out, server, wait=lambda seconds: None)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"address": "ftp://x"}, "http:// or https://"),
        ({"per_minute": 0}, "positive, got 0"),
        ({"most_tokens": 0}, "1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, error):
    with pytest.raises(ValueError, match=error):
        LanguageModel(**{"address": "http://localhost", "model": "m"} | wrong)


def test_the_estimate_grows_with_texts_and_labels():
    assert estimated_tokens(TEXTS, LABELS) > estimated_tokens(TEXTS, ["voting"]) > 6 * 30
