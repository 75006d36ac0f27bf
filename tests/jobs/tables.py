"""Daily orders and pipelines over them: what tests of table pipelines share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trunkline as tl
from trunkline import Lake
from trunkline.model.jobs import Job, JobState

DAYS = tuple(f"2026-01-{n:02}" for n in range(1, 6))
BY_DAY = "SELECT day, sum(amount) AS revenue, count(*) AS orders FROM orders GROUP BY day"
Rows = list[tuple[Any, ...]]


def csv(*rows: tuple[Any, ...], header: str = "id,amount") -> bytes:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows), ""]).encode()


class Tables:
    """A lake with tables and pipelines, and short words for what tests do with them."""

    def __init__(self, lake: Lake, code: Path) -> None:
        self.lake = lake
        self.code = code

    def put(self, repo: str, files: Mapping[str, bytes | None]) -> str:
        """One commit; None removes a file. Its id."""
        with self.lake.commit(f"{repo}@main") as commit:
            for path, data in files.items():
                if data is None:
                    commit.delete(path)
                else:
                    commit.put(path, data)
        return commit.result.id

    def day(self, day: str, *rows: tuple[Any, ...]) -> str:
        return self.put("orders", {f"/day={day}/a.csv": csv(*rows)})

    def sql(self, name: str, sql: str, input: Any = None, **fields: Any) -> None:
        """Declare a SQL pipeline; fields of the transform may be among the others."""
        self.apply(name, {"sql": sql}, input, **fields)

    def spark(self, name: str, source: str, input: Any = None, **fields: Any) -> None:
        """Declare a pipeline of a function f, given as source."""
        folder = self.code / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "work.py").write_text(source)
        self.apply(name, {"spark": "work.py:f", "code": str(folder)}, input, **fields)

    def apply(self, name: str, transform: dict[str, Any], input: Any, **fields: Any) -> None:
        for key in ("mode", "partition_by", "params", "requirements", "on_change"):
            if key in fields:
                transform[key] = fields.pop(key)
        how = fields.pop("how", {})
        spec = {
            "pipeline": {"name": name},
            "input": input or tl.pfs("orders", "/day=*/"),
            "transform": transform,
            **fields,
        }
        self.lake.apply(spec, **how)

    def run(self) -> list[Job]:
        return list(self.lake.run().jobs)

    def run_well(self) -> list[Job]:
        jobs = self.run()
        for job in jobs:
            assert job.state is JobState.SUCCESS, f"{job.pipeline}: {job.reason}"
        return jobs

    def run_one(self) -> Job:
        (job,) = self.run_well()
        return job

    def rows(self, ref: str, *columns: str) -> Rows:
        """The rows of a table, sorted."""
        table = self.lake.table(ref).arrow()
        names = columns or table.column_names
        return sorted(
            zip(*[table.column(name).to_pylist() for name in names], strict=True), key=repr
        )

    def files(self, ref: str) -> dict[str, str]:
        """Data files of a commit with the object that holds each."""
        return {
            info.path: info.hash
            for info in self.lake.ls(ref, recursive=True, hidden=True)
            if not info.path.endswith("_table.json")
        }
