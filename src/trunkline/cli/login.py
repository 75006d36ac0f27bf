"""`trunkline login` and `logout`: a name and a password for a token that a context keeps."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.errors import NotAuthenticated, Precondition, TrunklineError, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trunkline.model.access import NewToken, Principal
    from trunkline.sdk.contexts import Context, Contexts

app = App()


@app.command()
def login(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="https://server", show_default=False)],
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="Else asked for.")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Its name; else the host's.")
    ] = None,
    from_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read secrets from stdin, one a line.")
    ] = False,
) -> None:
    """Log in to a server, and use it from now on. The first to come makes the first admin."""
    from trunkline.sdk.contexts import Context, Contexts, is_address
    from trunkline.sdk.remote.login import log_in, login_ways, set_up

    run = session.of(ctx)
    if not is_address(url):
        raise Usage(
            f"{url} is not the address of a server.", hint="As in https://lake.example.org."
        )
    if from_stdin and user is None:
        raise Usage("--password-stdin needs --user.")
    ways = login_ways(url)
    if not ways.auth:
        raise Precondition(
            f"{url} asks nobody who they are.",
            hint=f"Use it as it is: trunkline --lake {url} status",
        )
    if ways.setup:
        setup_token = _secret("One-time set-up token", from_stdin)
        name = user or str(typer.prompt("Name of the first admin", err=True))
        made = set_up(url, setup_token, name, _secret("New password", from_stdin, twice=True))
    else:
        name = user or str(typer.prompt("Name", err=True))
        made = log_in(url, name, _secret("Password", from_stdin))
    kept = _keep(Contexts(), Context(context or _host(url), url, made.token), made)
    said = f"Logged in to {kept.lake} as {made.info.owner}; the context {kept.name} is in use."
    run.output.done({"user": made.info.owner, "context": kept}, said)


@app.command()
def logout(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="CONTEXT", help="Else the one in use.")
    ] = None,
) -> None:
    """Have the server forget this computer's token, and forget it here."""
    from trunkline.sdk.contexts import Contexts
    from trunkline.sdk.remote.login import log_out

    run = session.of(ctx)
    contexts = Contexts()
    found = contexts.get(name) if name is not None else contexts.current()
    if found is None:
        raise Usage("No context is in use.", hint="Name one: trunkline context list.")
    if found.token:
        # One that was revoked, or whose owner is gone, is forgotten there already.
        with suppress(NotAuthenticated):
            log_out(found.lake, found.token)
    contexts.remove(found.name)
    run.output.done({"removed": found.name}, f"Logged out of {found.lake}.")


@app.command()
def whoami(ctx: typer.Context) -> None:
    """Show who you are to the lake, and what you may do."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.item(lake.whoami(), _who)


def _who(found: Principal) -> Iterator[str]:
    yield f"{found.name} ({found.kind})"
    for one in found.grants:
        yield f"  {one.role} on {one.scope or 'the lake'}"
    for one in found.limits or ():
        yield f"  the token: no more than {one.role} on {one.scope or 'the lake'}"


def _keep(contexts: Contexts, wanted: Context, made: NewToken) -> Context:
    """Put the token in the context, in place of an older one."""
    from trunkline.sdk.remote.login import log_out

    old = contexts.find(wanted.name)
    try:
        if old is not None:
            contexts.remove(old.name)
        kept = contexts.add(wanted)
        contexts.use(kept.name)
    except TrunklineError:
        # A token that nobody has is better revoked.
        log_out(wanted.lake, made.token)
        raise
    if old is not None and old.token:
        with suppress(TrunklineError):
            log_out(old.lake, old.token)
    return kept


def _secret(what: str, from_stdin: bool, twice: bool = False) -> str:
    if from_stdin:
        found = sys.stdin.readline().rstrip("\n")
        if not found:
            raise Usage(f"{what}: there is nothing more on stdin.")
        return found
    return str(typer.prompt(what, hide_input=True, confirmation_prompt=twice, err=True)).strip()


def _host(url: str) -> str:
    """A name for the context: the server's own."""
    from urllib.parse import urlsplit

    return urlsplit(url).hostname or "server"
