"""Three pipelines for tests that are hard on them, and what they must come to.

words -> upper (a command for each word) -> total (all of them in one file)
words + upper -> pair (each word with its upper case)
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trunkline as tl
from tests.reliability.harness import assert_sound
from tests.reliability.pipelines import pair, total
from trunkline.lake.core import resolve
from trunkline.model.commits import RepoName
from trunkline.model.entries import Entry
from trunkline.model.jobs import JobState
from trunkline.model.refs import Ref

Files = Mapping[str, bytes]
PIPELINES = ("upper", "total", "pair")

# Every run of a datum leaves a mark outside of the lake: what was done twice can be seen.
_UPPER = """
name=$(basename "$words")
mktemp "$MARKS/$name.XXXXXX" > /dev/null
[ ! -e "$MARKS/../fail-$name" ] || exit 3
while [ -e "$MARKS/../hang" ]; do sleep 0.1; done
sleep "$PAUSE"
tr a-z A-Z < "$words" > "pfs/out/$name"
"""


def upper(marks: Path, pause: float = 0.0, **fields: Any) -> dict[str, Any]:
    return {
        "pipeline": {"name": "upper"},
        "input": {"pfs": {"repo": "words", "glob": "/*"}},
        "transform": {
            "cmd": ["sh"],
            "stdin": _UPPER.strip().splitlines(),
            "env": {"MARKS": str(marks), "PAUSE": f"{pause}"},
        },
        "datum_tries": 1,
        **fields,
    }


def words(count: int, first: int = 0) -> dict[str, bytes]:
    return {f"/w{n:03}": f"word {n}\n".encode() for n in range(first, first + count)}


def expected(files: Files) -> dict[str, dict[str, bytes]]:
    """What the pipelines must hold, worked out without any of them."""
    loud = {path: data.upper() for path, data in files.items()}
    return {
        "upper": loud,
        "pair": {path: data + loud[path] for path, data in files.items()},
        "total": {"/total": b"".join(loud[path] for path in sorted(loud))} if loud else {},
    }


def make(lake: tl.Lake, files: Files, marks: Path, pause: float = 0.0, **fields: Any) -> str:
    """The repo with its files, and the pipelines, which have not run; the id of their set."""
    marks.mkdir(exist_ok=True)
    lake.create_repo("words")
    put(lake, files)
    report = lake.apply(upper(marks, pause, **fields), total, pair)
    return next(one.job for one in report.applied if one.job)


def put(lake: tl.Lake, files: Files, remove: tuple[str, ...] = ()) -> str:
    with lake.commit("words@main") as commit:
        for path, data in files.items():
            commit.put(path, data)
        for path in remove:
            commit.delete(path)
    return commit.result.id


def read(lake: tl.Lake, ref: str) -> dict[str, bytes]:
    return {info.path: lake.read(f"{ref}:{info.path}") for info in lake.ls(ref, recursive=True)}


def entries(lake: tl.Lake, pipeline: str) -> list[Entry]:
    with lake._core.database.read() as session:
        found = resolve(session, Ref(RepoName("default", pipeline), "main"))
    return [Entry.decode(line) for line in lake._core.tree(found.commit).scan()]


def runs(marks: Path) -> Counter[str]:
    """How often each word's command was started."""
    return Counter(mark.name.partition(".")[0] for mark in marks.iterdir())


def commands(marks: Path) -> list[int]:
    """Processes with the environment of a datum of `upper`."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARKS={marks}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def wait_until_quiet(marks: Path) -> None:
    """Spark looks every two seconds whether a task was cancelled: until then commands run on."""
    quiet = 0
    while quiet < 10:
        quiet = 0 if commands(marks) else quiet + 1
        time.sleep(0.05)


def assert_right(lake: tl.Lake, files: Files, sets: int = 1) -> None:
    """The outputs are what they must be, and so many sets made one commit each of them."""
    for name, held in expected(files).items():
        assert read(lake, f"{name}@main") == held, name
        made = [commit.id for commit in lake.commits(f"{name}@main")]
        assert len(made) == len(set(made)) == sets, name
        ended = lake.jobs(name)
        assert [job.id for job in ended if job.state is JobState.SUCCESS] == made
        assert all(job.state.is_over for job in ended)
        assert_owners(lake, name)
    assert_sound(lake)


def assert_owners(lake: tl.Lake, pipeline: str) -> None:
    """Each file of the output is some datum's of the job, and no datum is there twice."""
    (head, *_) = lake.jobs(pipeline, state="success")
    ids = [datum.id for datum in lake.datums(f"{pipeline}@{head.id}")]
    assert len(ids) == len(set(ids)) == head.counts.total
    owners = {entry.owner for entry in entries(lake, pipeline)}
    assert owners <= set(ids)
