"""What somebody without a session can make the server do: next to nothing, and it does not take long."""

from __future__ import annotations

import asyncio
import base64
import io
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
import uvicorn

from labelling.web.browsing import free_port
from labelling.web.site_client import Person
from labelwise import LabelData
from labelwise.labelling.items import pictures
from labelwise.labelling.store.schema import sessions
from labelwise.labelling.web import middleware, server
from labelwise.labelling.web.middleware import BehindProxy, CheckHost
from labelwise.labelling.web.reach import Reach, local_secret
from labelwise.labelling.web.server import Connections, create_app

MIB = 2**20


def count_sessions(project: Any) -> int:
    with project.store.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(sessions)).scalar_one())


# -- bodies ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def page(sign_in) -> Any:
    """The application of a project with users."""
    return sign_in("ann").app


def call(app: Any, path: str, *headers: tuple[bytes, bytes], host: bool = True) -> tuple[Any, int]:
    """A request with an endless body: the start of the reply, and how many bytes of it were taken."""
    sent: list[Any] = []
    taken = 0

    async def receive() -> Any:
        nonlocal taken
        taken += MIB // 64
        assert taken < 50 * MIB, "it reads on and on"
        return {"type": "http.request", "body": b"x" * (MIB // 64), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "scheme": "http", "root_path": ""}
    asyncio.run(
        app({**scope, "client": ("10.0.0.1", 1), "headers": [*[(b"host", b"x")] * host, *headers]}, receive, send)
    )
    return sent[0], taken


@pytest.mark.parametrize(
    "path", ["/enter", "/api/answer", "/browse/item", "/label-studio/webhook", "/nothing", "/leave"]
)
@pytest.mark.parametrize("kind", [b"application/json", b"multipart/form-data; boundary=x", b"text/plain"])
@pytest.mark.parametrize("length", [(b"content-length", b"400000000"), (b"transfer-encoding", b"chunked")])
def test_what_a_stranger_sends_is_not_read(page, path, kind, length):
    token = (b"authorization", b"Token wrong")
    cookie = (b"cookie", f"{page.state.site.cookie}=wrong".encode())
    start, taken = call(page, path, (b"content-type", kind), length, token, cookie)
    assert start["status"] in (303, 401, 413) and (b"connection", b"close") in start["headers"]
    assert taken <= (MIB // 32 if path == "/enter" and length[0] != b"content-length" else 0)


def test_the_body_of_a_program_is_read_up_to_its_limit(page, project):
    token = (b"authorization", f"Token {project.people.add_token('ls')}".encode())
    start, taken = call(page, "/label-studio/webhook", (b"transfer-encoding", b"chunked"), token)
    assert start["status"] == 413 and 10 * MIB < taken < 11 * MIB


def test_a_large_body_is_told_in_plain_words(page, project):
    reply = Person(page).client.post("/enter", data={"secret": "x" * 20_000})
    assert (
        reply.status_code == 413
        and reply.json()["detail"] == "the request is too large: at most 16384 bytes are taken here"
    )
    ann = Person(page)
    ann.enter(project.people.link("ann"))
    assert ann.post("/api/skip", {"lease": "a" * 2 * MIB}).status_code == 413
    assert ann.post("/api/skip", {"lease": "a" * (MIB // 2)}).status_code == 422
    assert ann.post("/api/answer", {"lease": "a", "values": {"x" * (2 * MIB): True}}).status_code == 422


def test_a_body_without_its_length_is_cut_off_where_it_is_too_long(page, project):
    ann = Person(page)
    ann.enter(project.people.link("ann"))

    def pieces() -> Iterator[bytes]:
        for _ in range(8):
            yield b"x" * (MIB // 4)

    headers = {"x-csrf-token": ann.csrf, "content-type": "application/json"}
    assert ann.client.post("/api/skip", content=pieces(), headers=headers).status_code == 413


def test_a_request_that_only_looks_has_no_body(page):
    assert Person(page).client.request("GET", "/enter", content=b"x").status_code == 413


# -- sessions ----------------------------------------------------------------------------------------------------------


def test_looking_begins_no_session(project):
    app = create_app(project, local_user="me")
    visitor = Person(app)
    for path in ("/", "/enter", "/label", f"/local/{app.state.site.local_secret}", "/local/wrong", "/browse"):
        reply = visitor.get(path)  # follows where it is led to, and comes to an end
        assert reply.status_code == 200 and reply.url.path.startswith(("/enter", "/local"))
    assert count_sessions(project) == 0 and not visitor.client.cookies


def test_another_account_of_the_machine_is_not_let_in(project):
    app = create_app(project, local_user="me")
    other = Person(app)
    assert other.get("/api/session").status_code == 401
    page = other.get("/").text
    assert "labelwise serve" in page and app.state.site.local_secret not in page
    assert other.enter("a guess").status_code == 403 and count_sessions(project) == 0
    assert other.client.post("/enter", data={"secret": app.state.site.local_secret}, headers={"origin": "http://evil"})
    assert count_sessions(project) == 0


def test_the_printed_address_is_exchanged_for_a_session_once(project):
    app = create_app(project, local_user="me")
    me, link = Person(app), f"/local/{app.state.site.local_secret}"
    page = me.get(link)
    assert "/static/enter.js" in page.text and "Begin" in page.text  # sends itself; a button where there is no script
    me.enter()
    assert me.get("/api/session").json()["who"] == "me"
    assert me.get(link).url.path == "/label" and count_sessions(project) == 1
    again = Person(create_app(project, local_user="me"))  # the server was started again
    again.client.cookies.update(dict(me.client.cookies))
    again.csrf = me.csrf
    assert again.post("/api/ask").status_code == 200


def test_with_users_the_printed_address_leads_to_the_door(project):
    app = create_app(project, local_user="me")
    project.people.add("ann")
    assert Person(app).get(f"/local/{app.state.site.local_secret}").url.path == "/enter"
    assert Person(app).enter().status_code == 403


def test_the_secret_stays_and_only_its_owner_can_read_it(tmp_path):
    secret = local_secret(tmp_path / "p.db.derived")
    assert len(secret) >= 32 and secret == local_secret(tmp_path / "p.db.derived")
    path = tmp_path / "p.db.derived" / "local-secret"
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o644)  # others could have read it
    assert local_secret(tmp_path / "p.db.derived") != secret and path.stat().st_mode & 0o077 == 0


# -- names and proxies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost:1@evil.com", "evil.com", "127.0.0.1.evil.com", "localhost:80:80", "", "a b"]
)
def test_other_hosts_are_not_answered(project, host):
    person = Person(create_app(project, local_user="me"))
    assert person.get("/enter", headers={"host": host}).status_code == 400
    assert person.get("/enter", headers={"host": "LOCALHOST:9"}).status_code == 200


@pytest.mark.parametrize("host", ["x/static?", "x/enter?", "x y", "@"])
def test_a_host_header_does_not_change_where_a_request_goes(page, host):
    cookie = (b"cookie", b"any=thing")
    length = (b"content-length", b"100")
    headers = [(b"host", host.encode()), length, cookie]
    start, taken = call(page, "/api/skip", *headers, host=False)
    assert start["status"] == 400 and taken == 0
    guarded, page.user_middleware = page.user_middleware, [m for m in page.user_middleware if m.cls is not CheckHost]
    page.middleware_stack = None
    start, taken = call(page, "/api/skip", *headers, host=False)  # the second guard holds without the first
    page.user_middleware = guarded
    assert start["status"] == 401 and taken == 0


PROXIED = Reach.read("127.0.0.1", ("label.example.org",), ("10.9.9.9",))


def test_a_proxy_may_give_the_page_a_name(project):
    secret = project.people.add("ann")
    app = create_app(project, reach=PROXIED)
    assert Person(app, base="https://other.example.org").get("/enter").status_code == 400
    rewritten = Person(app, base="http://127.0.0.1:8000")  # a proxy that puts its own host in, and is not named
    told = {"origin": "https://label.example.org"}
    reply = rewritten.client.post("/enter", data={"secret": secret}, headers=told, follow_redirects=False)
    assert reply.status_code == 303 and "secure" in reply.headers["set-cookie"].lower()
    told = {"origin": "https://evil.example.org"}
    assert rewritten.client.post("/enter", data={"secret": secret}, headers=told).status_code == 403


def test_forwarded_headers_are_believed_of_named_proxies_only(project):
    seen = []

    async def note(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["client"][0], scope["scheme"], dict(scope["headers"]).get(b"host")))

    told = [
        (b"host", b"127.0.0.1:8000"),
        (b"x-forwarded-for", b"1.1.1.1, 6.6.6.6, 10.9.9.9"),
        (b"x-forwarded-proto", b"https"),
        (b"x-forwarded-host", b"label.example.org"),
    ]
    for address in ("10.9.9.9", "127.0.0.1", "10.0.0.1"):
        scope = {"type": "http", "client": (address, 1), "scheme": "http", "headers": told}
        asyncio.run(BehindProxy(note, PROXIED)(scope, None, None))
    assert seen == [
        ("6.6.6.6", "https", b"label.example.org"),
        ("127.0.0.1", "http", b"127.0.0.1:8000"),
        ("10.0.0.1", "http", b"127.0.0.1:8000"),
    ]
    assert server.server_config(create_app(project), PROXIED, 8000).proxy_headers is False


def test_sign_out_is_shown_to_users_also_on_this_machine(project):
    app = create_app(project, local_user="me")
    alone = Person(app)
    assert "Sign out" not in alone.enter().text
    ann = Person(app)
    assert "Sign out" in ann.enter(project.people.add("ann")).text


@pytest.mark.parametrize("options", [{"allow_hosts": ("label.example.org",)}, {"proxies": ("127.0.0.1",)}])
def test_behind_a_proxy_a_project_needs_users(project, options):
    with pytest.raises(server.ProjectError, match="Add users first"):
        server.check_reach(project, Reach.read("127.0.0.1", **options))
    project.people.add("ann")
    server.check_reach(project, Reach.read("127.0.0.1", **options))


@pytest.mark.parametrize(
    "options", [{"allow_hosts": ("https://x",)}, {"allow_hosts": ("x:8",)}, {"proxies": ("nginx",)}]
)
def test_options_that_are_no_names_are_told(options):
    with pytest.raises(server.ProjectError, match=r"--allow-host takes a name|--behind-proxy takes an address"):
        Reach.read("127.0.0.1", **options)


# -- connections -------------------------------------------------------------------------------------------------------


@contextmanager
def listening(app: Any, **limits: int) -> Iterator[tuple[str, int]]:
    port = free_port()
    config = server.server_config(app, Reach(), port)
    config.http = Connections(Reach(), **limits).protocol
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield "127.0.0.1", port
    finally:
        running.should_exit = True
        thread.join()


def status_of(place: tuple[str, int], source: str = "127.0.0.1") -> int:
    with socket.create_connection(place, timeout=10, source_address=(source, 0)) as line:
        line.sendall(b"GET /enter HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        return int(line.recv(100).split()[1])


def is_closed(line: socket.socket) -> bool:
    line.settimeout(0.2)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


HALF = b"GET /enter HTTP/1.1\r\nhost: 127.0.0.1\r\n"


@pytest.mark.parametrize("said", [b"", HALF, b"POST /enter HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nsecret"])
@pytest.mark.slow
def test_half_requests_make_room_for_whole_ones(page, said):
    with listening(page, most=20, per_address=100) as place:
        lines = [socket.create_connection(place) for _ in range(60)]
        for line in lines:
            line.sendall(said)
        time.sleep(0.3)
        assert [status_of(place) for _ in range(5)] == [200] * 5
        assert sum(map(is_closed, lines[:30])) == 30 and not is_closed(lines[-1]), "the oldest go first"
        for line in lines:
            line.close()


@pytest.mark.slow
def test_slow_bodies_do_not_keep_newcomers_out(page):
    with listening(page, most=300, per_address=300) as place:
        lines = [socket.create_connection(place) for _ in range(middleware.ANONYMOUS_WAITING + 20)]
        for line in lines:
            line.sendall(b"POST /enter HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nsecret")
        time.sleep(0.3)
        assert status_of(place) == 200
        for line in lines:
            line.close()


@pytest.mark.slow
def test_one_address_cannot_have_all_connections(page):
    with listening(page, most=40, per_address=10) as place:
        ours = [socket.create_connection(place, source_address=("127.0.0.3", 0)) for _ in range(5)]
        theirs = [socket.create_connection(place, source_address=("127.0.0.2", 0)) for _ in range(60)]
        for line in (*ours, *theirs):
            line.sendall(HALF)
        time.sleep(0.3)
        assert status_of(place, "127.0.0.3") == 200
        assert not any(map(is_closed, ours)) and sum(map(is_closed, theirs)) >= 50
        for line in (*ours, *theirs):
            line.close()


def test_half_a_head_is_waited_for_a_few_seconds_only(page, monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(server, "SWEEP_SECONDS", 0.1)
    with listening(page) as place, socket.create_connection(place) as line:
        line.sendall(b"GET /enter HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        line.settimeout(10)
        assert b"200 OK" in line.recv(100_000)
        time.sleep(0.7)
        began = time.monotonic()
        while time.monotonic() < began + 5 and not is_closed(line):  # a byte now and then does not help
            try:
                line.sendall(b"G" if time.monotonic() - began < 0.1 else b"E")
            except OSError:
                break
        assert time.monotonic() - began < 3


def test_requests_are_not_piled_up(page):
    with listening(page) as place, socket.create_connection(place, timeout=10) as line:
        line.sendall(b"GET /enter HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 50)
        replies = b"".join(iter(lambda: line.recv(10_000), b""))
        assert replies.count(b"HTTP/1.1 200 OK") == 1


def test_half_a_body_is_waited_for_a_few_seconds_only(page, monkeypatch):
    monkeypatch.setattr(middleware, "ANONYMOUS_SECONDS", 0.5)
    with listening(page) as place, socket.create_connection(place) as line:
        head = b"POST /enter HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-www-form-urlencoded\r\n"
        line.sendall(head + b"content-length: 100\r\n\r\nsecret=")
        line.settimeout(10)
        reply = b"".join(iter(lambda: line.recv(10_000), b""))  # until it is closed
        assert reply.startswith(b"HTTP/1.1 408") and b"did not come in within 0.5 s" in reply


def test_there_are_fewer_connections_than_files(monkeypatch):
    resource = pytest.importorskip("resource", reason="needs a system with limits on open files")
    for soft, most in ((1024, 400), (256, 28), (20_000, 400), (resource.RLIM_INFINITY, 400), (100, 20)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert server.most_open() == most


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_one_picture_is_converted_at_a_time_and_waiting_for_it_takes_no_thread(make, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    contents = []
    for i in range(80):
        out = io.BytesIO()
        image.new("L", (i + 1, 2)).save(out, "tiff")
        contents.append(f"data:image/tiff;base64,{base64.b64encode(out.getvalue()).decode()}")
    data = LabelData.from_arrays(
        np.zeros((80, 1)), label_names=["a"], item_ids=list(map(str, range(80))), items=contents
    )
    running, most, go_on = [], [], threading.Event()

    def convert(data: bytes) -> bytes:
        running.append(1)
        most.append(len(running))
        go_on.wait(60)
        running.pop()
        return b"png"

    monkeypatch.setattr(pictures, "_converted", convert)
    person = Person(create_app(make(data=data), local_user="me"))
    person.enter()
    with listening(person.app) as (_, port):
        cookie = "; ".join(f"{name}={value}" for name, value in person.client.cookies.items())

        def get(path: str) -> int:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
                head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
                line.sendall(head.encode())
                return int(line.recv(100).split()[1])

        with ThreadPoolExecutor(81) as pool:
            asked = [pool.submit(get, f"/pictures/{i}") for i in range(80)]
            time.sleep(1.0)
            assert get("/api/session") == 200, "it waits for no picture"
            assert not any(each.done() for each in asked)
            go_on.set()
            assert [each.result() for each in asked] == [200] * 80
    assert max(most) == 1 and len(most) == 80


def test_a_picture_that_is_too_large_is_told(make, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    monkeypatch.setattr(pictures, "MOST_PIXELS", 100)
    out = io.BytesIO()
    image.new("L", (20, 20)).save(out, "tiff")
    content = f"data:image/tiff;base64,{base64.b64encode(out.getvalue()).decode()}"
    data = LabelData.from_arrays(np.zeros((1, 1)), label_names=["a"], item_ids=["x"], items=[content])
    person = Person(create_app(make(data=data), local_user="me"))
    person.enter()
    reply = person.get("/pictures/x")
    assert reply.status_code == 422 and reply.json()["detail"].startswith("the picture is too large: 20 x 20 pixels")
