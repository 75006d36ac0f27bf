"""Many processes, one lake: nothing acknowledged is lost, and history is a chain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.reliability.harness import assert_no_orphans, jobs
from tests.reliability.model import Files, changed


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[tl.Lake, int]]:
    """A lake with the repo r, and how many processes are to write to it."""
    if request.param == "sqlite":
        made, writers = tl.init(tmp_path), 8
    else:
        database = request.getfixturevalue("postgres_catalog")
        made, writers = tl.init(tmp_path, catalog=database, store=f"file://{tmp_path}/objects"), 4
    with made as lake:
        lake.create_repo("r")
        yield lake, writers


def test_writers_of_different_paths_on_one_branch_all_succeed(shared, tmp_path):
    lake, writers = shared
    acknowledged = jobs(*(("write_files", tmp_path, "main", n, 6) for n in range(writers)))

    history = lake.commits("r@main")
    assert len(history) == writers * 6
    assert {commit.id for commit in history} == {i for made in acknowledged for i in made}
    assert [commit.parent for commit in history] == [*(c.id for c in history[1:]), None]
    assert [commit.files for commit in reversed(history)] == list(range(1, writers * 6 + 1))
    for writer, made in enumerate(acknowledged):
        for number, commit in enumerate(made):
            path = f"/{writer}/{number}"
            assert lake.read(f"r@main:{path}") == f"{writer} {number}".encode()
            assert [change.path for change in lake.changes(lake.commit_info(f"r@{commit}"))] == [
                path
            ]
    assert_no_orphans(lake)


def test_of_writers_of_the_same_path_the_losers_are_told(shared, tmp_path):
    lake, writers = shared
    with lake.commit("r@main", "start") as commit:
        commit.put("/log", b"")
    outcomes = jobs(*(("write_same_file", tmp_path, n, 8) for n in range(writers)))

    won = [line for outcome in outcomes for line in outcome["won"]]
    lost = [line for outcome in outcomes for line in outcome["lost"]]
    assert len(won) + len(lost) == writers * 8
    assert won
    history = [commit.message for commit in reversed(lake.commits("r@main"))]
    assert history[0] == "start"
    assert sorted(history[1:]) == sorted(won)
    # Each winner had seen all winners before it: no update is lost.
    assert lake.read("r@main:/log").decode().splitlines() == history[1:]
    assert_no_orphans(lake)


def test_writers_of_branches_of_their_own_do_not_disturb_each_other(shared, tmp_path):
    lake, writers = shared
    with lake.commit("r@main") as commit:
        commit.put("/shared", b"shared")
    for n in range(writers):
        lake.create_branch(f"r@b{n}", "main")
    acknowledged = jobs(*(("write_files", tmp_path, f"b{n}", n, 5) for n in range(writers)))

    for n, made in enumerate(acknowledged):
        history = lake.commits(f"r@b{n}")
        assert [commit.id for commit in reversed(history)] == [commit.result.id, *made]
        listed = [info.path for info in lake.ls(f"r@b{n}", recursive=True)]
        assert listed == [*(f"/{n}/{number}" for number in range(5)), "/shared"]
    assert_no_orphans(lake)


@pytest.mark.parametrize("branches", ["one branch", "a branch each"])
def test_random_requests_happened_in_the_order_of_the_history(shared, tmp_path, branches):
    lake, writers = shared
    where = [f"b{n}" if branches == "a branch each" else "main" for n in range(writers)]
    with lake.commit("r@main", json.dumps(["put", "/a", "start;"])) as commit:
        commit.put("/a", b"start;")
    for name in {*where} - {"main"}:
        lake.create_branch(f"r@{name}", "main")
    made = jobs(*(("write_at_random", tmp_path, where[n], n, 8) for n in range(writers)))

    assert made == [8] * writers
    for name in {*where}:
        model: Files = {}
        history = lake.commits(f"r@{name}")
        assert len(history) == 1 + 8 * where.count(name)
        for commit in reversed(history):
            verb, path, data = json.loads(commit.message)
            model = changed(model, [(verb, path, data.encode())])
            listed = lake.ls(f"r@{commit.id}", recursive=True)
            assert model == {i.path: lake.read(f"r@{commit.id}:{i.path}") for i in listed}
    assert_no_orphans(lake)
