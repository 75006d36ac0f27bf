"""Single sign-on by OpenID Connect: the authorization code flow with PKCE, state and nonce.

What must be remembered while the user is away is in a signed cookie of their own browser. The
client's secret, if it has one, comes from the environment: TRUNKLINE_OIDC_SECRET.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx2
from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from trunkline.errors import Failed, NotAllowed, NotAuthenticated, Precondition, Unavailable
from trunkline.lake.keys import sign, verify
from trunkline.sdk.wire.values import API
from trunkline.server.auth.sessions import is_secure
from trunkline.server.service import Service
from trunkline.settings import Settings

COOKIE = "tl_oidc"
CALLBACK = f"{API}/login/oidc/callback"
SECRET_VARIABLE = "TRUNKLINE_OIDC_SECRET"
AWAY_SECONDS = 600
KNOWN_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is at the single sign-on. `subject` is theirs for ever, the rest may change."""

    subject: str
    name: str
    email: str


def start(service: Service, request: Request) -> Response:
    """Send the browser to the provider."""
    from_library = _library()
    provider = _provider(service.settings)
    kept = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
    query = {
        "response_type": "code",
        "client_id": provider.client,
        "redirect_uri": _callback(service, request),
        "scope": "openid email profile",
        "state": kept["state"],
        "nonce": kept["nonce"],
        "code_challenge": from_library.challenge(kept["verifier"]),
        "code_challenge_method": "S256",
    }
    place = provider.endpoint("authorization_endpoint")
    response = RedirectResponse(f"{place}{'&' if '?' in place else '?'}{urlencode(query)}", 302)
    text = json.dumps({**kept, "until": time.time() + AWAY_SECONDS})
    # Lax: the way back from the provider is a link on another site.
    response.set_cookie(
        COOKIE,
        f"{text.encode().hex()}.{sign(service.key, 'oidc', text)}",
        max_age=AWAY_SECONDS,
        path=CALLBACK,
        secure=is_secure(service.settings),
        httponly=True,
        samesite="lax",
    )
    return response


def finish(service: Service, request: Request) -> Identity:
    """Who came back, or `NotAuthenticated`."""
    from_library = _library()
    kept = _kept(service, request.cookies.get(COOKIE, ""))
    query = request.query_params
    if not compare_digest(query.get("state", "").encode(), kept["state"].encode()):
        raise NotAuthenticated("This login was not begun in this browser.", hint=_AGAIN)
    if "error" in query or not query.get("code"):
        raise NotAuthenticated("The single sign-on let nobody in.", hint=_AGAIN)
    provider = _provider(service.settings)
    told = provider.exchange(query["code"], kept["verifier"], _callback(service, request))
    claims = from_library.claims(provider, str(told.get("id_token", "")), kept["nonce"])
    return _identity(service.settings, claims)


def forget(settings: Settings, response: Response) -> None:
    response.delete_cookie(
        COOKIE, path=CALLBACK, secure=is_secure(settings), httponly=True, samesite="lax"
    )


_AGAIN = "Log in again."


def _identity(settings: Settings, claims: dict[str, Any]) -> Identity:
    claim = settings.text("oidc.claim")
    name = claims.get(claim)
    if not isinstance(name, str) or not name:
        raise NotAllowed(
            f'The single sign-on does not tell "{claim}".', hint="Set oidc.claim to one it tells."
        )
    if claim == "email" and claims.get("email_verified") is not True:
        # Else anybody could take another's address there, and be them here.
        raise NotAllowed("The single sign-on has not verified this e-mail address.")
    email = claims.get("email")
    subject = json.dumps([claims["iss"], claims["sub"]])
    return Identity(subject, name, email if isinstance(email, str) else "")


def _kept(service: Service, cookie: str) -> dict[str, str]:
    shown, _, signature = cookie.partition(".")
    try:
        text = bytes.fromhex(shown).decode()
    except ValueError:
        text = ""
    if not text or not verify(service.key, "oidc", text, signature):
        raise NotAuthenticated("This login was not begun in this browser.", hint=_AGAIN)
    found: dict[str, Any] = json.loads(text)
    if found["until"] < time.time():
        raise NotAuthenticated("This login took too long.", hint=_AGAIN)
    return found


def _callback(service: Service, request: Request) -> str:
    """Where the provider sends people back to. The guards have checked the host."""
    base = service.settings.text("server.url").rstrip("/")
    return (base or f"{request.url.scheme}://{request.headers.get('host', '')}") + CALLBACK


# -- the provider --------------------------------------------------------------------------


class Provider:
    """What a provider says of itself, and its keys."""

    def __init__(self, issuer: str, client: str) -> None:
        self.issuer = issuer
        self.client = client
        self.read = time.monotonic()
        self._described = _fetched(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if self._described.get("issuer") != issuer:
            raise Precondition(
                f"{issuer} says that it is {self._described.get('issuer')!r}.",
                hint="Set oidc.issuer to exactly what it says.",
            )
        self.keys = _fetched(self.endpoint("jwks_uri"))

    def endpoint(self, name: str) -> str:
        found = str(self._described.get(name, ""))
        _require_safe(found)
        return found

    def read_keys_again(self) -> None:
        self.keys = _fetched(self.endpoint("jwks_uri"))

    def exchange(self, code: str, verifier: str, callback: str) -> dict[str, Any]:
        """What it gives for a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback,
            "client_id": self.client,
            "code_verifier": verifier,
        }
        secret = os.environ.get(SECRET_VARIABLE)
        # As RFC 6749 wants it: both are encoded before they are joined.
        options: Any = {"auth": (quote_plus(self.client), quote_plus(secret))} if secret else {}
        with _http() as http:
            try:
                answer = http.post(self.endpoint("token_endpoint"), data=form, **options)
                told = answer.json()
            except (httpx2.HTTPError, ValueError) as error:
                raise _unreachable(self.issuer, error) from error
        if answer.status_code != 200 or not isinstance(told, dict):
            raise NotAuthenticated("The single sign-on refused the code.", hint=_AGAIN)
        return told


_known: dict[tuple[str, str], Provider] = {}
_lock = threading.Lock()


def _provider(settings: Settings) -> Provider:
    issuer, client = settings.text("oidc.issuer"), settings.text("oidc.client")
    if not issuer or not client:
        raise Precondition(
            "There is no single sign-on here.", hint="Set oidc.issuer and oidc.client."
        )
    _require_safe(issuer)
    with _lock:
        found = _known.get((issuer, client))
    if found is None or time.monotonic() - found.read > KNOWN_SECONDS:
        found = Provider(issuer, client)
        with _lock:
            _known[issuer, client] = found
    return found


def _require_safe(url: str) -> None:
    parts = urlsplit(url)
    here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and here):
        raise Precondition(f"The single sign-on must be at https://, not {url!r}.")


def _http() -> httpx2.Client:
    return httpx2.Client(timeout=10.0, follow_redirects=False)


def _fetched(url: str) -> dict[str, Any]:
    with _http() as http:
        try:
            answer = http.get(url)
            answer.raise_for_status()
            found = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise _unreachable(url, error) from error
    if not isinstance(found, dict):
        raise Failed(f"{url} is not what a single sign-on says.")
    return found


def _unreachable(url: str, error: Exception) -> Unavailable:
    return Unavailable(f"The single sign-on {url} cannot be asked: {type(error).__name__}.")


# -- the library ---------------------------------------------------------------------------


def _library() -> Any:
    try:
        from trunkline.server.auth import idtokens
    except ImportError:
        raise Precondition(
            "Single sign-on needs authlib, which is not installed.",
            hint="pip install 'trunkline[oidc]'",
        ) from None
    return idtokens
