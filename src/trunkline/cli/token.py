"""`trunkline token`: credentials for programs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.output import Column
from trunkline.cli.text import local_time
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.model.access import NewToken, TokenInfo

app = App(name="token", help="Tokens: credentials for programs.")


@app.command()
def create(
    ctx: typer.Context,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What for.")] = "",
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DURATION", help="After 90d, 12h, …")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="SCOPE=ROLE", help="No more than this; repeatable."),
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="USER", help="Whose it is; else yours.")
    ] = None,
) -> None:
    """Make a token. Its secret is shown this once."""
    from trunkline.settings import parse_duration

    run = session.of(ctx)
    try:
        seconds = parse_duration(expires) if expires is not None else None
    except ValueError as error:
        raise Usage(f"--expires: {error}.") from None
    limits = dict(_limit(one) for one in limit) if limit else None
    with run.open() as lake:
        made = lake.create_token(note, seconds, limits, owner)
    # For scripts: TRUNKLINE_TOKEN=$(trunkline token create -q)
    quiet = run.settings.flag("quiet")
    run.output.item(made, (lambda one: [one.token]) if quiet else _secrets)


@app.command("list")
def list_(
    ctx: typer.Context,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="USER", help="Only this user's.")
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", "-a", help="Logins, and what is over, too.")
    ] = False,
) -> None:
    """List tokens, without their secrets."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.tokens(owner)
    if not all_:
        found = [one for one in found if one.kind == "user" and _state(one) == "good"]
    run.output.table(found, TOKENS, empty="No tokens: trunkline token create.")


@app.command()
def revoke(
    ctx: typer.Context,
    token: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
) -> None:
    """Let a token be good no more."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.revoke_token(token)
    run.output.done(done, f"Revoked token {done.id} of {done.owner}.")


def _limit(text: str) -> tuple[str, str]:
    scope, equals, role = text.rpartition("=")
    if not equals or not scope:
        raise Usage(f"{text!r} is no limit.", hint="As in --limit shop/orders=reader.")
    return scope, role


def _secrets(made: NewToken) -> list[str]:
    return [
        made.token,
        "",
        "This is shown once. Programs that speak S3 take",
        f"  access key  {made.s3_access_key}",
        f"  secret key  {made.s3_secret}",
    ]


def _state(one: TokenInfo) -> str:
    if one.revoked is not None:
        return "revoked"
    over = one.expires is not None and one.expires < time.time() * 1_000_000
    return "expired" if over else "good"


def _limits(one: TokenInfo) -> str:
    from trunkline.model.access import roles_of

    if one.limits is None:
        return "-"
    return ", ".join(f"{role} on {scope}" for scope, role in roles_of(one.limits).items())


def _moment(at: int | None) -> str:
    return local_time(at) if at is not None else "-"


TOKENS = (
    Column("ID", lambda one: one.id),
    Column("OWNER", lambda one: one.owner),
    Column("KIND", lambda one: one.kind),
    Column("STATE", _state),
    Column("CREATED", lambda one: local_time(one.created)),
    Column("EXPIRES", lambda one: _moment(one.expires)),
    Column("LAST USED", lambda one: _moment(one.last_used)),
    Column("LIMITS", _limits),
    Column("NOTE", lambda one: one.note),
)
