"""Sign-in by an OpenID provider: the code flow with PKCE, everything checked, one claim is the person's name.

The way there and back is remembered in a signed cookie of ten minutes, so any server of the project can take the
answer. A session begins only for the browser that went there: its cookie has the state, the nonce and the verifier.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.web.access import begin_named, sign_in_page, site_of, trouble_of, vouched_name
from labelwise.labelling.web.reach import OpenId, is_safe_address

# Signed by a key of the provider, which others can check; nothing unsigned, and nothing that our own secret signs.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
WAY_SECONDS = 600.0  # to sign in at the provider
KEPT_SECONDS = 3600.0  # what the provider says about itself
KEYS_SECONDS = 60.0  # between two looks at its keys, where a token has one that is not known
TIMEOUT = 10.0
LEEWAY = 60  # seconds by which clocks may differ
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_log = logging.getLogger(__name__)
router = APIRouter(include_in_schema=False)


class OpenIdClient:
    """A provider as we see it: where people go, and whom it says that they are.

    Parameters
    ----------
    settings : OpenId
    clock : seconds since 1970
    """

    def __init__(self, settings: OpenId, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self._clock = clock
        secret = settings.client_secret or secrets.token_urlsafe(32)
        self._cookie_key = hashlib.sha256(b"labelwise way to the provider " + secret.encode()).hexdigest()
        self._mutex = threading.Lock()
        self._metadata: dict[str, Any] = {}
        self._read_at = self._keys_at = float("-inf")
        self._keys: Any = None

    def way_there(self, back_to: str) -> tuple[str, str]:
        """The address at the provider to go to, and the cookie that remembers the way."""
        from joserfc import jwt  # an optional extra
        from joserfc.jwk import OctKey

        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        url, _ = self._session(back_to).create_authorization_url(
            self._about()["authorization_endpoint"], state=state, nonce=nonce, code_verifier=verifier
        )
        claims = {"state": state, "nonce": nonce, "verifier": verifier, "exp": int(self._clock() + WAY_SECONDS)}
        return url, jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(self._cookie_key))

    def person(self, cookie: str, state: str, code: str, back_to: str) -> str:
        """The name of whoever comes back; ProjectError where anything is not as it should be."""
        from authlib.common.errors import AuthlibBaseError  # an optional extra
        from joserfc.errors import JoseError
        from requests import RequestException

        try:
            way = self._way(cookie)
        except (JoseError, ValueError):
            raise ProjectError("the way to the provider is forgotten or took too long; sign in again") from None
        if not hmac.compare_digest(way["state"].encode(), state.encode()):
            raise ProjectError("this answer of the provider was not asked for by this browser; sign in again")
        try:
            token = self._session(back_to).fetch_token(
                self._about()["token_endpoint"],
                grant_type="authorization_code",
                code=code,
                code_verifier=way["verifier"],
                allow_redirects=False,
            )
            claims = self._checked(token, way["nonce"])
        except (AuthlibBaseError, JoseError, RequestException, ValueError) as error:
            if isinstance(error, ProjectError):
                raise
            _log.warning("sign-in by %s refused: %s: %s", self.settings.issuer, type(error).__name__, error)
            raise ProjectError(f"the answer of the provider was refused ({_reason(error)}); sign in again") from None
        return self._name(claims)

    def sign_out_address(self, back_to: str) -> str | None:
        """Where one signs out at the provider, too; None where it is not known."""
        place = self._metadata.get("end_session_endpoint")
        if not isinstance(place, str) or not is_safe_address(place):
            return None
        query = urlencode({"client_id": self.settings.client_id, "post_logout_redirect_uri": back_to})
        return f"{place}{'&' if '?' in place else '?'}{query}"

    def _session(self, back_to: str) -> Any:
        from authlib.integrations.requests_client import OAuth2Session  # an optional extra

        methods = self._about().get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        method = basic_authorization if "client_secret_basic" in methods else "client_secret_post"
        return OAuth2Session(
            self.settings.client_id,
            self.settings.client_secret or None,
            token_endpoint_auth_method=method if self.settings.client_secret else "none",
            scope=self.settings.scope,
            redirect_uri=back_to,
            code_challenge_method="S256",
            default_timeout=TIMEOUT,
        )

    def _way(self, cookie: str) -> dict[str, str]:
        """What our own cookie says, if we signed it and its time is not over."""
        from joserfc import jwt
        from joserfc.jwk import OctKey

        claims = jwt.decode(cookie, OctKey.import_key(self._cookie_key), algorithms=["HS256"]).claims
        if claims["exp"] < self._clock():
            raise ValueError("too old")
        return {name: str(claims[name]) for name in ("state", "nonce", "verifier")}

    def _about(self) -> dict[str, Any]:
        """What the provider says about itself: by its own name, and nothing by plain HTTP."""
        with self._mutex:
            if self._clock() < self._read_at + KEPT_SECONDS:
                return self._metadata
            found = _read_json(f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != self.settings.issuer:
                said = f"it calls itself {found.get('issuer')!r}, not {self.settings.issuer!r}; correct --oidc-issuer"
                raise ProjectError(f"the provider is not the one that was named: {said}")
            for name in ENDPOINTS:
                if not isinstance(found.get(name), str) or not is_safe_address(found[name]):
                    raise ProjectError(f"the provider has no {name} by HTTPS, but {found.get(name)!r}")
            self._metadata, self._read_at = found, self._clock()
            return found

    def _checked(self, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        """The claims of an ID token: signed by the provider, for us, for this sign-in, and of now."""
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import MissingClaimError

        if not isinstance(token.get("id_token"), str):
            raise MissingClaimError("id_token")
        decoded = self._decoded(token["id_token"])
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            {
                "iss": {"essential": True, "value": self.settings.issuer},
                "aud": {"essential": True, "value": self.settings.client_id},
            },
            {"nonce": nonce, "client_id": self.settings.client_id, "access_token": token.get("access_token")},
        )
        claims.validate(now=int(self._clock()), leeway=LEEWAY)
        return dict(claims)

    def _decoded(self, token: str) -> Any:
        """A token whose signature is right; a key that is not known is looked for once, for providers change theirs."""
        from joserfc import jwt
        from joserfc.errors import BadSignatureError, InvalidKeyIdError

        about = self._about()
        if self._keys is None:
            self._read_keys(about)
        try:
            return jwt.decode(token, self._keys, algorithms=ALGORITHMS)
        except (BadSignatureError, InvalidKeyIdError):
            if self._clock() < self._keys_at + KEYS_SECONDS:
                raise
            self._read_keys(about)
            return jwt.decode(token, self._keys, algorithms=ALGORITHMS)

    def _read_keys(self, about: dict[str, Any]) -> None:
        from joserfc.jwk import KeySet

        self._keys_at = self._clock()
        self._keys = KeySet.import_key_set(_read_json(about["jwks_uri"]))

    def _name(self, claims: dict[str, Any]) -> str:
        claim = self.settings.claim
        name = claims.get(claim)
        if not isinstance(name, str) or not name.strip():
            has = ", ".join(sorted(claims))
            raise ProjectError(f"the provider did not say who you are by {claim!r}; --oidc-claim takes one of {has}")
        if claim == "email" and claims.get("email_verified") is not True:
            raise ProjectError("the provider does not vouch for your address (email_verified); confirm it there")
        return vouched_name(name.strip(), f"the claim {claim}")


def basic_authorization(client: Any, method: str, uri: str, headers: Any, body: Any) -> tuple[str, Any, Any]:
    """The client's name and secret by HTTP Basic, each form-encoded first (RFC 6749, 2.3.1); authlib leaves that out.

    >>> from types import SimpleNamespace
    >>> sent = basic_authorization(SimpleNamespace(client_id="me", client_secret="a:b%é"), "POST", "", {}, "")[1]
    >>> base64.b64decode(sent["Authorization"].removeprefix("Basic ")).decode()
    'me:a%3Ab%25%C3%A9'
    """
    pair = ":".join(quote_plus(part) for part in (client.client_id, client.client_secret))
    headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return uri, headers, body


def _read_json(url: str) -> dict[str, Any]:
    import requests  # an optional extra

    try:
        reply = requests.get(url, timeout=TIMEOUT, allow_redirects=False, headers={"accept": "application/json"})
        found = reply.json() if reply.status_code == 200 else None
    except (requests.RequestException, ValueError) as error:
        _log.warning("the provider cannot be reached at %s: %s", url, error)
        found = None
    if not isinstance(found, dict):
        raise ProjectError("the provider cannot be reached now; try again, or ask whoever runs this page")
    return found


def _reason(error: Exception) -> str:
    """A word on what was wrong, without anything that the provider or a browser wrote."""
    claim = getattr(error, "claim", None)
    return f"{claim} of its ID token" if isinstance(claim, str) else type(error).__name__


# -- routes ------------------------------------------------------------------------------------------------------------


@router.get("/oidc/start")
def start(request: Request) -> Response:
    """To the provider. Nothing is written here: the browser keeps the way in a cookie."""
    client = _client(request)
    if client is None:
        return RedirectResponse("/enter", 303)
    try:
        url, cookie = client.way_there(_address(request, "/oidc/callback"))
    except ProjectError as error:
        return sign_in_page(request, 502, trouble_of(error))
    response = RedirectResponse(url, 303)
    by_https = request.url.scheme == "https"
    response.set_cookie(
        _cookie(request), cookie, int(WAY_SECONDS), path="/oidc", httponly=True, samesite="lax", secure=by_https
    )
    return response


@router.get("/oidc/callback")
def callback(request: Request, state: str = "", code: str = "", error: str = "") -> Response:
    """Back from the provider: a session for the person whom it names, or why there is none."""
    client, cookie = _client(request), request.cookies.get(_cookie(request))
    if client is None:
        return RedirectResponse("/enter", 303)
    if error or not code or not cookie:
        response = sign_in_page(request, 403, "The provider did not sign you in. Try again.")
    else:
        try:
            name = client.person(cookie, state, code, _address(request, "/oidc/callback"))
            response = begin_named(request, name)
        except ProjectError as refused:
            response = sign_in_page(request, 403, trouble_of(refused))
    response.delete_cookie(_cookie(request), path="/oidc")  # the way is used up
    return response


def _client(request: Request) -> OpenIdClient | None:
    client: OpenIdClient | None = site_of(request).openid
    return client


def _cookie(request: Request) -> str:
    return f"{site_of(request).cookie}_way"


def _address(request: Request, path: str) -> str:
    """An address of ours as browsers see it."""
    return f"{request.url.scheme}://{request.headers.get('host', '')}{path}"
