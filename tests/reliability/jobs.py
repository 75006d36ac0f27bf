"""Work for processes that are killed, stopped, or run beside each other.

`python -m tests.reliability.jobs NAME ARGUMENTS` calls the function of that name here; what it
returns is printed as JSON.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from pathlib import Path

import trunkline as tl
from trunkline.errors import BranchMoved
from trunkline.storage.catalog import leases


def act(location: str, scenario: str) -> None:
    """The request of a scenario, on a lake that is ready for it."""
    from tests.reliability.scenarios import SCENARIOS

    with tl.open(location) as lake:
        SCENARIOS[scenario].act(lake)


def commit(location: str, branch: str, operations: str, key: str) -> str:
    """One commit of puts, appends and deletes."""
    with tl.open(location) as lake:
        with lake.commit(f"r@{branch}", key=key) as writer:
            for verb, path, data in json.loads(operations):
                if verb == "delete":
                    writer.delete(path)
                else:
                    writer.put(path, bytes.fromhex(data), append=verb == "append")
        return writer.result.id


def write_files(location: str, branch: str, writer: str, count: str) -> list[str]:
    """Commits of one new file each; the ids that were acknowledged."""
    made = []
    with tl.open(location) as lake:
        for number in range(int(count)):
            with lake.commit(f"r@{branch}", f"{writer}/{number}") as commit:
                commit.put(f"/{writer}/{number}", f"{writer} {number}".encode())
            made.append(commit.result.id)
    return made


def write_same_file(location: str, writer: str, attempts: str) -> dict[str, list[str]]:
    """Read a file, add a line to it, commit: which attempts won, which were told to retry."""
    won, lost = [], []
    with tl.open(location) as lake:
        for number in range(int(attempts)):
            line = f"{writer}/{number}"
            try:
                with lake.commit("r@main", line) as commit:
                    before = lake.read("r@main:/log")
                    commit.put("/log", before + line.encode() + b"\n")
                won.append(line)
            except BranchMoved:
                lost.append(line)
    return {"won": won, "lost": lost}


def write_at_random(location: str, branch: str, seed: str, count: str) -> int:
    """Random requests; each commit says in its message what it did. How many were made."""
    chance = random.Random(int(seed))
    paths = ["/a", "/b", "/d/x", "/d/y", "/d/z"]
    made = 0
    with tl.open(location) as lake:
        for number in range(int(count)):
            verb = chance.choice(["put", "put", "append", "append", "delete"])
            path = chance.choice([*paths, "/d"] if verb == "delete" else paths)
            data = f"{seed}.{number};" * chance.choice([1, 1, 30])
            message = json.dumps([verb, path, data])
            if verb == "delete":
                lake.rm(f"r@{branch}:{path}", recursive=True, message=message)
            else:
                source = Path(location) / f"source-{seed}"
                source.write_text(data)
                append = verb == "append"
                lake.put(f"r@{branch}:{path}", source, append=append, message=message)
            made += 1
    return made


def write_and_branch(location: str, writer: str, rounds: str) -> dict[str, str]:
    """Files that reach main by put, by copy and by merge; path to digest of all of them."""
    made: dict[str, str] = {}
    chance = random.Random(int(writer))
    with tl.open(location) as lake:
        for number in range(int(rounds)):
            branch, folder = f"side-{writer}-{number}", f"/{writer}/{number}"
            lake.create_branch(f"r@{branch}", "main")
            files = {
                f"{folder}/small": chance.randbytes(50),
                f"{folder}/large": chance.randbytes((1 << 20) + 1),
            }
            with lake.commit(f"r@{branch}") as commit:
                for path, data in files.items():
                    commit.put(path, data)
            lake.merge(f"r@{branch}", "r@main")
            lake.cp(f"r@{branch}:{folder}/large", f"r@main:{folder}/copy")
            files[f"{folder}/copy"] = files[f"{folder}/large"]
            lake.delete_branch(f"r@{branch}")
            made.update((path, hashlib.sha256(data).hexdigest()) for path, data in files.items())
    return made


def collect(location: str, stop: str) -> int:
    """Collect everything that can be, again and again, until told to stop; how often."""
    rounds = 0
    with tl.open(location) as lake:
        while not Path(stop).exists():
            lake.gc(grace=0)
            rounds += 1
    return rounds


def put_slowly(location: str) -> dict[str, str]:
    """A commit whose objects are written long before it ends, under a lease of half a second."""
    leases.LEASE_MICROS = 500_000
    leases.RENEW_SECONDS = 0.1
    folder = Path(location)
    with tl.open(location) as lake:
        try:
            with lake.commit("r@main") as commit:
                commit.put("/large", bytes(2 << 20))
                (folder / "written").touch()
                until = time.monotonic() + 60
                while not (folder / "go").exists() and time.monotonic() < until:
                    time.sleep(0.01)
            return {"id": commit.result.id}
        except tl.TrunklineError as error:
            return {"error": error.code, "message": error.message}


def put_folder(location: str, source: str) -> dict[str, str]:
    """Put a folder; the commit's id, or what went wrong."""
    with tl.open(location) as lake:
        try:
            return {"id": lake.put("r@main:/", [source], recursive=True).id}
        except tl.TrunklineError as error:
            return {"error": error.code, "message": error.message}


def repeat(location: str, how: str, key: str) -> str:
    """The same commit with the same key, as every other process that does this."""
    with tl.open(location) as lake:
        with lake.commit("r@main", key=key) as commit:
            commit.put("/a", b"once;", append=how == "append")
        return commit.result.id


def put_set(location: str) -> list[str]:
    with tl.open(location) as lake:
        with lake.transaction() as transaction:
            for repo in ("r", "s"):
                transaction.commit(f"{repo}@main", key="k").put("/a", repo.encode())
        return [commit.id for commit in transaction.commits]


if __name__ == "__main__":
    _, name, *arguments = sys.argv
    print(json.dumps(globals()[name](*arguments)))
