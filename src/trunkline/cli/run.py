"""Doing the work: run, worker, tick."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trunkline.cli import live, session
from trunkline.cli.arguments import App, PipelineName
from trunkline.cli.jobviews import took
from trunkline.cli.text import count
from trunkline.engine.environ import keep_to_itself
from trunkline.errors import Usage
from trunkline.model.egress import Delivery, DeliveryState

if TYPE_CHECKING:
    from trunkline.cli.session import Session
    from trunkline.sdk.lake import Lake
    from trunkline.sdk.running import RunReport
    from trunkline.server.child import Greeting

app = App()

INTERRUPTED = 130
SERVED = "The server's workers have nothing left to run."

AtOnce = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", help="Jobs at once; else worker.jobs."),
]


@app.command()
def run(
    ctx: typer.Context,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on as commits come, until Ctrl-C.")
    ] = False,
    jobs: AtOnce = None,
) -> None:
    """Run all jobs that wait, here, and exit. Exit code 1 if one failed."""
    current = session.of(ctx)
    _work(current, watch=watch, clock=False, jobs=jobs)


@app.command()
def worker(
    ctx: typer.Context,
    jobs: AtOnce = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What jobs say who ran them.")
    ] = "",
    socket: Annotated[
        str | None,
        typer.Option("--socket", metavar="PATH", help="For the workers of serve.", hidden=True),
    ] = None,
) -> None:
    """Run jobs as they come, with a line for each, until stopped."""
    _work(session.of(ctx), watch=True, clock=True, jobs=jobs, name=name, socket=socket)


def _work(
    run: Session,
    *,
    watch: bool,
    clock: bool,
    jobs: int | None,
    name: str = "",
    socket: str | None = None,
) -> None:
    if jobs is not None and jobs < 1:
        raise Usage(f"--jobs: {jobs} at once are too few.")
    stop = threading.Event()
    if clock:
        keep_to_itself()
    under = _under_server() if socket else None
    with ExitStack() as stack:
        # A worker is never one by way of a server; `clock` is a worker's.
        lake = stack.enter_context(run.open(direct=clock))
        if socket and under:
            stop = _serve_queries(run, stack, lake, Path(socket), *under)
        signals = stack.enter_context(stopped_by_signals(stop))
        view = _view(run, stack, watch, clock)
        report = lake.run(watch=watch, listener=view, stop=stop, jobs=jobs, name=name)
    if signal.SIGINT in signals:
        raise typer.Exit(INTERRUPTED)
    if not watch:
        run.output.done(report, "\n".join([summary(report, lake.server), *report.held]))
    if report.failed and not watch:
        raise typer.Exit(1)


def _under_server() -> tuple[io.FileIO, Greeting]:
    """The pipe from the server that started us, and what came first: also variables of ours."""
    from trunkline.server import child

    pipe = child.server_pipe()
    greeting = child.greeted(pipe)
    os.environ.update(greeting.environ)
    return pipe, greeting


def _serve_queries(
    run: Session,
    stack: ExitStack,
    lake: Lake,
    socket: Path,
    pipe: io.FileIO,
    greeting: Greeting,
) -> threading.Event:
    """Live and die with the server; what stops us."""
    from trunkline.server import child

    child.start_logging(lake._folder, run.settings)
    stack.enter_context(child.answering(socket, lake, run.settings, greeting))
    return child.end_with(pipe)


def _view(run: Session, stack: ExitStack, watch: bool, clock: bool) -> live.View | None:
    """Who watches decides what is shown: a person, a log, a program, or nobody."""
    if run.settings.flag("json"):
        return live.Events(lambda item: run.output.follow([item], list)) if watch else None
    if run.settings.flag("quiet"):
        return None
    if not clock and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return live.on_terminal(stack, sys.stdout, run.output.style, live.IDLE if watch else "")
    return live.Lines(_write, run.output.style, clock)


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def summary(report: RunReport, server: str = "") -> str:
    """`3 jobs in 4.2s, 1 failed.`"""
    if server and not report.jobs:
        # They do not wait to be told: what was to be done may have been done before we asked.
        return f"{SERVED}\ntrunkline job list shows what they have run."
    undelivered = _undelivered(report)
    if not report.jobs and report.deliveries:
        out = len(report.deliveries)
        return f"{out:,} {'delivery' if out == 1 else 'deliveries'}.{undelivered}"
    if not report.jobs:
        came = any(one.commits for one in report.ingests)
        return "No jobs to run." if came else "Nothing to run."
    bad = report.failed - len(_given_up(report))
    failed = f", {bad:,} failed" if bad else ""
    return f"{count(len(report.jobs), 'job')} in {took(report.seconds)}{failed}.{undelivered}"


def _undelivered(report: RunReport) -> str:
    """What is done and has not gone out, each with why."""
    lost = _given_up(report)
    return "".join(f"\nNot delivered: {d.pipeline} to {d.target}: {d.reason}" for d in lost)


def _given_up(report: RunReport) -> list[Delivery]:
    return [one for one in report.deliveries if one.state is DeliveryState.FAILED]


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[list[int]]:
    """Ctrl-C or a polite kill lets go of what runs; a second Ctrl-C does not wait for that."""
    came: list[int] = []

    def note(number: int, frame: Any) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)
        stop.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@app.command()
def tick(
    ctx: typer.Context,
    pipeline: PipelineName,
    name: Annotated[
        str | None, typer.Option("--name", metavar="INPUT", help="Only this cron input.")
    ] = None,
) -> None:
    """Tick a pipeline's schedule or cron inputs now, by hand."""
    current = session.of(ctx)
    with current.open() as lake:
        made = lake.tick(pipeline, name)
    said = "\n".join(f"Ticked {commit.repo}: commit {commit.short_id}." for commit in made)
    current.output.done(made, said)
