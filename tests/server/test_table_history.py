"""The versions of a table: which commits, what they did to its columns, and in pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.served import served
from tests.server.lakewide.people import asked_by
from trunkline import Lake, errors
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.tablehistory import TableVersion, versions_page
from trunkline.sdk.wire.values import Page


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with tl.init(tmp_path_factory.mktemp("lake")) as made:
        made.create_repo("shop")
        made.write_table("shop@main:/sales", [{"id": 1, "old": "x"}], message="first")
        with made.commit("shop@main", message="elsewhere") as commit:
            commit.put("/notes.txt", b"none of the table's")
        made.write_table("shop@main:/sales", [{"id": 2, "old": "y"}], message="more")
        made.create_branch("shop@side", "main")
        made.write_table("shop@side:/sales", [{"id": 3, "old": "z"}], message="beside")
        with made.commit("shop@main", message="also elsewhere") as commit:
            commit.put("/notes.txt", b"nor this")
        made.merge("shop@side", "shop@main", message="joined")
        made.write_table(
            "shop@main:/sales", [{"id": 0.5, "amount": 1.0}], mode="overwrite", message="anew"
        )
        with made.commit("shop@main", message="gone") as commit:
            commit.delete("/sales")
        yield made


@pytest.fixture(scope="module")
def remote(lake: Lake) -> Iterator[RemoteLake]:
    with served(lake) as url, connect(url, "", lake._settings) as found:
        yield found


def test_only_commits_that_changed_the_table_are_versions(lake: Lake, remote: RemoteLake):
    found = list(lake.table_history("shop@main:/sales"))
    assert [one.message for one in found] == ["gone", "anew", "joined", "more", "first"]
    assert [one.rows for one in found] == [None, 1, 3, 2, 1]
    assert [one.files for one in found] == [0, 1, 3, 2, 1]
    assert found[0].error
    assert found[1].changes == ("~ id bigint → double", "- old string", "+ amount double")
    assert [one.changes for one in found[2:]] == [(), (), ()]
    assert found[1].size == lake.describe_table("shop@main~1:/sales").size
    assert [one.commit for one in found] == [
        one.id for one in lake.commits("shop@main") if "elsewhere" not in one.message
    ]
    assert list(remote.table_history("shop@main:/sales")) == found
    assert list(remote.table_history("shop@main:/sales", limit=2)) == found[:2]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_pages_together_are_the_whole(lake: Lake, remote: RemoteLake, limit: int):
    whole = list(lake.table_history("shop@main:/sales"))
    found: list[TableVersion] = []
    cursor = None
    while True:
        page: Page[TableVersion] = remote._client.get(
            Page[TableVersion],
            "/repos/default/shop/table/history",
            path="/sales",
            limit=limit,
            cursor=cursor,
        )
        assert len(page.items) <= limit
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert found == whole


def test_a_page_that_found_nothing_yet_goes_on(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trunkline.sdk.tablehistory.MOST_LOOKED_AT", 1)
    ref = lake._ref("shop@main~4:/sales")
    first = versions_page(lake._core, ref, 10)
    assert [one.message for one in first.versions] == ["more"]
    empty = versions_page(lake._core, ref, 10, first.rest)
    assert (empty.versions, empty.rest is not None) == ([], True)
    last = versions_page(lake._core, ref, 10, empty.rest)
    assert ([one.message for one in last.versions], last.rest) == (["first"], None)


def test_a_repo_without_commits_and_a_cursor_that_is_none(lake: Lake, remote: RemoteLake):
    lake.create_repo("empty")
    assert list(lake.table_history("empty@main")) == []
    with pytest.raises(errors.Usage):
        versions_page(lake._core, lake._ref("shop@main"), 1, "zz")
    with pytest.raises(errors.NotFound):
        list(remote.table_history("nothing@main"))


def test_history_goes_on_past_data_that_was_forgotten(tmp_path: Path):
    with tl.init(tmp_path) as lake:
        lake.create_repo("sales")
        for number in range(4):
            lake.write_table("sales", [{f"c{number}": 1}], mode="overwrite", message=str(number))
        lake.forget("sales@main~2")
        found = list(lake.table_history("sales@main"))
    assert [one.message for one in found] == ["3", "2", "0"]
    assert found[1].changes == ("- c0 bigint", "+ c2 bigint")


def test_all_tables_as_of_a_commit_set(tmp_path: Path):
    people = {"root": {"": "admin"}, "one": {"default/early": "reader"}}
    with tl.init(tmp_path) as lake:
        for name in ("early", "late"):
            lake.create_repo(name)
        first = lake.write_table("early", [{"a": 1}])
        second = lake.write_table("late", [{"a": 1}])
        lake.write_table("early", [{"a": 2}, {"a": 3}])
        with asked_by(lake, people) as ask:
            remote = ask("root")
            for at, rows in (
                (None, {"early": 3, "late": 1}),
                (second.id, {"early": 1, "late": 1}),
                (first.id[:12], {"early": 1}),
            ):
                found = lake.tables(at=at)
                assert {one.name.partition("@")[0]: one.rows for one in found} == rows
                assert remote.tables(at=at) == found
            assert [one.rows for one in ask("one").tables(at=first.id)] == [1]
            with pytest.raises(errors.NotFound, match="No commit has the id"):
                ask("one").tables(at=second.id)
            for one in (lake, remote):
                with pytest.raises(errors.Usage):
                    one.tables("early", at=first.id)
                assert [one.rows for one in one.tables("early@main~1")] == [1]
