"""The lake as a whole: init, migrate, adopt, status, gc, fsck, forget, erase."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline import settings
from trunkline.cli import reports, session
from trunkline.cli.arguments import App, CommitRef, DryRun, Ref
from trunkline.cli.confirm import confirm, must_confirm
from trunkline.cli.deleting import Yes, may_delete
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.cli.session import Session

app = App()


@app.command()
def init(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder.")] = ".",
    catalog: Annotated[
        str | None,
        typer.Option("--catalog", metavar="URL", help="postgresql://…; else SQLite in the folder."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="s3://bucket/prefix; else the folder."),
    ] = None,
) -> None:
    """Make a lake, or join one that others made. It is found from every folder below it."""
    from trunkline import sdk

    run = session.of(ctx)
    with sdk.init(path, catalog=catalog, store=store) as lake:
        found = {"lake": lake.location}
        if lake._core.joined and catalog:
            address = settings.without_password(catalog)
            said = f"Joined the lake of {address} from {lake.location}."
            run.output.done({**found, "joined": address}, said)
        else:
            run.output.done(found, f"Made a lake in {lake.location}.")


@app.command()
def migrate(ctx: typer.Context) -> None:
    """Bring an older lake to the format of this version."""
    from trunkline import sdk

    run = session.of(ctx)
    report = sdk.migrate(run.lake_folder())
    if report.from_format == report.to_format:
        run.output.done(report, f"The lake has format {report.to_format} already.")
    else:
        run.output.done(report, f"Migrated from format {report.from_format} to {report.to_format}.")


@app.command()
def adopt(
    ctx: typer.Context,
    as_new: Annotated[
        bool,
        typer.Option("--as-new", help="The other lake lives on: this one is another, and acts."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Say that a lake that was moved, copied or restored is the one in use from now on."""
    from trunkline import sdk

    run = session.of(ctx)
    question = (
        "Let this lake send, take in and tick beside the one it came from?"
        if as_new
        else "Is the lake that this one came from out of use?"
    )
    must_confirm(question, yes)
    done = sdk.adopt(run.lake_folder(), as_new=as_new)
    if not done.was_held and not done.took_store:
        said = "The lake is at home here already."
    elif as_new:
        said = "It is a lake of its own; its ingests, schedules, deliveries and notices go on."
    else:
        said = "The lake is at home here now; its ingests, schedules, deliveries and notices go on."
    run.output.done(done, said)


@app.command()
def status(ctx: typer.Context) -> None:
    """Show what the lake holds and what is open in it."""
    run = session.of(ctx)
    with run.open() as lake:
        found = replace(lake.status(), server=lake.server, context=run.place.context)
    run.output.item(found, reports.status_lines)


@app.command()
def gc(
    ctx: typer.Context,
    dry_run: DryRun = False,
    grace: Annotated[
        str | None,
        typer.Option("--grace", metavar="DURATION", help="Leave alone what is younger, as 24h."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Delete what nothing refers to any more. Safe while others work."""
    run = session.of(ctx)
    seconds = _grace(run, grace)
    with run.open() as lake:
        if grace is not None and not seconds and not dry_run:
            must_confirm("Without a grace nothing that was deleted can be had back. Go on?", yes)
        report = lake.gc(dry_run=dry_run, grace=seconds)
    run.output.item(report, reports.gc_lines)


def _grace(run: Session, typed: str | None) -> float:
    if typed is None:
        return run.settings.seconds("gc.grace")
    try:
        return settings.parse_duration(typed)
    except ValueError as error:
        raise Usage(f"--grace: {error}.") from None


@app.command()
def fsck(
    ctx: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Read and hash every byte.")] = False,
) -> None:
    """Check that everything the lake promises holds. Exit code 1 if it does not."""
    run = session.of(ctx)
    with run.open() as lake:
        report = lake.fsck(deep=deep)
    run.output.item(report, reports.fsck_lines)
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def forget(
    ctx: typer.Context, commit: CommitRef, dry_run: DryRun = False, yes: Yes = False
) -> None:
    """Throw away an old commit's bytes. Its record and lineage stay."""
    run = session.of(ctx)
    with run.open() as lake:
        if not may_delete(run, lake, "commit", commit, yes=yes, dry_run=dry_run):
            return
        lake.forget(commit)
    run.output.done({"forgotten": commit}, f"Forgot the bytes of {commit}; gc frees them.")


@app.command()
def erase(
    ctx: typer.Context,
    ref: Ref,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="For the record.")] = "",
    yes: Yes = False,
) -> None:
    """Remove a path's bytes from every commit, for good."""
    run = session.of(ctx)
    with run.open() as lake:
        confirm(f"Erase {ref} from every commit? This cannot be undone.", yes)
        report = lake.erase(ref, reason=reason)
    run.output.item(report, reports.erasure_lines)
