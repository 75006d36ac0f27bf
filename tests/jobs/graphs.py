"""Small graphs: declared in a line, fed, run and looked at."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import trunkline as tl
from tests.served import home
from trunkline import Lake
from trunkline.lake.pipelines import Applied
from trunkline.model.jobs import DatumInfo, Job, JobState

NOTHING = "/no-such-file"
"""A glob without matches: a job of no datums, which needs no Spark."""

COPY = """
def f(datum):
    for files in datum.inputs.values():
        for one in files:
            if "bad" in one.text():
                raise ValueError("bad content")
            datum.write(one.path, one.text())
"""
"""Copies its files. One that contains the word bad fails."""

LOUD = COPY.replace("one.text())\n", "one.text().upper())\n")
"""As COPY, in capital letters."""


class Graph:
    """A lake, and the code of its pipelines in a folder each."""

    def __init__(self, lake: Lake, code: Path) -> None:
        self.lake = lake
        self.code = code

    # -- declaring -------------------------------------------------------------------------

    def spec(self, name: str, input: Any, does: str | list[str] = COPY, **fields: Any) -> Any:
        """A spec: `input` is an expression or a repo, `does` the source of f or a command."""
        if isinstance(input, str):
            input = tl.pfs(input, "/*")
        of_transform = ("stdin", "env", "err_cmd", "accept_return_code", "secrets")
        transform = {key: fields.pop(key) for key in of_transform if key in fields}
        if isinstance(does, str):
            folder = self.code / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "work.py").write_text(textwrap.dedent(does))
            transform |= {"python": "work.py:f", "code": str(folder)}
            fields.setdefault("datum_tries", 1)
        else:
            transform |= {"cmd": does}
        return {"pipeline": {"name": name}, "input": input, "transform": transform, **fields}

    def apply(
        self, name: str, input: Any, does: str | list[str] = COPY, *, how: Any = None, **fields: Any
    ) -> Applied:
        report = self.lake.apply(self.spec(name, input, does, **fields), **(how or {}))
        return report.applied[0]

    def follow(self, name: str, *sources: str, **fields: Any) -> Applied:
        """A pipeline that reads repos, and finds nothing in them to do."""
        members = [tl.pfs(source, NOTHING) for source in sources]
        expression = members[0] if len(members) == 1 else tl.cross(*members)
        return self.apply(name, expression, ["true"], **fields)

    # -- feeding ---------------------------------------------------------------------------

    def put(self, ref: str, **files: str | None) -> str:
        """One commit with these files, named without their slash; None removes one. Its id.

        `__` in a name stands for a slash.
        """
        with self.lake.commit(ref) as commit:
            for name, content in files.items():
                path = "/" + name.replace("__", "/")
                if content is None:
                    commit.delete(path)
                else:
                    commit.put(path, content.encode())
        return commit.result.id

    # -- running ---------------------------------------------------------------------------

    def run(self, **how: Any) -> list[Job]:
        """Run all that waits; the jobs that ended, in order."""
        return list(home(self.lake).run(**how).jobs)

    def run_one(self, **how: Any) -> Job:
        """Run the one job that waits."""
        (job,) = self.run(**how)
        return job

    def run_well(self) -> Job:
        job = self.run_one()
        assert job.state is JobState.SUCCESS, job.reason
        return job

    # -- looking ---------------------------------------------------------------------------

    def files(self, ref: str) -> dict[str, str]:
        """Every file of a commit and what is in it."""
        where = ref.partition(":")[0]
        return {
            info.path: self.lake.read(f"{where}:{info.path}").decode()
            for info in self.lake.ls(ref, recursive=True, hidden=True)
        }

    def sets(self, name: str) -> list[str]:
        """The sets in which a pipeline has a job, oldest first."""
        return [job.id for job in self.lake.jobs(name)][::-1]

    def states(self, set_id: str) -> dict[str, str]:
        return {str(job.pipeline): str(job.state) for job in self.lake.wait(set_id, 60)}

    def job(self, name: str, set_id: str | None = None) -> Job:
        """A pipeline's job in a set, or its newest."""
        jobs = self.lake.jobs(name)
        return next(job for job in jobs if set_id in (None, job.id))

    def head(self, ref: str) -> str | None:
        repo, _, branch = ref.partition("@")
        found = (b.head for b in self.lake.branches(repo) if b.name == (branch or "main"))
        return next(found, None)

    def datums(self, job: Job) -> dict[str, DatumInfo]:
        """Datums by the paths they read, joined by +."""
        found = self.lake.datums(f"{job.pipeline}@{job.id}")
        return {"+".join(one.path for one in datum.inputs): datum for datum in found}

    def reasons(self, job: Job) -> dict[str, str]:
        return {paths: datum.reason for paths, datum in self.datums(job).items()}

    def ran(self, job: Job) -> set[str]:
        """The datums that a job ran itself."""
        return {paths for paths, datum in self.datums(job).items() if datum.state != "skipped"}


def reads(job: Job) -> dict[str, str | None]:
    """The commit that a job reads under each name."""
    return {one.name: one.commit for one in job.inputs}
