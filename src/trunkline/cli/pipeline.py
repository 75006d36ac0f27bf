"""`trunkline pipeline`: what is computed from what."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import complete, jobviews, planviews, session
from trunkline.cli.arguments import (
    App,
    Arguments,
    DryRun,
    Env,
    Files,
    NoReprocess,
    PipelineName,
    Reprocess,
)
from trunkline.cli.confirm import must_confirm
from trunkline.cli.deleting import Yes, may_delete
from trunkline.cli.text import count, printable
from trunkline.cli.views import short
from trunkline.errors import Usage
from trunkline.model import yamltext
from trunkline.model.shape import as_json

if TYPE_CHECKING:
    from trunkline.cli.session import Session
    from trunkline.model.flowstatus import IngestStatus, StreamStatus
    from trunkline.model.pipelines import PipelineInfo
    from trunkline.sdk.lake import Lake
    from trunkline.sdk.reports import ApplyReport, PlanReport

app = App(name="pipeline", help="Pipelines: what is computed from what.")

LATEST_JOBS = 5
TICKS = 3


@app.command()
def apply(
    ctx: typer.Context,
    files: Files,
    reprocess: Reprocess = False,
    no_reprocess: NoReprocess = False,
    args: Arguments = None,
    env: Env = None,
    dry_run: DryRun = False,
) -> None:
    """Make pipelines, or new versions of them: all or none."""
    run = session.of(ctx)
    how: dict[str, Any] = {
        "reprocess": reprocess,
        "no_reprocess": no_reprocess,
        "args": arguments(args),
        "env": env,
    }
    with run.open() as lake:
        if dry_run:
            plan = lake.plan(*files, **how)
            tell_notes(run, plan)
            run.output.item(plan, lambda p: planviews.plan_lines(p, run.output.style))
            return
        report = lake.apply(*files, **how)
    tell_notes(run, report)
    lines = [jobviews.applied(one) for one in report.applied]
    if any(one.job for one in report.applied):
        lines.append(run.who_runs)
    run.output.done(report, "\n".join(lines))


def arguments(given: list[str] | None) -> dict[str, str]:
    """`--arg name=value`, as jsonnet gets them."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise Usage(f"--arg: {text!r} is not of the form name=value.")
        found[name] = value
    return found


def tell_notes(run: Session, report: ApplyReport | PlanReport) -> None:
    """What a reader should know beside the answer, on stderr. JSON has it in the answer."""
    if run.settings.flag("json") or run.settings.flag("quiet"):
        return
    notes = list(report.notes)
    if report.ignored:
        notes.insert(0, f"ignored, without effect here: {', '.join(report.ignored)}")
    for note in notes:
        sys.stderr.write(f"note: {printable(note)}\n")


@app.command("list")
def list_(
    ctx: typer.Context,
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Of every project.")] = False,
    env: Env = None,
) -> None:
    """List pipelines with their state and how their last job ended."""
    if everywhere and env is not None:
        raise Usage("An environment is one project's: --all and --env do not go together.")
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.pipelines(all_projects=everywhere, env=env)
    empty = "No pipelines yet: trunkline pipeline apply FILE."
    run.output.table(found, jobviews.PIPELINES, empty=empty)


@app.command()
def inspect(
    ctx: typer.Context,
    name: PipelineName,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="An older version.")
    ] = None,
    spec: Annotated[bool, typer.Option("--spec", help="Only the spec, to apply again.")] = False,
) -> None:
    """Show one pipeline with its latest jobs and its spec."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.pipeline(name, version)
        jobs = [] if spec or version else lake.jobs(pipeline=name, limit=LATEST_JOBS)
        ticks = lake.next_ticks(name, TICKS) if found.schedule and not version else []
        flow = _flow(lake, found) if not spec and not version else None
    if spec:
        run.output.item(found.spec, yamltext.lines)
        return
    style = run.output.style
    shown = found if flow is None else {**as_json(found), "flow": flow}
    run.output.item(shown, lambda _: jobviews.pipeline_page(found, jobs, ticks, style, flow))


@app.command()
def why(ctx: typer.Context, name: PipelineName) -> None:
    """Say why a pipeline does not run now, or that it does."""
    run = session.of(ctx)
    with run.open() as lake:
        lines = lake.why(name)
    run.output.item({"lines": lines}, lambda _: map(printable, lines))


def _flow(lake: Lake, found: PipelineInfo) -> StreamStatus | IngestStatus | None:
    """How a stream or an ingest goes; None for others."""
    name = f"{found.name.project}/{found.name.repo}"
    if found.kind == "stream":
        return lake.stream(name)
    return lake.ingest(name) if found.kind == "ingest" else None


@app.command()
def versions(ctx: typer.Context, name: PipelineName) -> None:
    """List a pipeline's versions, newest first.

    What changed in the code: trunkline diff NAME.code@v1 NAME.code@v2.
    """
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.pipeline_versions(name)
    run.output.table(found, jobviews.VERSIONS)


@app.command()
def restore(
    ctx: typer.Context,
    name: PipelineName,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Which one.", min=1)],
) -> None:
    """Make an earlier version the newest one, with its code. Its results are used again."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.restore_pipeline(name, version)
    run.output.done(done, jobviews.applied(done))


@app.command()
def delete(
    ctx: typer.Context,
    name: PipelineName,
    force: Annotated[bool, typer.Option("--force", help="Even if others read it.")] = False,
    keep_repo: Annotated[
        bool, typer.Option("--keep-repo", help="Leave its data, as a plain repo.")
    ] = False,
    env: Env = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete a pipeline and its output. Until gc it can be had back: undelete."""
    run = session.of(ctx)
    with run.open() as lake:
        if env is not None and dry_run:
            raise Usage(
                "--dry-run does not go with --env: there a pipeline is only taken off the list.",
                hint="Its data there stays; trunkline pipeline apply --env brings it back.",
            )
        if env is not None:
            must_confirm(f"Delete pipeline {name} in {env}?", yes)
        elif not may_delete(
            run,
            lake,
            "pipeline",
            name,
            yes=yes,
            dry_run=dry_run,
            force=force,
            keep_repo=keep_repo,
        ):
            return
        lake.delete_pipeline(name, force=force, keep_repo=keep_repo, env=env)
    if env is not None:
        run.output.done({"deleted": name, "env": env}, f"Deleted pipeline {name} in {env}.")
        return
    kept = f"; its data stays in the repo {name}" if keep_repo else ""
    run.output.done({"deleted": name}, f"Deleted pipeline {name}{kept}.")


@app.command()
def pause(ctx: typer.Context, name: PipelineName) -> None:
    """Start no jobs until it is resumed; those that run are stopped."""
    run = session.of(ctx)
    with run.open() as lake:
        lake.pause_pipeline(name)
    run.output.done({"paused": name}, f"Paused {name}.")


@app.command()
def resume(ctx: typer.Context, name: PipelineName) -> None:
    """Go on; all that came meanwhile makes one job."""
    run = session.of(ctx)
    with run.open() as lake:
        job = lake.resume_pipeline(name)
    said = f"job {name}@{short(job)} is waiting" if job else "nothing came meanwhile"
    run.output.done({"resumed": name, "job": job}, f"Resumed {name}: {said}.")


@app.command()
def run(ctx: typer.Context, name: PipelineName, env: Env = None) -> None:
    """Make a job at the present heads, whatever changed."""
    run = session.of(ctx)
    with run.open() as lake:
        job = lake.run_pipeline(name, env=env)
    run.output.done(
        {"pipeline": name, "job": job},
        f"Job {name}@{short(job)} is waiting. {run.who_runs}",
    )


@app.command()
def backfill(
    ctx: typer.Context,
    name: PipelineName,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="REF",
            help="The first commit; else the oldest.",
            autocompletion=complete.revisions,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="REF",
            help="The last commit; else the newest.",
            autocompletion=complete.revisions,
        ),
    ] = None,
    branch: Annotated[
        str, typer.Option("--branch", metavar="NAME", help="Where the output goes; else its own.")
    ] = "",
) -> None:
    """Make jobs for past commits, their output on a branch apart."""
    run = session.of(ctx)
    with run.open() as lake:
        made = lake.backfill(name, from_=from_, to=to, branch=branch)
    run.output.done(
        made,
        f"Backfill {short(made.id)}: {count(made.total, 'job')} for {made.span}, "
        f"to {name}@{made.branch}.",
    )


@app.command()
def schema(
    ctx: typer.Context,
    path: Annotated[bool, typer.Option("--path", help="Only where the file is.")] = False,
) -> None:
    """Print the JSON Schema of specs, for editors."""
    from trunkline.pipelines.spec.places import SCHEMA_FILE

    run = session.of(ctx)
    if path:
        run.output.item({"path": str(SCHEMA_FILE)}, lambda found: [found["path"]])
        return
    text = SCHEMA_FILE.read_text(encoding="utf-8")
    run.output.item(json.loads(text), lambda _: text.splitlines())
