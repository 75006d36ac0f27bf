"""What was deleted can be had back until gc, and is gone for good after it."""

from __future__ import annotations

import pytest

import trunkline as tl
from tests.sdk.conftest import head, local, put, tree
from tests.sdk.test_erasure import SECRET, found_anywhere
from tests.sdk.test_pruning import derive
from tests.served import home
from trunkline import Lake
from trunkline.errors import AlreadyExists, Erased, NotFound
from trunkline.lake.core import resolve
from trunkline.lake.lease import pinned
from trunkline.model.inputs import Trigger
from trunkline.model.pipelines import INGEST
from trunkline.model.refs import parse_ref
from trunkline.model.streams import Flow, FlowState, History
from trunkline.sdk import backups
from trunkline.tables import upkeep

DAY = 86_400.0


def names(lake: Lake) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in lake.deleted()]


def test_a_branch_comes_back_where_it_pointed_with_what_moves_it(lake: Lake):
    put(lake, "orders", a="1")
    lake.create_branch("orders@dev", "main", Trigger("main", commits=10))
    put(lake, "orders@dev", b="2")
    before = next(one for one in lake.branches("orders") if one.name == "dev")
    lake.delete_branch("orders@dev")
    (gone,) = lake.deleted()
    assert (gone.kind, gone.name, gone.commit) == ("branch", "orders@dev", before.head)
    assert gone.author == "ada"
    assert gone.until == gone.at + DAY * 1_000_000
    assert lake.gc(grace=DAY).deletions == 0
    done = lake.undelete("orders@dev")
    assert (done.kind, done.name) == ("branch", "orders@dev")
    after = next(one for one in lake.branches("orders") if one.name == "dev")
    assert after.head == before.head
    assert tree(lake, "orders@dev") == {"/a": "1", "/b": "2"}
    assert [one["on"] for one in lake.triggers("orders")] == ["main"]
    assert lake.deleted() == []
    assert lake.fsck(deep=True).ok


def test_a_tag_comes_back_as_it_was(lake: Lake):
    put(lake, "orders", a="1")
    before = lake.create_tag("orders@v1", "main", "first")
    put(lake, "orders", a="2")
    lake.delete_tag("orders@v1")
    assert names(lake) == [("tag", "orders@v1")]
    lake.undelete("orders@v1")
    assert lake.tags("orders") == [before]


def test_after_gc_it_is_gone(lake: Lake):
    put(lake, "orders", a="1")
    lake.create_branch("orders@dev", "main")
    put(lake, "orders@dev", b="2")
    lake.create_tag("orders@v1", "main")
    lake.delete_branch("orders@dev")
    lake.delete_tag("orders@v1")
    assert lake.gc(grace=0, dry_run=True).deletions == 2
    assert len(lake.deleted()) == 2
    report = lake.gc(grace=0)
    assert (report.deletions, report.commits) == (2, 1)
    assert lake.deleted() == []
    with pytest.raises(NotFound, match="Nothing was deleted as orders@dev"):
        lake.undelete("orders@dev")
    assert lake.fsck(deep=True).ok


def test_a_name_that_is_taken_again_is_refused_with_the_way_out(lake: Lake):
    put(lake, "orders", a="1")
    lake.create_branch("orders@dev", "main")
    put(lake, "orders@dev", b="2")
    lake.delete_branch("orders@dev")
    lake.create_branch("orders@dev", "main")
    with pytest.raises(AlreadyExists) as refused:
        lake.undelete("orders@dev")
    assert "--as OTHER" in refused.value.hint
    lake.undelete("orders@dev", as_="old")
    assert tree(lake, "orders@old") == {"/a": "1", "/b": "2"}
    assert tree(lake, "orders@dev") == {"/a": "1"}


def test_of_several_the_last_comes_back_and_an_earlier_one_by_its_number(lake: Lake):
    for content in "12":
        lake.create_branch("orders@dev", None, Trigger("main", commits=1))
        put(lake, "orders@dev", a=content)
        lake.delete_branch("orders@dev")
    first = lake.deleted()[-1]
    lake.undelete("orders@dev")
    assert tree(lake, "orders@dev") == {"/a": "2"}
    lake.undelete("orders@dev", as_="first", id=first.id)
    assert tree(lake, "orders@first") == {"/a": "1"}


def test_a_repo_comes_back_with_all_that_it_had(lake: Lake):
    first = put(lake, "orders", a="1")
    put(lake, "orders", a="2")
    lake.create_branch("orders@dev", "main^")
    lake.create_branch("orders@gone", "main")
    lake.create_tag("orders@v1", "main^")
    lake.delete_branch("orders@gone")
    before = (lake.repo("orders"), lake.branches("orders"), lake.tags("orders"))
    lake.delete_repo("orders")
    assert lake.repos() == []
    assert names(lake) == [("repo", "orders")]
    for ask in (lake.repo, lake.branches, lake.tags):
        with pytest.raises(NotFound, match="it was deleted") as refused:
            ask("orders")
        assert "trunkline undelete orders" in refused.value.hint
    with pytest.raises(NotFound):
        lake.show(first)
    assert lake.status().repos == 0
    assert lake.gc(grace=DAY).objects == 0
    assert lake.fsck(deep=True).ok
    assert lake.undelete("orders").kind == "repo"
    assert (lake.repo("orders"), lake.branches("orders"), lake.tags("orders")) == before
    assert tree(lake, f"orders@{first}") == {"/a": "1"}
    assert names(lake) == [("branch", "orders@gone")]
    assert lake.fsck(deep=True).ok


def test_a_repo_that_is_not_had_back_leaves_nothing(lake: Lake):
    put(lake, "orders", a="1")
    source = head(lake, "orders@main")
    lake.create_repo("daily")
    derive(lake, f"daily@{put(lake, 'daily', b='2')}", f"orders@{source}")
    lake.create_branch("orders@dev", "main")
    lake.delete_branch("orders@dev")
    lake.delete_repo("orders", force=True)
    assert lake.gc(grace=0).deletions == 2
    with home(lake)._core.database.read() as session:
        for table, left in (("every_repo", 1), ("commits", 1), ("provenance", 0), ("deletions", 0)):
            row = session.one(f"SELECT count(*) AS n FROM {table}")
            assert row is not None and row["n"] == left, table
    assert lake.fsck(deep=True).ok


def test_the_name_of_a_deleted_repo_is_free(lake: Lake):
    put(lake, "orders", a="old")
    lake.create_branch("orders@dev", "main")
    lake.delete_branch("orders@dev")
    lake.delete_repo("orders")
    lake.create_repo("orders")
    put(lake, "orders", a="new")
    with pytest.raises(AlreadyExists, match="by now") as refused:
        lake.undelete("orders")
    assert "--as OTHER" in refused.value.hint
    assert lake.gc(grace=DAY).objects == 0
    lake.undelete("orders", as_="old_orders")
    assert tree(lake, "old_orders") == {"/a": "old"}
    lake.undelete("old_orders@dev")
    assert tree(lake, "orders") == {"/a": "new"}
    assert lake.fsck(deep=True).ok


def test_what_is_being_read_is_not_forgotten(lake: Lake):
    put(lake, "orders", a="1")
    core = home(lake)._core
    with core.database.read() as session:
        found = resolve(session, parse_ref("orders"))
    with pinned(core, found):
        lake.delete_repo("orders")
        assert lake.gc(grace=0).deletions == 0
    assert lake.gc(grace=0).deletions == 1


def test_forgetting_or_dropping_a_commit_means_it(lake: Lake):
    put(lake, "orders", a="1")
    lake.create_branch("orders@dev", "main")
    lake.create_tag("orders@v1", "main")
    put(lake, "orders", a="2")
    lake.delete_branch("orders@dev")
    lake.delete_tag("orders@v1")
    lake.forget("orders@main^")
    assert lake.deleted() == []
    lake.create_branch("orders@dev", "main")
    put(lake, "orders@dev", b="1")
    lost = lake.branches("orders")[0].head
    lake.delete_branch("orders@dev")
    lake.drop(f"orders@{lost}")
    assert lake.deleted() == []
    assert lake.fsck(deep=True).ok


@local
def test_upkeep_leaves_what_can_be_had_back(lake: Lake):
    for number in range(5):
        put(lake, "orders", a=str(number))
    lake.create_tag("orders@v1", "main^^")
    lake.delete_tag("orders@v1")
    repo = lake.repo("orders")
    flow = Flow(repo.key, repo.name, INGEST, 0, upkeep.EVERY, {}, FlowState.IDLE, "", {}, 0)
    upkeep.look_after(lake._core, flow, "main", History(keep=1, compact=0))
    left = [lake.read(f"orders@{one.id}:/a") for one in lake.log("orders")]
    lake.undelete("orders@v1")
    assert tree(lake, "orders@v1") == {"/a": "2"}
    assert left == [b"4", b"3", b"2", b"0"], "another one of its hour is gone"


def test_a_deleted_project_does_not_take_them_along(lake: Lake):
    lake.create_project("shop")
    shop = lake.bound(project="shop")
    shop.create_repo("orders")
    put(shop, "orders", a="1")
    shop.delete_repo("orders")
    lake.delete_project("shop")
    assert [one.name for one in lake.projects()] == ["default"]
    with pytest.raises(NotFound, match='There is no project "shop" any more'):
        lake.undelete("shop/orders")
    lake.create_project("shop")
    lake.undelete("shop/orders")
    assert tree(lake, "shop/orders") == {"/a": "1"}
    assert lake.fsck(deep=True).ok


@local
def test_roles_on_a_repo_come_back_with_it_and_never_with_its_name(lake: Lake):
    lake.create_user("bob", "secret of bob")
    lake.grant("bob", "reader", "default/orders")
    before = lake.user("bob").grants
    lake.delete_repo("orders")
    lake.create_repo("orders")
    assert lake.user("bob").grants != before
    lake.delete_repo("orders")
    old = lake.deleted()[-1]
    lake.undelete("orders", id=old.id)
    assert lake.user("bob").grants == before


# -- erasing -------------------------------------------------------------------------------------


def test_erasing_reaches_a_deleted_repo(lake: Lake):
    put(lake, "orders", secret=SECRET, kept="1")
    lake.delete_repo("orders")
    report = lake.erase("orders:/secret")
    assert (report.versions, len(report.commits)) == (1, 1)
    assert found_anywhere(lake) == []
    lake.undelete("orders")
    with pytest.raises(Erased):
        list(lake.cat("orders:/secret"))
    assert b"".join(lake.cat("orders:/kept")) == b"1"
    assert lake.fsck(deep=True).ok


def test_erasing_reaches_deleted_repos_that_had_the_name(lake: Lake):
    put(lake, "orders", secret=SECRET + b", old")
    lake.delete_repo("orders")
    lake.create_repo("orders")
    put(lake, "orders", secret=SECRET + b", new")
    assert lake.erase("orders:/secret").versions == 2
    assert found_anywhere(lake) == []
    lake.undelete("orders", as_="old")
    with pytest.raises(Erased):
        list(lake.cat("old:/secret"))
    assert lake.fsck(deep=True).ok


def test_erasing_reaches_copies_in_deleted_repos_deleted_branches_and_open_commits(lake: Lake):
    put(lake, "orders", kept="1")
    lake.create_branch("orders@dev", "main")
    put(lake, "orders@dev", secret=SECRET)
    lake.create_repo("copies")
    lake.cp("orders@dev:/secret", "copies@main:/there")
    lake.start_commit("copies@main")
    lake.delete_branch("orders@dev")
    lake.delete_repo("copies")
    report = lake.erase("orders:/secret")
    assert any("copies" in one for one in report.also_at)
    assert found_anywhere(lake) == []
    lake.undelete("orders@dev")
    lake.undelete("copies")
    for ref in ("orders@dev:/secret", "copies:/there"):
        with pytest.raises(Erased):
            list(lake.cat(ref))
    assert lake.fsck(deep=True).ok


def test_what_is_staged_in_a_deleted_repo_does_not_survive_an_erasure(lake: Lake):
    put(lake, "orders", secret=SECRET)
    lake.start_commit("orders@main")
    with lake.commit("orders@main") as commit:
        commit.put("/secret", SECRET + b" again")
    lake.delete_repo("orders")
    lake.erase("orders:/secret")
    lake.gc(grace=0.0)
    assert found_anywhere(lake) == []


def test_an_erasure_that_is_refused_takes_nothing(lake: Lake):
    put(lake, "orders", kept="1")
    lake.start_commit("orders@main")
    put(lake, "orders", staged="2")
    lake.delete_repo("orders")
    with pytest.raises(NotFound):
        lake.erase("orders:/nobody")
    lake.undelete("orders")
    lake.finish_commit("orders@main")
    assert tree(lake, "orders") == {"/kept": "1", "/staged": "2"}


# -- backups -------------------------------------------------------------------------------------


@local
def test_a_restored_lake_has_them_too(lake: Lake, tmp_path):
    put(lake, "orders", a="1")
    lake.create_repo("other")
    put(lake, "other", b="2")
    lake.create_branch("other@dev", "main")
    put(lake, "other@dev", c="3")
    lake.delete_branch("other@dev")
    lake.delete_repo("orders")
    lake.backup(str(tmp_path / "backup"))
    where, _ = backups.restore(tmp_path / "backup", tmp_path / "copy")
    with tl.open(where) as copy:
        copy.undelete("orders")
        copy.undelete("other@dev")
        assert tree(copy, "orders") == {"/a": "1"}
        assert tree(copy, "other@dev") == {"/b": "2", "/c": "3"}
        assert copy.fsck(deep=True).ok


# -- before it is done ---------------------------------------------------------------------------


def test_what_deleting_would_take_is_told_and_nothing_is_done(lake: Lake):
    put(lake, "orders", a="1" * 100)
    lake.create_branch("orders@dev", "main")
    put(lake, "orders@dev", b="2" * 50)
    lake.create_tag("orders@v1", "dev")
    lake.create_repo("daily")
    made = put(lake, "daily", c="3")
    derive(lake, f"daily@{made}", f"orders@{head(lake, 'orders@main')}")
    before = (lake.branches("orders"), lake.tags("orders"), lake.repos())
    found = lake.deletion("branch", "orders@dev")
    assert (found.commits, found.bytes, found.refused) == (0, 0, None)
    lake.delete_tag("orders@v1")
    lake.gc(grace=0)
    found = lake.deletion("branch", "orders@dev")
    assert (found.commits, found.files, found.bytes) == (1, 1, 50)
    assert found.restorable_seconds == DAY
    found = lake.deletion("repo", "orders")
    assert (found.commits, found.bytes) == (2, 150)
    assert found.takes == ("branch dev", "branch main")
    assert [str(one.repo) for one in found.readers] == ["daily"]
    assert found.refused is not None
    assert lake.deletion("repo", "orders", force=True).refused is None
    assert lake.deletion("commit", "orders@main").refused is not None
    assert lake.deletion("project", "default").refused is not None
    assert (lake.branches("orders"), lake.repos()) == (before[0], before[2])
    assert lake.deleted() == []
    with pytest.raises(NotFound):
        lake.deletion("branch", "orders@nothing")
