"""A small OpenID Connect provider on a real port. It lets everybody in as `person`."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT = "trunkline-test"
CALLBACK_END = "/api/v1/login/oidc/callback"


class Provider:
    """What it says can be bent: `claims` are put over the right ones, `key` signs."""

    def __init__(self) -> None:
        self.url = ""
        self.key = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
        self.signer = self.key
        self.algorithm = "RS256"
        self.person: dict[str, Any] = {
            "sub": "1234",
            "email": "ada@example.org",
            "email_verified": True,
        }
        self.claims: dict[str, Any] = {}
        self.issuer_told: str | None = None
        self.secrets_seen: list[str] = []
        self._asked: dict[str, dict[str, str]] = {}

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.describe),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/jwks", self.jwks),
            ]
        )

    async def describe(self, request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer_told or self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
            }
        )

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        assert asked["redirect_uri"].endswith(CALLBACK_END)
        code = f"code-{len(self._asked)}"
        self._asked[code] = asked
        query = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{query}", 302)

    async def token(self, request: Request) -> Response:
        form = {name: found[0] for name, found in parse_qs((await request.body()).decode()).items()}
        self.secrets_seen.append(request.headers.get("authorization", ""))
        asked = self._asked.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or proof != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        assert form["redirect_uri"] == asked["redirect_uri"]
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.person,
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": self.key.kid}
        signed = jwt.encode(header, claims, self.signer, [self.algorithm])
        return JSONResponse({"id_token": signed, "access_token": "x", "token_type": "Bearer"})

    async def jwks(self, request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})


@contextmanager
def a_provider() -> Iterator[Provider]:
    provider = Provider()
    server = uvicorn.Server(uvicorn.Config(provider.app(), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    provider.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join()
