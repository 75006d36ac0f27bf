"""Random histories of a pipeline, played on a lake, and what must hold after each job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import trunkline as tl
from tests.copies import copy_lake
from tests.jobs.graphs import Graph
from trunkline.model.jobs import Job, JobState

KINDS: dict[str, Any] = {
    "file": tl.pfs("left", "/**"),
    "folder": tl.pfs("left", "/*"),
    "root": tl.pfs("left", "/"),
    "cross": tl.cross(tl.pfs("left", "/*"), tl.pfs("right", "/*")),
    "join": tl.join(
        tl.pfs("left", "/[a-z](?)", join_on="$1", outer_join=True),
        tl.pfs("right", "/[a-z](?)", join_on="$1"),
    ),
    "group": tl.group(
        tl.pfs("left", "/[a-z](?)", group_by="$1"), tl.pfs("right", "/[a-z](?)", group_by="$1")
    ),
    "union": tl.union(tl.pfs("left", "/*", "x"), tl.pfs("right", "/*", "x")),
    "tolerant": tl.pfs("left", "/*"),
    "concat": tl.union(tl.pfs("left", "/*", "x"), tl.pfs("right", "/*", "x")),
}
FIELDS: dict[str, dict[str, Any]] = {
    "tolerant": {"max_failed_datums": 9},
    "concat": {"merge": "concat"},
}
PATHS = ("/a1", "/a2", "/b1", "/d1/x", "/d1/y", "/e2/x")
REPOS = ("left", "right")
TEXTS = ("x", "y", "z", "flaky", "bad")
WORK = """
import os

def f(datum):
    found = [(one.path, one.text()) for files in datum.inputs.values() for one in files]
    for _, text in found:
        if text == "bad" or (text == "flaky" and os.path.exists({flag!r})):
            raise ValueError("cannot do " + text)
    # The path depends on the content: what is written moves when the input changes.
    first = found[0][1]
    datum.write("/" + first + "/" + datum.id, {mark!r} + repr(sorted(found)))
    if len(found) > 1:
        datum.write("/many/" + datum.id, {mark!r})
    if {kind!r} == "concat":
        datum.write("/all", first)
"""


@dataclass(frozen=True)
class Put:
    repo: str
    path: str
    text: str


@dataclass(frozen=True)
class Delete:
    repo: str
    path: str


@dataclass(frozen=True)
class Code:
    mark: str


@dataclass(frozen=True)
class Weather:
    """While it is bad, datums that are flaky fail."""

    bad: bool


@dataclass(frozen=True)
class Back:
    """Move an input to where it was some commits ago."""

    repo: str
    steps: int


@dataclass(frozen=True)
class Act:
    """run, again (a job though nothing changed), pause, resume."""

    name: str


Step = Put | Delete | Code | Weather | Back | Act
_put = st.builds(Put, st.sampled_from(REPOS), st.sampled_from(PATHS), st.sampled_from(TEXTS))
_step = st.one_of(
    _put,
    _put,
    st.builds(Delete, st.sampled_from(REPOS), st.sampled_from(PATHS)),
    st.builds(Code, st.sampled_from("12")),
    st.builds(Weather, st.booleans()),
    st.builds(Back, st.sampled_from(REPOS), st.integers(1, 2)),
    st.builds(Act, st.sampled_from(("run", "run", "run", "again", "pause", "resume"))),
)
histories = st.tuples(
    st.lists(_put, min_size=3, max_size=6), st.lists(_step, min_size=6, max_size=10)
).map(lambda parts: [*parts[0], Act("run"), *parts[1]])


class Play:
    """One lake with one pipeline, and every result that was ever seen on it."""

    def __init__(self, template: Path, folder: Path, kind: str, flag: Path) -> None:
        copy_lake(template, folder / "lake")
        self.lake = tl.open(folder / "lake")
        self.graph = Graph(self.lake, folder / "code")
        self.kind = kind
        self.flag = flag
        self.mark = "1"
        self.seen: set[str] = set()
        self.made: dict[tuple[str, str, str], str] = {}

    def close(self) -> None:
        self.lake.close()

    def declare(self) -> None:
        work = WORK.format(mark=self.mark, flag=str(self.flag), kind=self.kind)
        self.graph.apply("out", KINDS[self.kind], work, **FIELDS.get(self.kind, {}))

    def step(self, step: Step) -> None:
        match step:
            case Put(repo, path, text):
                self._commit(repo, {path: text})
            case Delete(repo, path):
                self._commit(repo, {path: None})
            case Code(mark):
                self.mark = mark
                self.declare()
            case Weather(bad):
                self.flag.touch()
                if not bad:
                    self.flag.unlink()
            case Back(repo, steps):
                past = self.lake.commits(f"{repo}@main")
                if len(past) > steps:
                    self.lake.move_branch(f"{repo}@main", past[steps].id)
            case Act("run"):
                self.run()
            case Act("again"):
                if self.graph.lake.pipeline("out").state != "paused":
                    self.lake.run_pipeline("out")
            case Act("pause"):
                self.lake.pause_pipeline("out")
            case Act("resume"):
                self.lake.resume_pipeline("out")

    def _commit(self, repo: str, files: Mapping[str, str | None]) -> None:
        with self.lake.commit(repo) as commit:
            for path, text in files.items():
                if text is None:
                    commit.delete(path)
                else:
                    commit.put(path, text.encode())

    def run(self) -> None:
        self.lake.run()
        for job in reversed(self.lake.jobs("out")):
            if job.id not in self.seen and job.state in (JobState.SUCCESS, JobState.FAILURE):
                self.seen.add(job.id)
                self._check(job)

    def _check(self, job: Job) -> None:
        """Counts add up, and what was skipped has been made before from the very same input."""
        found = list(self.lake.datums(job.id))
        counts, states = job.counts, [str(one.state) for one in found]
        assert counts.total == len(found)
        assert counts.skipped == states.count("skipped")
        assert counts.processed == states.count("success")
        assert counts.failed == states.count("failed")
        trees = {
            str(one.repo): self.graph.files(f"{one.repo}@{one.commit}") if one.commit else {}
            for one in job.inputs
        }
        for datum in found:
            content = repr(
                [
                    sorted(
                        (path, text)
                        for path, text in trees[str(one.repo)].items()
                        if one.path in ("/", path) or path.startswith(f"{one.path}/")
                    )
                    for one in datum.inputs
                ]
            )
            result = (datum.id, content, job.digest)
            if datum.state == "success":
                assert result not in self.made, "a good result was there already"
                self.made[result] = job.id
            elif datum.state == "skipped":
                assert self.made.get(result) == datum.job

    # -- the end ---------------------------------------------------------------------------

    def settle(self) -> Job:
        """Run all that is left in good weather; the last job."""
        self.flag.unlink(missing_ok=True)
        self.lake.resume_pipeline("out")
        self.run()
        last = self.graph.job("out")
        if last.state is not JobState.SUCCESS or last.counts.failed:
            self.lake.run_pipeline("out")
            self.run()
        return self.graph.job("out")

    def inputs(self) -> dict[str, dict[str, str]]:
        return {repo: self.graph.files(repo) for repo in REPOS}

    def mend(self) -> None:
        for repo, files in self.inputs().items():
            if bad := [path for path, text in files.items() if text == "bad"]:
                self._commit(repo, dict.fromkeys(bad, "good"))

    def begin_with(self, inputs: Mapping[str, Mapping[str, str]]) -> None:
        """One commit for each repo that has anything."""
        for repo, files in inputs.items():
            self._commit(repo, files)
