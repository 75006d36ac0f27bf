"""What is seen while jobs run: a moving picture on a terminal, else a line for each event.

Events come from the worker's threads, so each view takes them one at a time.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from trunkline.cli import jobviews, streamviews
from trunkline.cli.output import RICH, Style
from trunkline.cli.text import printable

if TYPE_CHECKING:
    from trunkline.model.jobs import Job, RunEvent
    from trunkline.model.streams import Batch

BAR = 24
IDLE = "Waiting for commits; Ctrl-C stops."
EMPTY, INGEST = "empty", "ingest"

Write = Callable[[str], None]


class View(ABC):
    """A listener for `lake.run`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.running: dict[str, RunEvent] = {}

    def __call__(self, event: RunEvent) -> None:
        with self._lock:
            if event.job is None:
                self.said(event)
                return
            name = jobviews.job_name(event.job)
            known = name in self.running
            if event.kind == EMPTY:
                self.running.pop(name, None)
                self.empty(event.job)
            elif str(event.job.state) in ("running", "finishing"):
                self.running[name] = event
                if not known and not event.job.is_stream:
                    self.started(event.job)
                elif not known:
                    self.stream_started(event.job)
            else:
                self.running.pop(name, None)
                if event.batch is not None:
                    self.batch(event.job, event.batch)
                else:
                    self.ended(event.job)

    @abstractmethod
    def said(self, event: RunEvent) -> None:
        """Spark, an ingest, or a note."""

    @abstractmethod
    def started(self, job: Job) -> None: ...

    @abstractmethod
    def ended(self, job: Job) -> None:
        """It is over, or waits again."""

    @abstractmethod
    def batch(self, job: Job, batch: Batch) -> None:
        """A job of a stream has made its commit."""

    @abstractmethod
    def stream_started(self, job: Job) -> None:
        """A job of a stream runs. There may be one every second."""

    @abstractmethod
    def empty(self, job: Job) -> None:
        """A job of a stream is gone: nothing came of it."""


class Lines(View):
    """A line when a job starts, and when it ends; of a stream one for each batch that made a
    commit. `clock` puts the moment before each.
    """

    def __init__(self, write: Write, style: Style, clock: bool = False) -> None:
        super().__init__()
        self._write = write
        self._style = style
        self._clock = clock

    def said(self, event: RunEvent) -> None:
        self._say(printable(event.text))

    def started(self, job: Job) -> None:
        cause = f"  {printable(job.cause)}" if job.cause else ""
        sign = self._style("on", f"{jobviews.state_sign('running')} {jobviews.job_name(job)}")
        self._say(f"{sign}{cause}")

    def ended(self, job: Job) -> None:
        self._say(jobviews.ended(job, self._style))

    def batch(self, job: Job, batch: Batch) -> None:
        self._say(jobviews.ended_batch(job, batch, self._style))

    def stream_started(self, job: Job) -> None:
        """That it ended is news enough."""

    def empty(self, job: Job) -> None:
        """No news."""

    def _say(self, line: str) -> None:
        at = time.strftime("%Y-%m-%d %H:%M:%S  ") if self._clock else ""
        self._write(f"{self._style('dim', at)}{line}")


class Events(View):
    """An object for each line: jobs as they start and end."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._write = write

    def said(self, event: RunEvent) -> None:
        self._write({"event": event.kind, "text": event.text})

    def started(self, job: Job) -> None:
        self._write({"event": "started", "job": job})

    def ended(self, job: Job) -> None:
        self._write({"event": "ended" if job.state.is_over else "returned", "job": job})

    def batch(self, job: Job, batch: Batch) -> None:
        self._write({"event": "ended", "job": job, "batch": batch})

    def stream_started(self, job: Job) -> None:
        self.started(job)

    def empty(self, job: Job) -> None:
        self._write({"event": EMPTY, "job": job})


class Picture(View):
    """On a terminal: a row with a bar for each running job; finished jobs scroll away above.

    A stream or an ingest has one line that stays, with what it did last.
    """

    def __init__(self, console: Any, style: Style, idle: str = "") -> None:
        super().__init__()
        self._console = console
        self._style = style
        self._idle = idle
        self._spark: tuple[str, float] | None = None
        self._flows: dict[str, str] = {}

    def said(self, event: RunEvent) -> None:
        if event.kind == INGEST:
            name, _, text = printable(event.text).partition(": ")
            self._flows[name] = text
        elif event.kind != "spark":
            self._print(printable(event.text))
        elif "ready" in event.text:
            self._spark = None
            self._print(self._style("dim", f"  {printable(event.text)}"))
        else:
            self._spark = (printable(event.text), time.monotonic())

    def started(self, job: Job) -> None:
        """Its row says so."""

    def ended(self, job: Job) -> None:
        self._print(jobviews.ended(job, self._style))

    def batch(self, job: Job, batch: Batch) -> None:
        self._flows[str(job.pipeline)] = streamviews.numbered_words(batch)

    def stream_started(self, job: Job) -> None:
        self._flows.setdefault(str(job.pipeline), "")

    def empty(self, job: Job) -> None:
        """Its line says what it did before."""

    def _print(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text.from_ansi(line), no_wrap=True, overflow="ellipsis", crop=True)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        with self._lock:
            events = [one for one in self.running.items() if not _is_stream(one[1])]
            busy = {str(one.job.pipeline) for one in self.running.values() if one.job}
            spark, flows = self._spark, sorted(self._flows.items())
        parts: list[Any] = [_rows(events)] if events else []
        if flows:
            parts.append(_flow_rows(flows, busy))
        if spark is not None:
            parts.append(Text(f"  {spark[0]} … {time.monotonic() - spark[1]:.0f}s", RICH["on"]))
        elif not events and not flows and self._idle:
            parts.append(Text(f"  {self._idle}", "dim"))
        return Group(*parts)

    @contextmanager
    def shown(self) -> Iterator[None]:
        from rich.live import Live

        with Live(
            get_renderable=self.__rich__,
            console=self._console,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=True,
        ):
            yield


def _rows(events: list[tuple[str, RunEvent]]) -> Any:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(width=BAR)
    for _ in range(2):
        grid.add_column(no_wrap=True)
    for name, event in events:
        counted = event.total or None
        bar = ProgressBar(
            total=counted,
            completed=event.done + event.skipped,
            width=BAR,
            pulse=counted is None,
            complete_style="cyan",
        )
        sign = Text(f"{jobviews.state_sign('running')} {name}", RICH["on"])
        detail = Text(progress_text(event))
        if event.failed:
            detail.highlight_regex(r"[\d,]+ failed", RICH["bad"])
        grid.add_row(sign, bar, Text(amount(event)), detail)
    return grid


def _is_stream(event: RunEvent) -> bool:
    return event.job is not None and event.job.is_stream


def _flow_rows(flows: list[tuple[str, str]], busy: set[str]) -> Any:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    for name, text in flows:
        sign, style = ("running", "on") if name in busy else ("idle", "dim")
        grid.add_row(Text(f"{jobviews.state_sign(sign)} {name}", RICH[style]), Text(text))
    return grid


def amount(event: RunEvent) -> str:
    """`512/1,000`; how long it has run while nothing is counted yet."""
    if event.total:
        return f"{event.done + event.skipped:,}/{event.total:,}"
    return jobviews.job_took(event.job) if event.job else ""


def progress_text(event: RunEvent) -> str:
    """`3 failed  12 skipped  85 datums/s  6s left`."""
    parts = []
    if event.failed:
        parts.append(f"{event.failed:,} failed")
    if event.skipped:
        parts.append(f"{event.skipped:,} skipped")
    if event.rate:
        parts.append(jobviews.speed(event.rate))
    if event.left is not None and event.done + event.skipped < event.total:
        parts.append(f"{left(event.left)} left")
    return "  ".join(parts)


def left(seconds: float) -> str:
    """`6s`, `4m05s`: nobody wants tenths of the future."""
    return f"{seconds:.0f}s" if seconds < 59.5 else jobviews.took(seconds)


def on_terminal(stack: ExitStack, stream: Any, style: Style, idle: str) -> View:
    """A picture on the stream, for as long as the stack is open."""
    from rich.console import Console

    console = Console(file=stream, no_color=not style.on, highlight=False)
    picture = Picture(console, style, idle)
    stack.enter_context(picture.shown())
    return picture
