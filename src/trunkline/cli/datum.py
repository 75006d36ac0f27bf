"""`trunkline datum`: the units of work that inputs yield."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import complete, jobviews, session
from trunkline.cli.arguments import App, Arguments, JobName, Limit
from trunkline.cli.history import take
from trunkline.cli.pipeline import arguments
from trunkline.errors import AmbiguousId, NotFound, Usage
from trunkline.model.jobs import DatumState
from trunkline.model.suggest import did_you_mean

if TYPE_CHECKING:
    from trunkline.model.jobs import DatumInfo

app = App(name="datum", help="Datums: the units of work that inputs yield.")


@app.command("list")
def list_(
    ctx: typer.Context,
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="JOB",
            help="ID, PIPELINE@ID, or PIPELINE for its newest.",
            autocompletion=complete.jobs,
            show_default=False,
        ),
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="SPEC", help="Of a spec that need never have run."),
    ] = None,
    args: Arguments = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help=f"Only {', '.join(DatumState)}."),
    ] = None,
    limit: Limit = None,
) -> None:
    """List the datums of a job, or of a spec, with state and why."""
    from itertools import islice

    run = session.of(ctx)
    if (job is None) is (spec is None):
        raise Usage("Name either a job, or a spec with -f.")
    wanted = _state(state)
    with run.open() as lake:
        if spec is None:
            found: Iterable[DatumInfo] = lake.datums(job or "", state=wanted)
        else:
            pairs = lake.datums_of(spec, args=arguments(args))
            found = (one for _, one in pairs if wanted in (None, one.state))
        run.output.each(islice(take(found), limit), jobviews.datum_line(run.output.style))


def _state(text: str | None) -> DatumState | None:
    if text is None or text in list(DatumState):
        return DatumState(text) if text else None
    raise Usage(
        f'A datum is never "{text}".{did_you_mean(text, list(DatumState))}',
        hint=f"Its states: {', '.join(DatumState)}.",
    )


@app.command()
def inspect(
    ctx: typer.Context,
    job: JobName,
    datum: Annotated[
        str, typer.Argument(metavar="DATUM", help="Its id, or how it begins.", show_default=False)
    ],
) -> None:
    """Show one datum: what it read, how it went and why."""
    run = session.of(ctx)
    with run.open() as lake:
        found = _one(lake.datums(job), datum, job)
    run.output.item(found, lambda d: jobviews.datum_page(d, run.output.style))


def _one(datums: Iterable[DatumInfo], wanted: str, job: str) -> DatumInfo:
    found = [one for one in datums if one.id.startswith(wanted)]
    if not found:
        raise NotFound(
            f'{job} has no datum "{wanted}".', hint=f"trunkline datum list {job} shows them."
        )
    if len(found) > 1:
        raise AmbiguousId(f'"{wanted}" is the beginning of {len(found)} datums.')
    return found[0]
