"""Whether what the catalog says of jobs holds: their commits, indexes, parts and results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import zstandard

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.lake.manifests import ManifestStore, Range, Tree, decompress
from trunkline.model.commits import Commit, Origin, RepoKind
from trunkline.model.jobs import Job, JobState
from trunkline.model.recent import Recent
from trunkline.pipelines.datums_lines import IndexLine, LineState, ResultLine
from trunkline.storage.catalog import Session, commits, jobs, pipelines, repos
from trunkline.storage.catalog.pipelines import PipelineRow

Told = Callable[[str, str, str], None]
"""Told of a problem: its kind, where it is, what it is."""
_CACHED_PARTS = 32
_STATES = {
    LineState.SUCCESS: "processed",
    LineState.FAILED: "failed",
    LineState.RECOVERED: "recovered",
}


class Facts(NamedTuple):
    """What the catalog says. To be read before objects are listed: what it names is there."""

    jobs: list[tuple[Job, Commit | None]]
    without_job: list[Commit]
    pipelines: list[PipelineRow]


def facts(session: Session) -> Facts:
    keys = {repo.name: repo.key for repo in repos.all_repos(session)}
    every = [
        (job, commits.find(session, keys[job.pipeline], job.id)) for job in jobs.listed(session)
    ]
    rows = pipelines.with_results(session)
    return Facts(every, _without_job(session), rows)


class JobChecks:
    """Checks every job, each range and each result once, however many jobs share it."""

    def __init__(
        self,
        core: Core,
        sizes: dict[str, int],
        told: Told,
        check_file: Callable[[str, bytes], None],
    ) -> None:
        self._core = core
        self._sizes = sizes
        self._told = told
        self._check_file = check_file
        self._ranges: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        self._parts: Recent[str, list[dict[str, object]] | None] = Recent(_CACHED_PARTS)

    def check(self, known: Facts) -> None:
        for job, commit in known.jobs:
            self._check_commit(job, commit)
            self._check_index(job)
        for commit in known.without_job:
            where = f"{commit.repo}@{commit.short_id}"
            self._told("job", where, "is an unfinished output, and no job will finish it")
        for row in known.pipelines:
            self._check_results(str(row.name), row.results or "", row.results_hash or "")

    def _check_commit(self, job: Job, commit: Commit | None) -> None:
        where = _where(job)
        if not job.state.is_over:
            if commit is None or commit.finished is not None:
                self._told("job", where, f"is {job.state}, but its commit is not unfinished")
        elif commit is not None:  # the commit of a job that is over may be squashed or dropped
            if commit.finished is None:
                self._told("job", where, f"is over ({job.state}), but its commit is unfinished")
            elif (commit.error is None) != (job.state is JobState.SUCCESS):
                self._told("job", where, f"is {job.state}, but its commit says otherwise")

    def _check_index(self, job: Job) -> None:
        if job.index is None:
            # A stream's job has batches: the catalog knows them, without an index.
            if job.state is JobState.SUCCESS and job.counts.total and not job.is_stream:
                self._told("job", _where(job), "has datums, but no index of them")
            return
        tree = self._tree(_where(job), job.index, job.index_hash or "")
        if tree is None:
            return
        found: Counter[tuple[str, str]] = Counter()
        for held in tree.ranges:
            found += self._index_range(_where(job), tree, held)
        if job.state is not JobState.SUCCESS:
            return  # one that failed may have stopped before it had them all
        listed = {"total": tree.files}
        listed |= {state: found[state, job.id] for state in _STATES.values()}
        counted = {name: getattr(job.counts, name) for name in listed}
        if listed != counted:
            text = f"its index has {_shown(listed)}; its record says {_shown(counted)}"
            self._told("totals", _where(job), text)

    def _index_range(self, where: str, tree: Tree, held: Range) -> Counter[tuple[str, str]]:
        """How many datums of a range ended how, by the job that ran them."""
        known = self._ranges.get((held.key, held.id))
        if known is not None:
            return known
        found: Counter[tuple[str, str]] = Counter()
        try:
            for line in tree.lines(held):
                one = IndexLine.decode(line)
                found[_STATES[one.state], one.job] += 1
                self._result(where, *one.pointer, one.key)
        except TrunklineError as error:
            self._told("index", where, error.message)
        except (ValueError, KeyError):
            self._told("index", where, f"range {held.key} of its index holds what is no datum")
        self._ranges[held.key, held.id] = found
        return found

    def _check_results(self, pipeline: str, key: str, digest: str) -> None:
        where = f"results of {pipeline}"
        tree = self._tree(where, key, digest)
        try:
            for line in tree.scan(b"") if tree is not None else ():
                one = ResultLine.decode(line)
                found = self._result(where, *one.pointer, one.datum)
                for output in found["outputs"] if found else ():  # type: ignore[attr-defined]
                    self._check_file(where, output.encode())
        except TrunklineError as error:
            self._told("results", where, error.message)
        except ValueError:
            self._told("results", where, "hold a line that is no result")

    def _tree(self, where: str, key: str, digest: str) -> Tree | None:
        try:
            # Nothing remembered is good enough here: a store of its own reads every object.
            return ManifestStore(self._core.objects).read(key, digest)
        except TrunklineError as error:
            self._told("index", where, error.message)
            return None

    def _result(self, where: str, part: str, number: int, datum: bytes) -> dict[str, object] | None:
        """What a part says of a datum, if it is what it should be."""
        held = self._parts.get(part, lambda: self._read(where, part))
        if held is None:
            return None
        if number >= len(held) or str(held[number]["key"]).encode() != datum:
            self._told("part", where, f"line {number} of {part} is not the datum it should be")
            return None
        return held[number]

    def _read(self, where: str, part: str) -> list[dict[str, object]] | None:
        if part not in self._sizes:
            self._told("missing", where, f"results {part} are missing")
            return None
        try:
            return [
                json.loads(line) for line in decompress(self._core.objects.get(part)).splitlines()
            ]
        except FileNotFoundError:
            self._told("missing", where, f"results {part} are missing")
        except (zstandard.ZstdError, ValueError):
            self._told("corrupt", where, f"results {part} are damaged")
        except TrunklineError as error:
            self._told("corrupt", where, error.message)
        return None


def _without_job(session: Session) -> list[Commit]:
    """Unfinished commits of outputs that no unfinished job will fill."""
    outputs = {repo.key for repo in repos.all_repos(session) if repo.kind is RepoKind.OUTPUT}
    coming = set(jobs.unfinished_places(session))
    unfinished = commits.unfinished_of(session, Origin.PIPELINE)
    lost = [place for place in unfinished if place[0] in outputs and place not in coming]
    found = [commits.find(session, *place) for place in lost]
    return [commit for commit in found if commit is not None]


def _where(job: Job) -> str:
    return f"{job.pipeline}@{job.short_id}"


def _shown(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
