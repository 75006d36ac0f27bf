"""`trunkline user`: who is known to a lake."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.confirm import confirm
from trunkline.cli.output import Column
from trunkline.cli.text import fields, local_time
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.model.access import User

app = App(name="user", help="Users: who is known to a served lake.")

UserName = Annotated[str, typer.Argument(metavar="USER", show_default=False)]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin.")]


@app.command()
def create(
    ctx: typer.Context,
    name: UserName,
    email: Annotated[str, typer.Option("--email", metavar="ADDRESS", help="For messages.")] = "",
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="A role on the whole lake.")
    ] = None,
    password_stdin: FromStdin = False,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="Only by token or single sign-on.")
    ] = False,
) -> None:
    """Make a user. The password is asked for."""
    run = session.of(ctx)
    if no_password and password_stdin:
        raise Usage("--no-password and --password-stdin contradict each other.")
    with run.open() as lake:
        password = None if no_password else _password(password_stdin)
        made = lake.create_user(name, password, email, {"lake": role} if role else None)
    run.output.done(made, f"Created user {name}." + ("" if role else f" {_NO_ROLE} {name} ROLE"))


_NO_ROLE = "They may do nothing yet: trunkline role grant"


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List users."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.table(lake.users(), USERS, empty="No users: trunkline user create NAME.")


@app.command()
def inspect(ctx: typer.Context, name: UserName) -> None:
    """Show a user and their roles."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.item(lake.user(name), _lines)


@app.command()
def delete(
    ctx: typer.Context,
    name: UserName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a user with their roles and tokens."""
    run = session.of(ctx)
    confirm(f"Delete the user {name} with their tokens?", yes)
    with run.open() as lake:
        lake.delete_user(name)
    run.output.done({"deleted": name}, f"Deleted user {name}.")


@app.command()
def disable(ctx: typer.Context, name: UserName) -> None:
    """Let a user in no more, until they are enabled again."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.disable_user(name)
    run.output.done(done, f"Disabled user {name}.")


@app.command()
def enable(ctx: typer.Context, name: UserName) -> None:
    """Let a user in again."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.enable_user(name)
    run.output.done(done, f"Enabled user {name}.")


@app.command()
def password(ctx: typer.Context, name: UserName, password_stdin: FromStdin = False) -> None:
    """Set a password; all logins of the user end."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.set_password(name, _password(password_stdin))
    run.output.done({"name": name}, f"Set the password of {name}.")


def _password(from_stdin: bool) -> str:
    """Never from the command line, where others could see it."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Usage(
            "Nobody is there to type a password.",
            hint="Give it by --password-stdin, or none by --no-password.",
        )
    import getpass

    given = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != given:
        raise Usage("The two are not the same.")
    return given


def _roles(user: User) -> str:
    return ", ".join(f"{role} on {scope}" for scope, role in _by_scope(user)) or "-"


def _by_scope(user: User) -> Iterator[tuple[str, str]]:
    from trunkline.model.access import roles_of

    yield from roles_of(user.grants).items()


def _state(user: User) -> str:
    return "disabled" if user.disabled else "enabled"


def _lines(user: User) -> list[str]:
    return fields(
        [
            ("name", user.name),
            ("email", user.email or "-"),
            ("state", _state(user)),
            ("password", "set" if user.has_password else "none"),
            ("roles", _roles(user)),
            ("created", local_time(user.created)),
        ]
    )


USERS = (
    Column("NAME", lambda one: one.name),
    Column("STATE", _state, style=lambda one: "bad" if one.disabled else ""),
    Column("EMAIL", lambda one: one.email or "-"),
    Column("CREATED", lambda one: local_time(one.created)),
    Column("ROLES", _roles),
)
