"""Logging in and out, with a password or by single sign-on; the first user."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from trunkline.errors import NotAuthenticated, Precondition
from trunkline.lake import access, users
from trunkline.lake.core import Core
from trunkline.lake.rights import changed
from trunkline.model.access import Principal
from trunkline.sdk.wire.access import Login, LoginWays, Setup
from trunkline.server.auth import oidc, sessions
from trunkline.server.calls import PUBLIC, Call, Caller, Routes
from trunkline.storage.catalog import access as catalog

routes = Routes(tags=["access"])


@routes.GET("/login", PUBLIC)
def login_ways(call: Caller) -> LoginWays:
    """How one logs in here."""
    with _core(call).database.read() as session:
        empty = not catalog.has_users(session)
    on = call.service.authenticated
    return LoginWays(on, on and empty, bool(call.service.settings.text("oidc.issuer")))


@routes.POST("/login", PUBLIC)
async def login(call: Caller, body: Login, response: Response) -> Principal:
    """A session in a cookie, for a browser. Programs have tokens."""
    _require_logins(call)
    with call.service.throttle.attempt(body.name, call.address):
        name = await call.service.passwords.run(lambda: _checked(call, body))
    return await run_in_threadpool(_welcome, call, response, name)


def _checked(call: Call, body: Login) -> str:
    found = users.check_password(_core(call), body.name, body.password)
    if found is None:
        # A password is easily typed where the name belongs: only names that exist are told.
        with _core(call).database.read() as session:
            real = catalog.user(session, body.name) is not None
        call.notes["target"] = body.name if real else "an unknown name"
        raise NotAuthenticated("The name or the password is wrong.")
    return found.name


@routes.POST("/logout", PUBLIC, status_code=204)
def logout(call: Caller, response: Response) -> None:
    """End the session of this browser."""
    who = call.principal
    if who is not None and who.kind == "session":
        call.notes["target"] = who.name
        with _core(call).database.write() as session:
            catalog.revoke_token(session, who.token)
        changed(_core(call))
    sessions.forget(call.service.settings, response)


@routes.POST("/setup", PUBLIC, status_code=201)
async def set_up(call: Caller, body: Setup, response: Response) -> Principal:
    """Make the first user, who is admin, with the token that the server showed at its start."""
    _require_logins(call)
    core = _core(call)
    with call.service.throttle.attempt("", call.address):
        made = await call.service.passwords.run(
            lambda: access.set_up(core, body.token, body.name, body.password)
        )
        if made is None:
            raise NotAuthenticated(
                "This set-up token is not good: it is wrong, or was used.",
                hint="Start the server again for another; there is none once there are users.",
            )
    return await run_in_threadpool(_welcome, call, response, made.name)


@routes.GET("/login/oidc", PUBLIC, response_class=RedirectResponse, status_code=302)
async def oidc_start(call: Caller, request: Request) -> Response:
    """To the single sign-on."""
    _require_logins(call)
    return await call.service.sign_ons.run(lambda: oidc.start(call.service, request))


@routes.GET("/login/oidc/callback", PUBLIC, response_class=RedirectResponse, status_code=302)
async def oidc_callback(call: Caller, request: Request) -> Response:
    """Back from the single sign-on, with a code that it takes for an identity."""
    _require_logins(call)
    return await call.service.sign_ons.run(lambda: _signed_on(call, request))


def _signed_on(call: Call, request: Request) -> Response:
    identity = oidc.finish(call.service, request)
    settings = call.service.settings
    found = users.of_identity(
        _core(call),
        identity.subject,
        identity.name,
        identity.email,
        create_missing=settings.flag("oidc.create"),
        is_proven=settings.text("oidc.claim") == "email",
    )
    response = RedirectResponse("/", 302)
    _welcome(call, response, found.name)
    oidc.forget(call.service.settings, response)
    return response


def _welcome(call: Call, response: Response, name: str) -> Principal:
    core = _core(call)
    sessions.log_in(core, call.service.settings, response, name)
    call.notes.update(target=name, who=name, changes=True)
    return Principal(name, "session", users.find(core, name).grants)


def _require_logins(call: Call) -> None:
    if not call.service.authenticated:
        raise Precondition(
            "This server asks nobody who they are, so there is nothing to log in to.",
            hint="Set server.auth to yes.",
        )


def _core(call: Call) -> Core:
    return call.service.lake._core
