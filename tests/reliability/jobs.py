"""Work for processes that are killed, stopped, or run beside each other.

`python -m tests.reliability.jobs NAME ARGUMENTS` calls the function of that name here; what it
returns is printed as JSON.
"""

from __future__ import annotations

import json
import sys

import trunkline as tl


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
