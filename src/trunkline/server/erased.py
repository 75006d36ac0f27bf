"""What a server's computer still has of bytes that were erased, here or on another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from trunkline.model.events import Event
from trunkline.query.answer_files import forget_answers
from trunkline.tables.discovery.facts import FactCache


def at_erasures(forget: Callable[[], None]) -> Callable[[Sequence[Event]], None]:
    """A watcher of events that forgets something at each erasure."""

    def watch(new: Sequence[Event]) -> None:
        if any(event.kind == "erase" for event in new):
            forget()

    return watch


def forget_rows(lake: Path) -> None:
    """Rows of answers, and bounds of columns."""
    forget_answers(lake)
    FactCache().forget()
