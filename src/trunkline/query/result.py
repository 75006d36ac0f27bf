"""What a query gives: rows, read when they are asked for, in the form that is wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition
from trunkline.query.lookup import Source
from trunkline.tables.reading.frames import Frames

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]
SHOWN_ROWS = 20
CHUNK = 2048


class Stop:
    """How a query is stopped before there is an answer: its engine says so when it begins."""

    def __init__(self) -> None:
        self.cancel: Callable[[], object] = lambda: None
        self.spill: str = ""
        """The folder where its engine puts what memory does not hold."""


class Answer(ABC):
    """A query in an engine, bound and not yet run. Each way to read it runs it."""

    names: tuple[str, ...]
    types: tuple[str, ...]

    @abstractmethod
    def chunks(self, limit: int | None = None) -> Iterator[list[Row]]:
        """The rows, some at a time."""

    @abstractmethod
    def batches(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow batches."""

    def cancel(self) -> None:  # noqa: B027 - what is known already cannot be stopped
        """Stop whoever reads it, from another thread. Nobody who reads it later is stopped."""

    def close(self) -> None:  # noqa: B027 - most hold nothing that others wait for
        """Let go of what reads it."""

    def frame(self) -> Any:
        raise Precondition(
            "This query ran on DuckDB.", hint='Ask Spark: lake.sql(…, engine="spark").'
        )


class Result(Frames):
    """The rows of a query. Reading them runs it, and reading them again runs it again.

    `sources` are the tables it reads, each with the commit; those never change, so neither does
    the answer (but for functions such as random()).
    """

    def __init__(
        self,
        answer: Answer,
        text: str,
        sources: tuple[Source, ...] = (),
        write: Callable[[Result, str, str], Any] | None = None,
    ) -> None:
        self._answer = answer
        self._write = write
        self.text = text
        self.sources = sources

    @property
    def columns(self) -> tuple[str, ...]:
        return self._answer.names

    @property
    def types(self) -> tuple[str, ...]:
        """As tables name them: bigint, decimal(12,2), date …"""
        return self._answer.types

    def __iter__(self) -> Iterator[Row]:
        return self.take()

    def take(self, limit: int | None = None) -> Iterator[Row]:
        """The rows one by one, at most so many."""
        for chunk in self._answer.chunks(limit):
            yield from chunk

    def rows(self, limit: int | None = None) -> list[Row]:
        return list(self.take(limit))

    def dicts(self) -> list[dict[str, Any]]:
        names = unique(self.columns)
        return [dict(zip(names, row, strict=True)) for row in self]

    def batches(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow batches, for results larger than memory."""
        return self._answer.batches()

    def arrow(self) -> pa.Table:
        return self.batches().read_all()

    def spark(self) -> Any:
        """The Spark DataFrame; only of a query that Spark was asked."""
        return self._answer.frame()

    def cancel(self) -> None:
        """Stop whoever reads the rows just now, in another thread."""
        self._answer.cancel()

    def close(self) -> None:
        """Let go of what the rows are read from: they cannot be read after that."""
        self._answer.close()

    def into(self, target: str, *, mode: str = "overwrite") -> Any:
        """Write the rows as a table, in one commit that says where they are from."""
        if self._write is None:
            raise Precondition("There is no lake behind this result.")
        return self._write(self, target, mode)

    @property
    def provenance(self) -> str:
        """One line: which tables, at which commits, by which SQL."""
        read = ", ".join(dict.fromkeys(map(str, self.sources)))
        sql = " ".join(self.text.split())
        short = sql if len(sql) <= 200 else sql[:199] + "…"
        return f"sql from {read}: {short}" if read else f"sql: {short}"

    def __repr__(self) -> str:
        lines, more = self._shown()
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)] if lines else []
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*text, *(["…"] if more else [])])

    def _repr_html_(self) -> str:
        from html import escape

        (head, *body), more = self._shown()
        cells = "".join(f"<th>{escape(name)}</th>" for name in head)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body
        )
        tail = "<p>…</p>" if more else ""
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>{tail}"

    def _shown(self) -> tuple[list[list[str]], bool]:
        rows = self.rows(SHOWN_ROWS + 1)
        body = [["" if one is None else str(one) for one in row] for row in rows[:SHOWN_ROWS]]
        return [list(self.columns), *body], len(rows) > SHOWN_ROWS


def unique(names: tuple[str, ...]) -> list[str]:
    """The names with none twice: a second `n` is `n_2`."""
    taken: set[str] = set()
    found = []
    for name in names:
        number, new = 2, name
        while new in taken or (new != name and new in names):
            new, number = f"{name}_{number}", number + 1
        taken.add(new)
        found.append(new)
    return found
