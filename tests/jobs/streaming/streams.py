"""An input of a stream as the tests see it: what each commit brought, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trunkline import Lake
from trunkline.jobs.streaming.step import Step
from trunkline.jobs.streaming.steps import steps
from trunkline.model.commits import RepoName
from trunkline.model.entries import line_path
from trunkline.model.inputs import Pfs
from trunkline.model.streams import OnChangedRows, StreamInput
from trunkline.tables.describe import describe_lines
from trunkline.tables.reading.arrowread import record_batches

Rows = list[tuple[Any, ...]]


def leaf(changes: str = "raise", glob: str = "/") -> Pfs:
    how = StreamInput(changes=OnChangedRows(changes))
    return Pfs("orders", RepoName("default", "orders"), glob, stream=how)


def put(lake: Lake, branch: str = "main", /, **files: str | bytes | None) -> str:
    """One commit; None removes a file, and two underscores are a slash. Its id."""
    with lake.commit(f"orders@{branch}") as commit:
        for name, data in files.items():
            path = "/" + name.replace("__", "/")
            if data is None:
                commit.delete(path)
            else:
                commit.put(path, data.encode() if isinstance(data, str) else data)
    return commit.result.id


def put_paths(lake: Lake, files: dict[str, str | bytes | None]) -> str:
    with lake.commit("orders@main") as commit:
        for path, data in files.items():
            if data is None:
                commit.delete(path)
            else:
                commit.put(path, data.encode() if isinstance(data, str) else data)
    return commit.result.id


def head(lake: Lake, branch: str = "main") -> str:
    found = next(one.head for one in lake.branches("orders") if one.name == branch)
    assert found is not None
    return found


def read(
    lake: Lake, of: Pfs | None = None, since: str | None = None, until: str | None = None
) -> list[Step]:
    return list(steps(lake._core, of or leaf(), since, until or head(lake), "sessions"))


def paths(found: Step) -> list[str]:
    return [line_path(line).decode() for line in found.added]


def rows(lake: Lake, found: Iterable[Step]) -> Rows:
    """The rows of all added files, sorted."""
    every: Rows = []
    for one in found:
        if one.added:
            every += rows_of(lake, one, one.added)
    return sorted(every, key=repr)


def rows_of(lake: Lake, step: Step, lines: Sequence[bytes]) -> Rows:
    assert step.table is not None
    table = describe_lines(lake._core, lines, step.folder, "orders", step.table)
    return tuples(record_batches(lake._core, table).read_all().to_pylist())


def whole(lake: Lake, ref: str = "orders") -> Rows:
    return sorted(tuples(lake.table(ref).arrow().to_pylist()), key=repr)


def tuples(found: Iterable[dict[str, Any]]) -> Rows:
    return [tuple(row.values()) for row in found]
