"""`trunkline role`: what users may do, and where."""

from __future__ import annotations

from typing import Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App
from trunkline.cli.output import Column

app = App(name="role", help="Roles: what users may do on the lake, a project or a repo.")

UserName = Annotated[str, typer.Argument(metavar="USER", show_default=False)]
RoleName = Annotated[
    str,
    typer.Argument(metavar="ROLE", help="reader, writer, maintainer or admin.", show_default=False),
]
Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="lake, a project, or project/repo.")]


@app.command()
def grant(ctx: typer.Context, user: UserName, role: RoleName, scope: Scope = "lake") -> None:
    """Give a role, in place of the one that the user has there."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.grant(user, role, scope)
    run.output.done(done, f"{user} is {role} on {scope}.")


@app.command()
def revoke(ctx: typer.Context, user: UserName, scope: Scope = "lake") -> None:
    """Take the role on a scope away."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.revoke_grant(user, scope)
    run.output.done(done, f"{user} has no role of their own on {scope}.")


@app.command("list")
def list_(ctx: typer.Context) -> None:
    """List who has which role where."""
    from trunkline.model.access import roles_of

    run = session.of(ctx)
    with run.open() as lake:
        found = [
            {"user": user.name, "scope": scope, "role": role}
            for user in lake.users()
            for scope, role in roles_of(user.grants).items()
        ]
    run.output.table(found, ROLES, empty="Nobody has a role: trunkline role grant USER ROLE.")


ROLES = (
    Column("USER", lambda one: str(one["user"])),
    Column("SCOPE", lambda one: str(one["scope"])),
    Column("ROLE", lambda one: str(one["role"])),
)
