"""A memory on this computer of what was found out at some cost: one SQLite file, safe to lose.

Records that look alike share a form, kept once. Nothing here raises: whatever is wrong with the
file, it is made anew, and without it all is only slower.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

KEEP_DAYS = 30
_DAY = 86_400
_BATCH = 500

_TABLES = """
create table if not exists form (id integer primary key, text text not null unique);
create table if not exists record (
    key text primary key, form integer not null, number integer, text text not null,
    used integer not null
) without rowid;
"""


class Record(NamedTuple):
    """Something known: a form that many share, a number and a text of its own."""

    form: str
    number: int | None
    text: str


class Memory:
    """Records by key. Those that nobody asked for in a month are forgotten."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, keys: Sequence[str]) -> dict[str, Record]:
        """What is known under these keys. Equal forms are the same object."""
        if not keys or not self._path.exists():
            return {}
        found: dict[str, Record] = {}
        self._use(lambda database: _find(database, keys, found))
        return found

    def keep(self, records: Sequence[tuple[str, Record]]) -> None:
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        self._use(lambda database: _keep(database, records))

    def forget(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{self._path}{suffix}")

    def _use(self, work: Callable[[sqlite3.Connection], None]) -> None:
        try:
            with contextlib.closing(sqlite3.connect(self._path, timeout=5)) as database, database:
                database.executescript("pragma journal_mode=wal; pragma synchronous=off;" + _TABLES)
                work(database)
        except sqlite3.OperationalError:
            return  # locked by another process, or a disk that is full or may not be written
        except (sqlite3.DatabaseError, TypeError):
            self.forget()


def _find(database: sqlite3.Connection, keys: Sequence[str], found: dict[str, Record]) -> None:
    today = int(time.time()) // _DAY
    forms: dict[int, str] = {}
    old: list[tuple[int, str]] = []
    for start in range(0, len(keys), _BATCH):
        some = keys[start : start + _BATCH]
        rows = database.execute(
            "select key, form, number, text, used from record where key in "
            f"({','.join('?' * len(some))})",
            some,
        ).fetchall()
        for one in {row[1] for row in rows} - forms.keys():
            (forms[one],) = database.execute(
                "select text from form where id = ?", (one,)
            ).fetchone()
        for key, form, number, text, used in rows:
            found[key] = Record(forms[form], number, text)
            if used < today - 1:
                old.append((today, key))
    database.executemany("update record set used = ? where key = ?", old)


def _keep(database: sqlite3.Connection, records: Sequence[tuple[str, Record]]) -> None:
    today = int(time.time()) // _DAY
    ids: dict[str, int] = {}
    rows = []
    for key, record in records:
        if record.form not in ids:
            ids[record.form] = _form_id(database, record.form)
        rows.append((key, ids[record.form], record.number, record.text, today))
    database.executemany("insert or replace into record values (?, ?, ?, ?, ?)", rows)
    if database.execute("delete from record where used < ?", (today - KEEP_DAYS,)).rowcount:
        database.execute("delete from form where id not in (select form from record)")


def _form_id(database: sqlite3.Connection, text: str) -> int:
    database.execute("insert or ignore into form (text) values (?)", (text,))
    row = database.execute("select id from form where text = ?", (text,)).fetchone()
    return int(row[0])
