"""A bar with rate and time left, on stderr, for a person who waits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from trunkline.cli.session import Session
from trunkline.model.best_effort import BestEffort

# Called with the files and bytes done since the last call.
Report = Callable[[int, int], None]


@contextmanager
def progress(
    session: Session, verb: str, total: Callable[[], int | None]
) -> Iterator[Report | None]:
    """A function to report to, or None where nobody looks.

    `total` is asked for the bytes in all, beside the work: counting must not delay it.
    """
    if not session.shows_progress:
        yield None
        return
    from rich import progress as rich
    from rich.console import Console

    bar = rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.DownloadColumn(binary_units=True),
        rich.TransferSpeedColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[files]:,} files"),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(verb, total=None, files=0)
    done = 0

    def count() -> None:
        with BestEffort("Counting bytes"):
            bar.update(task, total=total())

    def report(files: int, size: int) -> None:
        nonlocal done
        done += files
        bar.update(task, advance=size, files=done)

    with bar:
        threading.Thread(target=count, daemon=True).start()
        yield report


def local_bytes(sources: Sequence[str]) -> int | None:
    """The size of all files below the sources; None when it cannot be known."""
    if not all(os.path.exists(source) for source in sources):
        return None
    return sum(_size(source) for source in sources)


def _size(path: str) -> int:
    if not os.path.isdir(path):
        return os.path.getsize(path)
    with os.scandir(path) as entries:
        return sum(
            _size(entry.path) if entry.is_dir(follow_symlinks=False) else entry.stat().st_size
            for entry in entries
        )
