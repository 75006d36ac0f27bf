"""The port to the database: SQL text in, rows out, inside a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from trunkline.errors import Usage

Params = Mapping[str, Any]
NO_PARAMS: Params = {}


def not_text(error: UnicodeEncodeError) -> Usage:
    """For bytes that came in as text and are none: arguments in another encoding than UTF-8."""
    return Usage(f"{error.object!r} is not text that can be kept.", hint="Use UTF-8.")


class Row(Protocol):
    """A row whose columns are read by name."""

    def __getitem__(self, column: str, /) -> Any: ...


class Session(Protocol):
    """Statements inside one transaction. Parameters are written `:name`, never pasted."""

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        """Run a statement that returns no rows; the number of rows it touched."""
        ...

    def one(self, sql: str, params: Params = NO_PARAMS) -> Row | None:
        """The first row, or None."""
        ...

    def all(self, sql: str, params: Params = NO_PARAMS) -> Sequence[Row]:
        """All rows."""
        ...

    def now(self) -> int:
        """The database's clock, in microseconds since 1970 (UTC)."""
        ...

    def ring(self) -> None:
        """Wake all who wait in this process, once what was written is committed (`bell`)."""
        ...


Seat = tuple[str, str, str]
"""What tells a catalog from a copy of it: two of the three stay when it is moved, or served by
another machine; of a copy, one at most is the same.
"""


class Database(Protocol):
    """Opens transactions. Every session sees one consistent state of the database.

    Failures leave as `Unavailable` (locked, unreachable: nothing happened), `DiskFull`,
    `ReadOnly`, `CorruptObject`, `Usage` (text that is none), or `CommitUnknown` when the
    connection broke while a write was being made durable, so that it may or may not have happened.
    """

    url: str

    def read(self) -> AbstractContextManager[Session]:
        """A read transaction."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Session]:
        """A write transaction: committed on a clean exit, rolled back on an exception.

        Only one write transaction runs at a time, over all processes. With
        `durable=False` a power cut may undo it; use it for what dies with the process.
        """
        ...

    def seat(self, session: Session) -> Seat:
        """Where it is now."""
        ...

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its own pages; empty where it cannot tell."""
        ...

    def close(self) -> None: ...
