"""Repos with two versions of everything: rows that changed, branches that agree and that do not."""

from __future__ import annotations

from tests.console.gallery import HOSTILE_NAME, png
from trunkline.sdk.remote.lake import RemoteLake

# Each of these characters means something in a glob.
AWKWARD = "/odd/{a,b}[1]*(?).txt"


def make_stock(lake: RemoteLake, repo: str = "stock") -> None:
    """A table whose rows, key and columns changed, beside files of several kinds."""
    lake.create_repo(repo, "What is on the shelves")
    rows = [
        {"id": 1, "goods": "apples", "amount": 10},
        {"id": 2, "goods": "bread", "amount": 4},
        {"id": 3, "goods": "coffee", "amount": 7},
    ]
    lake.write_table(f"{repo}@main:/shelves", rows, message="The first count")
    with lake.commit(f"{repo}@main", message="Notes") as commit:
        commit.put("/notes/count.py", b"def count():\n    return 1\n")
        commit.put("/picture.png", png(16))
        commit.put("/prices.csv", b"id,price\n1,2.50\n2,3.10\n")
        commit.put("/gone.txt", b"it will be removed\n")
        commit.put("/noise.bin", bytes(range(256)))
    lake.create_tag(f"{repo}@before", "main", message="Before the second count")
    rows = [
        {"id": 1, "goods": "apples", "amount": 12, "shop": "osaka"},
        {"id": 2, "goods": "bread", "amount": 4, "shop": "osaka"},
        {"id": 4, "goods": "<b>dates</b>", "amount": 1, "shop": "berlin"},
    ]
    lake.write_table(f"{repo}@main:/shelves", rows, mode="overwrite", message="The second count")
    with lake.commit(f"{repo}@main", message="Second notes") as commit:
        commit.put("/notes/count.py", b"def count():\n    return 2\n")
        commit.put("/picture.png", png(24))
        commit.put("/prices.csv", b"id,price\n1,2.75\n2,3.10\n")
        commit.put("/noise.bin", bytes(reversed(range(256))))
        commit.put(f"/{HOSTILE_NAME}", b"<script>alert(1)</script>\n")
        commit.delete("/gone.txt")
    lake.create_branch(f"{repo}@same", "main")


def make_drafts(lake: RemoteLake, repo: str = "drafts") -> None:
    """Branches to merge into main: one that agrees with it, one that does not, one with nothing."""
    lake.create_repo(repo)

    def put(branch: str, message: str, **files: str) -> None:
        with lake.commit(f"{repo}@{branch}", message=message) as commit:
            for path, text in files.items():
                commit.put(PATHS[path], text.encode())

    put("main", "First", a="one\n", b="one\n", odd="one\n")
    for branch in ("agrees", "argues", "nothing"):
        lake.create_branch(f"{repo}@{branch}", "main")
    put("agrees", "A file of its own", own="mine\n")
    put("argues", "Their words", a="theirs\n", b="theirs\n", odd="theirs\n", new="theirs\n")
    put("main", "Our words", a="ours\n", b="ours\n", odd="ours\n")


PATHS = {"a": "/a.txt", "b": "/b.txt", "odd": AWKWARD, "new": "/new.txt", "own": "/own.txt"}
