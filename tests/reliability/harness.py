"""Runs parts of a test in processes of their own, and looks at what is left of a lake."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import trunkline as tl
from tests.spark import SHORT_LIVED_CONF
from trunkline.lake.changes import Changes
from trunkline.lake.reach import read_staged
from trunkline.model.commits import RepoKind
from trunkline.model.entries import Entry
from trunkline.storage.catalog import commits
from trunkline.storage.objects.reading import read_entry

TIMEOUT = 180
# Jobs go one after the other, and nobody waits for a dead worker's lease for long.
SMALL = {
    "TRUNKLINE_WORKER_LEASE": "2s",
    "TRUNKLINE_WORKER_JOBS": "1",
    "TRUNKLINE_SPARK_MASTER": "local[2]",
    "TRUNKLINE_SPARK_MEMORY": "512MiB",
    "TRUNKLINE_SPARK_CONF": SHORT_LIVED_CONF,
}
State = dict[str, dict[str, Any]]


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The one JSON object on stderr that `--json` promises."""
        (line,) = self.err.splitlines()
        found: dict[str, str] = json.loads(line)
        return found


def start(
    *args: object, environ: Mapping[str, str] | None = None, stdin: int | None = None
) -> subprocess.Popen[str]:
    """A Python process in the tests' own folder, with more environment."""
    return subprocess.Popen(
        [sys.executable, *map(str, args)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, **(environ or {})},
        cwd=Path(__file__).parents[2],
    )


def finish(process: subprocess.Popen[str], timeout: float = TIMEOUT) -> Result:
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Result(process.returncode, out, err)


def cli(*args: object, **environ: str) -> Result:
    return finish(start("-m", "trunkline", *args, environ=environ))


def start_job(name: str, *args: object, **environ: str) -> subprocess.Popen[str]:
    """A function of `jobs` in a process of its own."""
    return start("-m", "tests.reliability.jobs", name, *args, environ=environ)


def job(name: str, *args: object, **environ: str) -> Result:
    return finish(start_job(name, *args, **environ))


def jobs(*calls: tuple[object, ...], **environ: str) -> list[Any]:
    """Several jobs at once; what each printed."""
    running = [start_job(str(name), *args, **environ) for name, *args in calls]
    results = [finish(process) for process in running]
    for result in results:
        assert result.code == 0, result.err
    return [result.json for result in results]


def start_worker(name: str, *args: object, **environ: str) -> subprocess.Popen[str]:
    """A function of `workers` in a process of its own, which starts a small Spark of its own."""
    return start("-m", "tests.reliability.workers", name, *args, environ={**SMALL, **environ})


def worker(name: str, *args: object, **environ: str) -> Result:
    return finish(start_worker(name, *args, **environ))


def drain(lake_folder: Path, **environ: str) -> list[dict[str, Any]]:
    """Run all jobs in another process; those that ended there, in order."""
    result = worker("drain", lake_folder, **environ)
    assert result.code == 0, result.err
    found: list[dict[str, Any]] = result.json
    return found


def killed(result: Result) -> bool:
    return result.code == -signal.SIGKILL


def state(lake: tl.Lake) -> State:
    """All that a user can see: each branch's history with messages and files, tags and jobs."""
    return {
        str(repo.name): {
            "branches": {
                branch.name: {
                    "open": _staged(lake, repo.key, branch.open) if branch.open else None,
                    "history": [
                        (commit.message, contents(lake, f"{repo.name}@{commit.id}"))
                        for commit in lake.commits(f"{repo.name}@{branch.name}")
                        if commit.finished is not None
                    ],
                }
                for branch in lake.branches(str(repo.name))
            },
            "tags": {tag.name: contents(lake, f"{repo.name}@{tag.name}") for tag in tags},
            "jobs": [
                (job.version, job.branch, job.state, [one.name for one in job.inputs])
                for job in jobs_of
            ],
        }
        for repo in lake.repos(all_projects=True)
        for tags in [lake.tags(str(repo.name))]
        for jobs_of in [lake.jobs(str(repo.name)) if repo.kind is RepoKind.OUTPUT else []]
    }


def contents(lake: tl.Lake, ref: str) -> dict[str, str]:
    """Path to a digest of the bytes that are really there."""
    return {
        info.path: hashlib.sha256(lake.read(f"{ref}:{info.path}")).hexdigest()
        for info in lake.ls(ref, recursive=True)
    }


def _staged(lake: tl.Lake, repo: int, open_commit: str) -> dict[str, str]:
    """What an open commit has gathered so far."""
    with lake._core.database.read() as session:
        keys = commits.staged(session, repo, open_commit)
    gathered = Changes()
    for key in keys:
        gathered.then(read_staged(lake._core, key))
    parts = [part for parts in gathered.appends.values() for part in parts]
    return {
        entry.path: b"".join(read_entry(lake._core.objects, entry)).hex()
        for entry in map(Entry.decode, [*gathered.puts.values(), *parts])
    }


def expire_leases(lake: tl.Lake) -> None:
    """As if the owners of all leases had been silent for long."""
    with lake._core.database.write() as session:
        session.execute("UPDATE leases SET expires = 0")


def assert_sound(lake: tl.Lake) -> None:
    report = lake.fsck(deep=True)
    assert report.ok, report.problems


def assert_no_orphans(lake: tl.Lake) -> None:
    """After a collection nothing is left that no commit names."""
    expire_leases(lake)
    lake.gc(grace=0)
    report = lake.fsck(deep=True)
    assert report.ok, report.problems
    assert report.unused_objects == 0
    assert list(lake._core.objects.abandoned()) == []


def unfinished_writes(lake_folder: Path) -> list[Path]:
    """What lies in the store's tmp/."""
    return sorted((lake_folder / ".trunkline" / "objects" / "tmp").glob("*"))
