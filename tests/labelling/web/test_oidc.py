"""Sign-in by an OpenID provider, against a small one that runs here: the good way, and every check that must refuse."""

from __future__ import annotations

import logging
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("authlib", reason="needs the extra oidc")
pytest.importorskip("requests", reason="needs the extra oidc")

import requests
from joserfc.jwk import OctKey, RSAKey

from labelling.web.browsing import CHROMIUM, PATIENCE, serving
from labelling.web.site_client import BASE, Person
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.web import reach, server
from labelwise.labelling.web.reach import OpenId, Reach
from labelwise.labelling.web.server import create_app
from openid_provider import CLIENT_ID, CLIENT_SECRET, Provider

SECRET_NAME = "LABELWISE_OIDC_SECRET"


@pytest.fixture(scope="module")
def running() -> Any:
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def provider(running) -> Provider:
    """The provider as good as new, at the cost of no new keys."""
    kept = {name: getattr(running, name) for name in ("key", "published", "header", "claims", "change", "metadata")}
    running.published, running.claims, running.asked = list(running.published), dict(running.claims), []
    running.client_secret = CLIENT_SECRET
    yield running
    vars(running).update(kept)


@pytest.fixture
def project(make) -> Project:
    made = make()
    made.people.add("ann", "reviewer")
    return made


def page(project: Project, provider: Provider, new_role: str | None = None, **settings: Any) -> Any:
    settings = {"client_secret": CLIENT_SECRET, **settings}
    opened = OpenId(provider.issuer, CLIENT_ID, **settings)
    return create_app(project, reach=Reach("0.0.0.0", new_role=new_role, provider=opened))


class Browser(Person):
    """Goes to the provider and comes back, as a browser does."""

    def go(self) -> str:
        """The address to which the provider sends one back."""
        reply = self.get("/oidc/start", follow_redirects=False)
        assert reply.status_code == 303, reply.text
        self.sent_to = reply.headers["location"]
        back = requests.get(self.sent_to, allow_redirects=False, timeout=5)
        assert back.status_code == 302
        return back.headers["location"]

    def come_back(self, address: str) -> Any:
        return self.get(address.removeprefix(BASE))

    def who(self) -> Any:
        reply = self.get("/api/session")
        return reply.json() if reply.status_code == 200 else None


def test_the_whole_way_there_and_back_and_out(project, provider, caplog):
    caplog.set_level(logging.DEBUG)
    ann = Browser(page(project, provider))
    door = ann.get("/label")
    assert door.url.path == "/enter" and 'href="/oidc/start"' in door.text and "localhost" in door.text
    back = ann.go()
    query = {name: values[0] for name, values in parse_qs(urlsplit(ann.sent_to).query).items()}
    assert query["redirect_uri"] == f"{BASE}/oidc/callback" and query["code_challenge_method"] == "S256"
    assert {"state", "nonce", "code_challenge"} <= set(query) and "code_verifier" not in ann.sent_to
    inside = ann.come_back(back)
    assert inside.url.path == "/label", inside.text
    assert (ann.who()["who"], ann.who()["role"]) == ("ann", "reviewer")
    ann.csrf = inside.text.partition('name="csrf-token" content="')[2].partition('"')[0]
    assert ann.post("/api/ask").status_code == 200 and ann.client.post("/api/ask", json={}).status_code == 403
    left = ann.client.post("/leave", data={"csrf": ann.csrf})
    assert left.url.path == "/enter" and ann.who() is None
    assert f"{provider.issuer}/logout?client_id={CLIENT_ID}" in left.text
    assert CLIENT_SECRET not in caplog.text and "id_token" not in caplog.text
    assert CLIENT_SECRET not in repr(ann.app.state.site) and CLIENT_SECRET not in ann.sent_to


def refused(browser: Browser, address: str, reason: str) -> None:
    reply = browser.come_back(address)
    assert reply.status_code == 403 and reason in reply.text, reply.text
    assert browser.who() is None and browser.app.state.site.cookie not in browser.client.cookies


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
def test_a_real_browser_goes_there_and_comes_back(project, provider, browser):
    """Between two sites, with our policy and cookies as they are."""
    opened = OpenId(provider.issuer, CLIENT_ID, CLIENT_SECRET)
    with serving(project, None, reach=Reach(provider=opened)) as address:
        tab = browser.new_context().new_page()
        tab.set_default_timeout(PATIENCE)
        wrong: list[str] = []
        tab.on("console", lambda said: wrong.append(said.text))
        tab.goto(f"{address}/browse")
        tab.get_by_role("link", name="Sign in by localhost").click()
        tab.wait_for_url("**/label")
        tab.get_by_role("button", name="Sign out").click()
        tab.wait_for_url("**/enter?left")
        assert tab.get_by_role("link", name="Sign out at localhost").is_visible() and wrong == []
        tab.context.close()


def test_another_state_another_browser_or_none_is_refused(project, provider):
    app = page(project, provider)
    ann, eve = Browser(app), Browser(app)
    refused(ann, ann.go().replace("state=", "state=x"), "was not asked for by this browser")
    refused(ann, ann.go().partition("&state=")[0], "was not asked for by this browser")
    for_ann, for_eve = ann.go(), eve.go()
    refused(eve, for_ann, "was not asked for by this browser")  # a sign-in that was made for somebody else
    refused(Browser(app), for_eve, "did not sign you in")  # no cookie
    ann.client.cookies.set(f"{app.state.site.cookie}_way", "forged.by.hand", path="/oidc")
    refused(ann, for_ann, "forgotten or took too long")


def test_an_answer_is_good_once(project, provider):
    ann = Browser(page(project, provider))
    back = ann.go()
    cookies = dict(ann.client.cookies)
    assert ann.come_back(back).url.path == "/label"
    again = Browser(ann.app)
    again.client.cookies.update(cookies)
    refused(again, back, "was refused")


def test_who_took_too_long_begins_again(project, provider):
    ann = Browser(page(project, provider))
    back, later = ann.go(), time.time() + 601
    ann.app.state.site.openid._clock = lambda: later
    refused(ann, back, "took too long")


def change(**claims: Any) -> Any:
    return lambda found: {k: v for k, v in {**found, **claims}.items() if v is not None}


def test_a_token_that_is_not_for_this_sign_in_is_refused(project, provider):
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"aud": "another"}, "aud"),
        ({"aud": None}, "aud"),
        ({"aud": [CLIENT_ID, "another"], "azp": "another"}, "azp"),
        ({"iss": "https://evil.example"}, "iss"),
        ({"iss": None}, "iss"),
        ({"exp": 1}, "exp"),
        ({"exp": None}, "exp"),
        ({"iat": None}, "iat"),
        ({"nbf": 2**40}, "nbf"),
        ({"at_hash": "wrong"}, "at_hash"),
    ]
    app = page(project, provider)
    for claims, name in wrong:
        provider.change = change(**claims)
        ann = Browser(app)
        refused(ann, ann.go(), f"refused ({name} of its ID token)")


def test_a_token_that_has_just_run_out_is_forgiven_for_a_minute(project, provider):
    app = page(project, provider)
    for seconds, is_in in ((-30, True), (-90, False)):
        provider.change = change(exp=int(time.time()) + seconds)
        ann = Browser(app)
        ann.come_back(ann.go())
        assert (ann.who() is not None) is is_in


def test_a_wrong_signature_is_refused(project, provider):
    ann = Browser(page(project, provider))
    provider.key = RSAKey.generate_key(2048, {"kid": "one"})
    refused(ann, ann.go(), "BadSignatureError")
    provider.header = {"alg": "RS256", "kid": "two"}
    refused(ann, ann.go(), "was refused")
    provider.key = OctKey.import_key(CLIENT_SECRET)
    provider.header = {"alg": "HS256", "kid": "one"}
    refused(ann, ann.go(), "was refused")
    provider.header = {"alg": "none"}
    refused(ann, ann.go(), "was refused")


def test_new_keys_of_the_provider_are_looked_for(project, provider):
    app = page(project, provider)
    ann = Browser(app)
    ann.come_back(ann.go())
    assert ann.who() is not None
    provider.key = RSAKey.generate_key(2048, {"kid": "two"})
    provider.published = [provider.key]
    provider.header = {"alg": "RS256", "kid": "two"}
    bea = Browser(app)
    refused(bea, bea.go(), "was refused")  # not again within a minute
    app.state.site.openid._keys_at -= 61
    bea.come_back(bea.go())
    assert bea.who() is not None


def test_a_wrong_secret_and_an_unknown_code_are_refused(project, provider):
    app = page(project, provider)
    ann = Browser(app)
    back = ann.go()
    refused(ann, back.replace("code=", "code=x"), "was refused")
    provider.client_secret = "another"
    refused(ann, ann.go(), "was refused")
    ann.go()
    denied = ann.get("/oidc/callback", params={"error": "access_denied", "state": "x"})
    assert denied.status_code == 403 and "did not sign you in" in denied.text


@pytest.mark.parametrize("secret", ["a+b/c=d", "100%25 é:{}&", "日本"])
def test_a_secret_of_any_signs_is_sent_as_the_standard_says(project, provider, secret):
    provider.client_secret = secret
    ann = Browser(page(project, provider, client_secret=secret))
    ann.come_back(ann.go())
    assert ann.who() is not None


def test_the_name_is_of_the_claim_that_was_chosen(project, provider):
    project.people.add("ann@example.org")
    app = page(project, provider, claim="email")
    ann = Browser(app)
    provider.claims = {"sub": "1", "preferred_username": "ann"}
    refused(ann, ann.go(), "did not say who you are by &#39;email&#39;")
    provider.claims = {"sub": "1", "email": "ann@example.org", "email_verified": False}
    refused(ann, ann.go(), "does not vouch for your address")
    provider.claims = {"sub": "1", "email": "ann@example.org", "email_verified": True}
    ann.come_back(ann.go())
    assert ann.who()["who"] == "ann@example.org"
    app = page(project, provider, new_role="annotator")
    for name in (7, ["ann"], "", "a\nb", "x" * 201, "label-studio:7"):
        provider.claims = {"sub": "1", "preferred_username": name}
        odd = Browser(app)
        assert odd.come_back(odd.go()).status_code in (400, 403) and odd.who() is None


def test_people_nobody_added_are_refused_or_get_the_role_that_was_said(project, provider):
    provider.claims = {"sub": "2", "preferred_username": "eve"}
    eve = Browser(page(project, provider))
    refused(eve, eve.go(), "may not use this project")
    eve = Browser(page(project, provider, new_role="viewer"))
    eve.come_back(eve.go())
    assert eve.who()["role"] == "viewer"
    project.people.remove("eve")
    assert eve.who() is None
    eve.come_back(eve.go())
    assert eve.who() is None, "who was removed stays out"


def test_a_link_still_opens(project, provider):
    ann = Browser(page(project, provider))
    assert ann.enter(project.people.link("ann")).url.path == "/label"


def test_a_provider_that_is_another_or_gone_is_an_error_that_says_so(project, provider):
    provider.metadata = {"issuer": "https://evil.example"}
    reply = Browser(page(project, provider)).get("/oidc/start", follow_redirects=False)
    assert reply.status_code == 502 and "not the one that was named" in reply.text
    provider.metadata = {"token_endpoint": "http://evil.example/token"}
    reply = Browser(page(project, provider)).get("/oidc/start", follow_redirects=False)
    assert reply.status_code == 502 and "no token_endpoint by HTTPS" in reply.text
    nowhere = create_app(project, reach=Reach("0.0.0.0", provider=OpenId("http://localhost:9/", CLIENT_ID)))
    reply = Browser(nowhere).get("/oidc/start", follow_redirects=False)
    assert reply.status_code == 502 and "cannot be reached now" in reply.text and "localhost:9" in reply.text
    assert Browser(nowhere).get("/enter").status_code == 200


def test_without_a_provider_there_is_no_such_way(project):
    person = Person(create_app(project))
    for path in ("/oidc/start", "/oidc/callback?code=1&state=2"):
        assert person.get(path, follow_redirects=False).headers["location"] == "/enter"
    assert "/oidc/start" not in person.get("/enter").text


@pytest.mark.parametrize(
    "issuer",
    ["http://login.example.org", "login.example.org", "https://", "https://x/?q=1", "http://localhost.evil.org"],
)
def test_an_issuer_is_an_address_by_https(issuer):
    with pytest.raises(ProjectError, match="--oidc-issuer takes"):
        OpenId.read(issuer, CLIENT_ID)


def test_settings_are_checked_and_the_secret_is_of_the_environment(monkeypatch):
    monkeypatch.setenv(SECRET_NAME, "hush")
    found = OpenId.read("https://login.example.org", CLIENT_ID)
    assert found is not None and found.client_secret == "hush" and "hush" not in repr(found)
    monkeypatch.delenv(SECRET_NAME)
    assert OpenId.read("https://login.example.org", CLIENT_ID).client_secret == ""  # a public client, by PKCE alone
    assert OpenId.read(None, None) is None
    for issuer, client in (("https://login.example.org", None), (None, CLIENT_ID), ("https://x.org", " ")):
        with pytest.raises(ProjectError, match="--oidc-client"):
            OpenId.read(issuer, client)
    with pytest.raises(ProjectError, match="not both"):
        Reach.read(trust_header="Remote-User", provider=found)


def test_a_project_without_users_is_not_served_so(make, provider, monkeypatch):
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: pytest.fail("it was served"))
    where = Reach.read(provider=OpenId(provider.issuer, CLIENT_ID))
    assert not where.is_local and reach.is_loopback(where.host)
    with pytest.raises(ProjectError, match="the project has no users"):
        server.serve_project(make(), reach=where, local_user="me", worker=False)
