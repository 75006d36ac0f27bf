"""Work for processes that are killed, stopped, or run beside each other.

`python -m tests.reliability.jobs NAME ARGUMENTS` calls the function of that name here; what it
returns is printed as JSON.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import trunkline as tl
from trunkline.errors import BranchMoved


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
