"""How lists of what the lake answers look: as one table. And jobs while they run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from trunkline.model.display import table
from trunkline.model.shape import as_json

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from trunkline.model.jobs import Job, RunEvent

_OURS = "trunkline."
_HIDDEN = {"spec", "inputs", "counts", "told_reason", "told_cause"}
"""Fields that say too much for a line."""
_OVER = ("success", "failure", "unrunnable", "killed")


def show_lists(shell: InteractiveShell) -> None:
    """Lists whose members are all the lake's are shown as a table, others as ever."""
    formatters: Any = shell.display_formatter.formatters  # type: ignore[union-attr]
    formatters["text/html"].for_type(list, listed)
    formatters["text/html"].for_type(tuple, listed)


def listed(values: Sequence[Any]) -> str | None:
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if not kind.__module__.startswith(_OURS) or not is_dataclass(kind):
        return None
    shown = ({k: v for k, v in as_json(one).items() if k not in _HIDDEN} for one in values)
    return table(f"{len(values)} × {kind.__name__}", shown)


class Progress:
    """A listener for `lake.run` that shows its jobs in the cell, as they go."""

    def __init__(self) -> None:
        from IPython import display as pages

        shown: Any = pages
        self._html = shown.HTML
        self._lock = threading.Lock()
        self._jobs: dict[str, RunEvent] = {}
        self._said = ""
        self._handle: Any = shown.display(shown.HTML(""), display_id=True)

    def __call__(self, event: RunEvent) -> None:
        with self._lock:
            if event.job is None:
                self._said = event.text
            elif event.kind == "empty":
                self._jobs.pop(_name(event.job), None)
            else:
                self._jobs[_name(event.job)] = event
            self._handle.update(self._html(self._picture()))

    def _picture(self) -> str:
        rows = "".join(_row(event) for event in self._jobs.values() if event.job is not None)
        # The last word is Spark's or an ingest's; it is over once all jobs are.
        busy = any(e.job and str(e.job.state) not in _OVER for e in self._jobs.values())
        said = f"<p>{escape(self._said)}</p>" if self._said and (busy or not rows) else ""
        return f"<table><tbody>{rows}</tbody></table>{said}"


def _row(event: RunEvent) -> str:
    assert event.job is not None
    job, counts = event.job, event.job.counts
    over = str(job.state) in _OVER
    done = counts.processed + counts.failed + counts.recovered + counts.skipped
    bar = f"<progress max='{max(counts.total, 1)}' value='{done if not over else counts.total}'>"
    facts = [f"{counts.total} datums" if counts.total else "", job.reason]
    if counts.rows_out is not None:
        facts.insert(1, f"{counts.rows_out:,} rows")
    cells = (
        escape(_name(job)),
        f"{bar}</progress>" if not over else escape(str(job.state)),
        escape(", ".join(fact for fact in facts if fact)),
    )
    return "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>"


def _name(job: Job) -> str:
    return f"{job.pipeline}@{job.short_id}"
