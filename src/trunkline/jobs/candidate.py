"""An output as it will be: what stays of the version before, and whether it may be published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.jobs.assembly import Assembly
from trunkline.jobs.context import Context
from trunkline.jobs.expectations import facts, settle
from trunkline.jobs.tableoutcome import TableOutcome
from trunkline.lake.core import Core
from trunkline.model.entries import Entry, line_path
from trunkline.model.expectations import CheckKind, CheckResult
from trunkline.storage.catalog import commits
from trunkline.tables.layout import is_data


class Candidate:
    """The output of a job that is being worked out."""

    def __init__(self, core: Core, context: Context, assembly: Assembly) -> None:
        self._core = core
        self._context = context
        self._assembly = assembly
        self._base = core.tree(context.base.commit)

    def lines(self, table: str) -> Iterator[bytes]:
        """The lines of a table, without what this attempt writes."""
        changes, folder = self._assembly.changes, below(table).encode()
        for line in self._base.scan(folder):
            path = line_path(line)
            if path not in changes.puts and not changes.removes(path):
                yield line
        for path, line in changes.puts.items():
            if path.startswith(folder):
                yield line

    def checked(self, outcome: TableOutcome, written: Iterable[Entry]) -> tuple[CheckResult, ...]:
        """What became of the rules, over what readers would see."""
        expected = self._context.spec.expectations
        if not expected:
            return ()
        new = list(written)
        tables, history = {}, {}
        for table in outcome.tables or dict.fromkeys(one.table for one in expected):
            found = outcome.tables.get(table, [])
            kept = (Entry.decode(line) for line in self.lines(table))
            data = [one for one in (*kept, *new) if is_row_file(one.path, table)]
            rows = sum(entry.rows or 0 for entry in data)
            rules = found[0].rules if found else ()
            tables[table] = facts(rules, found, rows, [entry.stats for entry in data])
            history[table] = self._history(table)
        with self._core.database.read() as session:
            now = session.now()
        return settle(expected, tables, history, now)

    def _history(self, table: str) -> list[int]:
        """The rows of the versions before, newest first, as many as a rule looks at."""
        most = max(
            (
                one.over
                for one in self._context.spec.expectations
                if one.kind is CheckKind.ROW_COUNT_CHANGE
            ),
            default=0,
        )
        counts: list[int] = []
        commit = self._context.base.commit
        while commit is not None and len(counts) < most:
            if commit.forgotten is None:
                lines = self._core.tree(commit).scan(below(table).encode())
                held = (Entry.decode(line) for line in lines)
                counts.append(sum(one.rows or 0 for one in held if is_row_file(one.path, table)))
            with self._core.database.read() as session:
                commit = commits.find(session, self._context.repo, commit.parent or "")
        return counts


def folder_of(table: str) -> str:
    return f"/{table}"


def below(table: str) -> str:
    return folder_of(table).rstrip("/") + "/"


def is_row_file(path: str, table: str) -> bool:
    """Whether a file holds rows of a table: not its description, nor what is in quarantine."""
    folder = below(table)
    return path.startswith(folder) and is_data(path[len(folder) :])
