"""What every request meets first: hosts and origins are checked, answers get safe headers.

A browser sends requests that its user never meant, and a name can be made to point here
(DNS rebinding). Whoever brings a token in a header is no such browser and is let through.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.errors import NotAllowed
from trunkline.sdk.wire.values import API
from trunkline.server import failures
from trunkline.server.auth.audited import Audited
from trunkline.server.auth.sessions import COOKIE, is_secure
from trunkline.server.service import Service, bearer_token

ASKING = frozenset(("GET", "HEAD", "OPTIONS"))
JSON = "application/json"
MEANT = "x-trunkline"
"""A header that no form can send, for requests whose body is not JSON."""

_POLICY = {
    "default-src": "'self'",
    "img-src": "'self' data: blob:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


def policy(more: Mapping[str, str] | None = None) -> str:
    """The Content-Security-Policy of every answer, with what one page asks for beside it."""
    return "; ".join(f"{name} {value}" for name, value in {**_POLICY, **(more or {})}.items())


_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", policy().encode()),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_HTTPS = ((b"strict-transport-security", b"max-age=31536000"),)
_PRIVATE = ((b"cache-control", b"no-store"),)
_LOGINS = (f"{API}/login", f"{API}/logout", f"{API}/setup")


def install(app: FastAPI, service: Service) -> None:
    """Put the guards before an app's routes, and the audit log before the guards."""
    app.add_middleware(Guards, service=service)
    app.add_middleware(Audited, service=service)


class Guards:
    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        url = urlsplit(service.settings.text("server.url"))
        self._url_origin = _origin(url.scheme, url.netloc) if url.netloc else ""
        self._names = {"localhost", (url.hostname or "localhost").lower()}
        self._names.add(service.settings.text("server.host").lower())
        self._names -= {"0.0.0.0", "::", ""}
        self._headers = _HEADERS + (_HTTPS if is_secure(service.settings) else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = self._headers
        if scope["path"].startswith(API):
            added += _PRIVATE

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                there = {name.lower() for name, _ in headers}
                headers += [one for one in added if one[0] not in there]
                message = {**message, "headers": headers}
            await send(message)

        request = Request(scope)
        flaw = self._flaw(request)
        if flaw is None:
            await self._app(scope, receive, sending)
        else:
            await failures.answer(request, flaw)(scope, receive, sending)

    def _flaw(self, request: Request) -> NotAllowed | None:
        if self._service.authenticated and bearer_token(request) is not None:
            return None  # and no cookie is looked at
        cookie = self._service.authenticated and COOKIE in request.cookies
        open_door = not self._service.authenticated
        login = request.scope["path"].startswith(_LOGINS)
        if (cookie or open_door or login) and not self._is_host_ours(request):
            return NotAllowed(
                f"This server is not called {_shown(request)}.",
                hint="Set server.url to the address that people reach it by.",
            )
        if request.method in ASKING:
            return None
        if not self._is_same_origin(request, told=cookie):
            return NotAllowed(
                "This request comes from another site.",
                hint="If it does not, set server.url to the address that people reach it by.",
            )
        if cookie and not _is_meant(request):
            return NotAllowed(
                "With a login, requests that change something are JSON.",
                hint="For other bodies send the header X-Trunkline: 1.",
            )
        return None

    def _is_host_ours(self, request: Request) -> bool:
        server = request.scope.get("server")
        if server is None or server[1] is None:
            return True  # a unix socket, which no browser reaches
        name = _host_name(request.headers.get("host", ""))
        if name in self._names or name == server[0]:
            return True
        try:
            return ip_address(name).is_loopback
        except ValueError:
            return False

    def _is_same_origin(self, request: Request, *, told: bool) -> bool:
        """Whether one of our own pages sent it. Unless it must be told, programs need not."""
        origin = request.headers.get("origin")
        if origin is not None:
            given = urlsplit(origin)
            ours = _origin(request.url.scheme, request.headers.get("host", ""))
            return _origin(given.scheme, given.netloc) in {ours, self._url_origin} - {""}
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin" or (site == "none" and not told)
        return not told


def _is_meant(request: Request) -> bool:
    """What a form on another site cannot send."""
    headers = request.headers
    if headers.get(MEANT) == "1":
        return True
    empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == JSON or (empty and not kind)


def _origin(scheme: str, netloc: str) -> str:
    """`http://host:port` in one spelling; '' if it is none."""
    default = {"http": ":80", "https": ":443"}.get(scheme.lower())
    if default is None or not netloc or "@" in netloc:
        return ""
    return f"{scheme}://{netloc.removesuffix(default)}".lower()


def _host_name(text: str) -> str:
    """The name without the port; an IPv6 address without its brackets."""
    try:
        return (urlsplit(f"//{text}").hostname or "").lower()
    except ValueError:
        return ""


def _shown(request: Request) -> str:
    return repr(request.headers.get("host", "")[:100])
