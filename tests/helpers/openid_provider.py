"""A small OpenID provider to sign in by: discovery, keys, authorize, token. It signs in one person, at once."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

import pytest

pytest.importorskip("joserfc", reason="needs the extra oidc")

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT_ID, CLIENT_SECRET = "labelwise", "the-secret-of-the-client"


class Provider:
    """Serves until closed. What a bad provider, or somebody between, would do is done by its attributes.

    `claims` are of the person who signs in; `change` may change an ID token's claims before it is signed with `key`;
    `metadata` is added to what it says about itself.
    """

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.published = [self.key]
        self.header: dict[str, str] = {"alg": "RS256", "kid": "one"}
        self.claims: dict[str, Any] = {"sub": "1", "preferred_username": "ann"}
        self.change: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        self.metadata: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []
        self.client_secret = CLIENT_SECRET
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://localhost:{self._server.server_port}/realm"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def about(self) -> dict[str, Any]:
        place = self.issuer
        return {
            "issuer": place,
            "authorization_endpoint": f"{place}/authorize",
            "token_endpoint": f"{place}/token",
            "jwks_uri": f"{place}/jwks",
            "end_session_endpoint": f"{place}/logout",
            **self.metadata,
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert asked["response_type"] == "code" and asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256" and "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, sent: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(sent.get("code", ""), None)  # a code is good once
        verifier = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        if asked is None or sent.get("redirect_uri") != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if base64.urlsafe_b64encode(verifier).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant", "error_description": "PKCE"}
        sent_pair = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")
        if [unquote_plus(part) for part in sent_pair] != [CLIENT_ID, self.client_secret]:  # RFC 6749, 2.3.1
            return 401, {"error": "invalid_client"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        signed = jwt.encode(self.header, self.change({**claims, **self.claims}), self.key, algorithms=ALL)
        return 200, {"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": signed}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, query = urlsplit(self.path).path, urlsplit(self.path).query
                provider.asked.append(path.removeprefix("/realm"))
                if path.endswith("/openid-configuration"):
                    self._reply(200, provider.about())
                elif path == "/realm/jwks":
                    self._reply(200, KeySet(provider.published).as_dict(private=False))
                elif path == "/realm/authorize":
                    self.send_response(302)
                    self.send_header("location", provider.authorize({k: v[0] for k, v in parse_qs(query).items()}))
                    self.end_headers()
                else:
                    self._reply(404, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                sent = {name: values[0] for name, values in parse_qs(body).items()}
                self._reply(*provider.token(sent, self.headers.get("authorization", "")))

            def _reply(self, status: int, value: dict[str, Any]) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


ALL = ["RS256", "HS256", "none"]
