"""Search: the best first, everything by name, nothing that one may not read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.postgres import postgres
from tests.served import served
from tests.server.security.world import WORD, World, a_world
from trunkline import Lake
from trunkline.lake import search as searching
from trunkline.model.overview import Found
from trunkline.sdk.remote.lake import RemoteLake, connect


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lake(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("search")
    place: dict[str, str] = {}
    if request.param == "postgresql":
        place = {"catalog": postgres().catalog(), "store": f"file://{folder}/store"}
    with tl.init(folder / "lake", **place) as made:
        made.create_repo("sales", "What the shop earned")
        made.create_repo("sales_old")
        made.create_repo("presales")
        made.create_repo("stock", "before any sales")
        with made.commit("stock", message="Count the Shelves, 100%_done") as commit:
            commit.put("/shelf/sales.txt", b"1")
            commit.put("/Größe.txt", b"1")
        made.write_table("presales@main:/rows", pa.table({"sale_day": [1], "n": [2]}))
        made.create_branch("stock@sales-work", "main")
        made.create_tag("stock@v-sales", "main", "as sold")
        Graph(made, folder / "code").follow("sums", "sales", description="Sales, added up")
        yield made


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with a_world(tmp_path_factory.mktemp("world")) as made:
        yield made


def as_(world: World, who: str) -> RemoteLake:
    return connect(world.url, world.tokens[who], world.lake._settings)


def shown(found: Found) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in found.items]


def test_a_whole_name_comes_before_its_beginning_and_that_before_a_part(lake: Lake):
    assert shown(lake.search("sales")) == [
        ("repo", "sales"),
        ("repo", "sales_old"),
        ("branch", "sales-work"),
        ("file", "/shelf/sales.txt"),
        ("repo", "presales"),
        ("tag", "v-sales"),
        ("repo", "stock"),
        ("pipeline", "sums"),
    ]
    assert lake.search("SALES ") == lake.search("sales")
    assert shown(lake.search("sales", limit=2)) == [("repo", "sales"), ("repo", "sales_old")]


def test_tables_and_columns_are_found(lake: Lake):
    (table,) = [one for one in lake.search("rows").items if one.kind == "table"]
    assert (str(table.repo), table.path) == ("presales", "/rows")
    (column,) = [one for one in lake.search("sale_day").items if one.kind == "column"]
    assert (column.column, column.path, column.detail) == ("sale_day", "/rows", "bigint of rows")
    assert column.commit == lake.commit_info("presales@main").id


def test_commits_are_found_by_message_and_id(lake: Lake):
    head = lake.commit_info("stock@main")
    for text in ("the shelves", "100%_done"):
        (hit,) = lake.search(text).items
        assert (hit.kind, hit.commit, hit.text) == ("commit", head.id, head.message)
    assert shown(lake.search("100__done")) == shown(lake.search("100%%")) == []
    by_id = lake.search(head.id[:20]).items
    assert [(one.kind, str(one.repo)) for one in by_id] == [("commit", "stock")]
    assert lake.search(head.id[:5]).items == ()


def test_jobs_are_found_by_id(lake: Lake):
    with lake.commit("sales") as commit:
        commit.put("/a", b"1")
    hits = lake.search(commit.result.id).items
    found = {(one.kind, str(one.repo)) for one in hits}
    assert found == {("commit", "sales"), ("commit", "sums"), ("job", "sums")}


def test_letters_beyond_ascii_have_cases_too(lake: Lake):
    assert shown(lake.search("GRÖSSE")) == []
    assert shown(lake.search("gRÖßE")) == [("file", "/Größe.txt")]


def test_it_says_when_it_has_not_looked_everywhere(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    assert not lake.search("shelf").partial
    monkeypatch.setattr(searching, "MOST_ENTRIES", 1)
    found = lake.search("sales")
    assert found.partial
    assert shown(found)[0] == ("repo", "sales")


def test_many_files_do_not_hide_the_rest(lake: Lake):
    lake.create_repo("many")
    with lake.commit("many") as commit:
        for n in range(300):
            commit.put(f"/x/part-{n}", b"1")
    assert len(lake.search("part-", limit=10).items) == 10
    assert shown(lake.search("part-299"))[0] == ("file", "/x/part-299")
    lake.delete_repo("many")


def test_the_server_answers_the_same(lake: Lake):
    with served(lake) as url, tl.open(url) as remote:
        for text in ("sales", "rows", "shelves", "nothing at all"):
            assert remote.search(text) == lake.search(text)


def test_nothing_is_found_that_one_may_not_read(world: World):
    hidden = world.lake.search(WORD, limit=200).items
    assert {one.kind for one in hidden} >= {"repo", "pipeline", "branch", "tag", "file", "table"}
    ids = {one.id for one in world.lake.jobs(all_projects=True)}
    for who in ("reader", "narrow", "elsewhere", "stranger"):
        with as_(world, who) as lake:
            for text in (WORD, WORD[:-1], f"{WORD}_n"):
                assert lake.search(text, limit=200).items == (), (who, text)
            for one in ids:
                assert WORD not in str(lake.search(one)), who
    with as_(world, "narrow") as lake:
        found = {str(one.repo) for text in "aeo" for one in lake.search(text, limit=500).items}
        assert found == {"shop/orders", "shop/visible"}
