"""Squash and drop, and commits that others were made from: SEMANTICS 1.7, 2.3 and 9."""

from __future__ import annotations

import pytest

from tests.sdk.conftest import head, put, tree
from tests.served import home
from trunkline import Lake
from trunkline.errors import CommitUnfinished, InUse, NotFound, Precondition
from trunkline.lake.core import resolve
from trunkline.lake.lease import pinned
from trunkline.model.commits import RepoCommit, RepoName
from trunkline.model.refs import parse_ref
from trunkline.model.shape import as_json
from trunkline.storage.catalog import commits, repos


def derive(lake: Lake, made: str, source: str) -> None:
    """Record that one commit was computed from another, both given as repo@id."""
    ends = []
    with home(lake)._core.database.write() as session:
        for text in (made, source):
            repo, _, commit_id = text.partition("@")
            key = repos.key_of(session, RepoName("default", repo))
            assert key is not None
            ends.append((key, commit_id))
        commits.add_provenance(session, *ends[0], *ends[1])


class TestSquash:
    def test_removes_a_commit_whose_child_keeps_the_data(self, lake: Lake):
        ids = [put(lake, "orders", **{name: "1"}) for name in "abc"]
        lake.squash("orders@main~1")
        assert [c.id for c in lake.log("orders")] == [ids[2], ids[0]]
        assert tree(lake, "orders") == {"/a": "1", "/b": "1", "/c": "1"}
        assert lake.commit_info("orders@main^").id == ids[0]
        assert lake.commit_info("orders@main.2").id == ids[2]
        with pytest.raises(NotFound):
            lake.commit_info(f"orders@{ids[1]}")

    def test_the_first_commit_can_be_squashed(self, lake: Lake):
        ids = [put(lake, "orders", **{name: "1"}) for name in "ab"]
        lake.squash("orders@main.1")
        assert lake.commit_info("orders@main.1").id == ids[1]
        assert lake.commit_info("orders@main").parent is None

    def test_is_refused_on_a_head(self, lake: Lake):
        put(lake, "orders", a="1")
        with pytest.raises(Precondition, match="is the head of main"):
            lake.squash("orders@main")

    def test_is_refused_on_what_another_branch_or_tag_points_at(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_tag("orders@v1", "main")
        put(lake, "orders", a="2")
        with pytest.raises(Precondition, match="v1"):
            lake.squash("orders@main^")

    def test_is_refused_when_an_unfinished_child_exists(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders", a="2")
        lake.start_commit("orders@dev")
        lake.move_branch("orders@main", "main")
        with pytest.raises((CommitUnfinished, Precondition)):
            lake.squash("orders@main^")

    def test_several_children_keep_the_data(self, lake: Lake):
        base = put(lake, "orders", a="1")
        middle = put(lake, "orders", b="1")
        lake.create_branch("orders@dev", "main")
        one, two = put(lake, "orders", c="1"), put(lake, "orders@dev", d="1")
        lake.squash(f"orders@{middle}")
        for commit_id in (one, two):
            assert lake.commit_info(f"orders@{commit_id}^").id == base
            assert tree(lake, f"orders@{commit_id}")["/b"] == "1"

    def test_a_merge_keeps_where_its_data_came_from(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders@dev", b="1")
        lake.merge("orders@dev", "orders@main")
        put(lake, "orders", c="1")
        with pytest.raises(Precondition, match="is a merge"):
            lake.squash("orders@main^")

    def test_a_merged_commit_is_squashed_out_of_both_histories(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_branch("orders@dev", "main")
        middle, tip = put(lake, "orders@dev", b="1"), put(lake, "orders@dev", c="1")
        lake.merge("orders@dev", "orders@main")
        lake.squash(f"orders@{middle}")
        assert tip in {c.id for c in lake.log("orders")}
        assert middle not in {c.id for c in lake.log("orders")}
        assert lake.fsck().ok

    def test_what_only_it_held_is_freed_by_gc(self, lake: Lake):
        put(lake, "orders", a="first")
        put(lake, "orders", a="second")
        lake.squash("orders@main^")
        assert lake.gc(grace=0).objects == 2, "its pack and its manifest"
        assert lake.fsck(deep=True).ok
        assert tree(lake, "orders") == {"/a": "second"}


class TestDrop:
    def test_removes_a_head_and_the_branch_falls_back_to_the_parent(self, lake: Lake):
        first, second = put(lake, "orders", a="1"), put(lake, "orders", a="2")
        (branch,) = lake.drop("orders@main")
        assert (branch.name, branch.head) == ("main", first)
        assert tree(lake, "orders") == {"/a": "1"}
        with pytest.raises(NotFound):
            lake.commit_info(f"orders@{second}")

    def test_the_branch_falls_back_to_empty(self, lake: Lake):
        put(lake, "orders", a="1")
        (branch,) = lake.drop("orders@main")
        assert branch.head is None
        assert tree(lake, "orders") == {}
        assert list(lake.log("orders")) == []
        put(lake, "orders", a="2")
        assert lake.commit_info("orders@main.1").message == "put a"

    def test_is_refused_when_it_has_children(self, lake: Lake):
        put(lake, "orders", a="1")
        put(lake, "orders", a="2")
        with pytest.raises(Precondition, match="has children"):
            lake.drop("orders@main^")

    def test_a_merge_is_a_child_too(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders@dev", b="1")
        lake.merge("orders@dev", "orders@main")
        with pytest.raises(Precondition, match="has children"):
            lake.drop("orders@dev")

    def test_every_branch_at_the_commit_falls_back(self, lake: Lake):
        first = put(lake, "orders", a="1")
        put(lake, "orders", a="2")
        lake.create_branch("orders@dev", "main")
        assert {b.name: b.head for b in lake.drop("orders@main")} == {"main": first, "dev": first}

    def test_is_refused_on_what_is_tagged(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_tag("orders@v1", "main")
        with pytest.raises(Precondition, match="is tagged v1"):
            lake.drop("orders@main")

    def test_an_empty_branch_has_nothing_to_drop(self, lake: Lake):
        with pytest.raises(NotFound, match="has no commits"):
            lake.drop("orders@main")


class TestDerivedCommits:
    @pytest.fixture
    def source(self, lake: Lake) -> str:
        """A commit on orders, one on totals made from it, and one on charts made from that."""
        source = put(lake, "orders", a="1")
        made = []
        for name in ("totals", "charts"):
            lake.create_repo(name)
            put(lake, name, first="1")
            made.append(put(lake, name, second="2"))
        derive(lake, f"totals@{made[0]}", f"orders@{source}")
        derive(lake, f"charts@{made[1]}", f"totals@{made[0]}")
        return source

    def test_drop_and_squash_are_refused_when_other_repos_derive_from_it(
        self, lake: Lake, source: str
    ):
        with pytest.raises(InUse, match="derived from it: totals@"):
            lake.drop("orders@main")
        put(lake, "orders", a="2")
        with pytest.raises(InUse, match="derived from it: totals@"):
            lake.squash("orders@main^")

    def test_recursive_drop_takes_everything_below_with_it(self, lake: Lake, source: str):
        lake.drop("orders@main", recursive=True)
        assert head(lake, "orders@main") is None
        for name in ("totals", "charts"):
            assert tree(lake, name) == {"/first": "1"}
        assert lake.fsck().ok

    def test_recursive_squash_takes_everything_below_with_it(self, lake: Lake, source: str):
        put(lake, "orders", a="2")
        lake.squash("orders@main^", recursive=True)
        assert len(list(lake.log("orders"))) == 1
        assert tree(lake, "charts") == {"/first": "1"}

    def test_recursive_stops_at_a_tag(self, lake: Lake, source: str):
        lake.create_tag("charts@v1", "main")
        with pytest.raises(Precondition, match="is tagged v1"):
            lake.drop("orders@main", recursive=True)
        assert head(lake, "orders@main") == source

    def test_recursive_takes_open_commits_too(self, lake: Lake, source: str):
        opened = lake.start_commit("charts@main")
        derive(lake, f"charts@{opened.id}", f"orders@{source}")
        lake.drop("orders@main", recursive=True)
        assert lake.status().open_commits == ()

    def test_a_set_names_the_commits_that_its_members_actually_used(self, lake: Lake, source: str):
        put(lake, "orders", a="2")
        used = lake.commit_info("charts").id
        assert lake.commit_info(f"totals@{used}").id == head(lake, "totals@main")
        assert lake.commit_info(f"orders@{used}").id == source
        assert lake.commit_info(f"orders@{used[:20]}").id == source
        assert tree(lake, f"orders@{used}") == {"/a": "1"}
        lake.create_repo("others")
        with pytest.raises(NotFound):
            lake.commit_info(f"others@{used}")

    def test_a_set_is_shown_with_what_each_member_was_made_from(self, lake: Lake, source: str):
        totals = lake.commit_info("totals").id
        shown = lake.show(totals[:20])
        assert shown.id == totals
        assert [str(c.repo) for c in shown.commits] == ["totals"]
        assert shown.sources == {"totals": (RepoCommit(RepoName("default", "orders"), source),)}
        assert as_json(shown)["sources"] == {
            "totals": [{"repo": {"project": "default", "repo": "orders"}, "id": source}]
        }

    def test_a_repo_with_readers_is_not_deleted_unless_forced(self, lake: Lake, source: str):
        with pytest.raises(InUse, match="has readers: totals"):
            lake.delete_repo("orders")
        assert tree(lake, "orders") == {"/a": "1"}
        lake.delete_repo("charts")
        lake.delete_repo("orders", force=True)
        assert [str(r.name) for r in lake.repos()] == ["totals"]
        assert lake.fsck().ok

    def test_gc_keeps_what_a_needed_commit_was_made_from(self, lake: Lake, source: str):
        lake.delete_branch("orders@main")
        assert lake.gc(grace=0).commits == 0
        assert tree(lake, f"orders@{source}") == {"/a": "1"}
        lake.drop("charts@main")
        lake.drop("totals@main")
        assert lake.gc(grace=0).commits == 1


class TestForget:
    def test_throws_away_the_bytes_and_keeps_record_and_lineage(self, lake: Lake):
        first, second = put(lake, "orders", a="first"), put(lake, "orders", a="second")
        done = lake.forget("orders@main^")
        assert (done.id, done.message, done.files) == (first, "put a", 1)
        assert done.forgotten is not None
        assert [c.id for c in lake.log("orders")] == [second, first]
        with pytest.raises(NotFound, match="was forgotten on"):
            lake.read("orders@main^:/a")
        assert lake.gc(grace=0).objects == 2, "its pack and its manifest"
        assert lake.fsck(deep=True).ok
        assert tree(lake, "orders") == {"/a": "second"}

    def test_what_other_commits_still_hold_stays(self, lake: Lake):
        put(lake, "orders", a="kept", b="gone")
        put(lake, "orders", b="new")
        lake.forget("orders@main^")
        lake.gc(grace=0)
        assert tree(lake, "orders") == {"/a": "kept", "/b": "new"}

    def test_is_refused_on_what_a_branch_or_tag_points_at(self, lake: Lake):
        put(lake, "orders", a="1")
        with pytest.raises(Precondition, match="main points at"):
            lake.forget("orders@main")
        lake.create_tag("orders@v1", "main")
        put(lake, "orders", a="2")
        with pytest.raises(Precondition, match="v1 points at"):
            lake.forget("orders@main^")

    def test_forgetting_twice_is_once(self, lake: Lake):
        put(lake, "orders", a="1")
        put(lake, "orders", a="2")
        assert lake.forget("orders@main^") == lake.forget("orders@main^")

    def test_a_forgotten_base_says_so_when_it_is_needed(self, lake: Lake):
        put(lake, "orders", a="1")
        put(lake, "orders", a="2")
        lake.forget("orders@main^")
        with pytest.raises(NotFound, match="was forgotten"):
            lake.revert("orders@main")
        assert [c.message for c in lake.log("orders", path="/a")]


@pytest.mark.parametrize("verb", ["drop", "forget", "squash"])
def test_a_commit_that_is_being_read_keeps_its_data(lake: Lake, verb: str) -> None:
    for text in (b"1", b"2", b"3"):
        with lake.commit("orders@main") as commit:
            commit.put("/a", text)
    ref = "orders@main" if verb == "drop" else "orders@main~1"
    with home(lake)._core.database.read() as session:
        found = resolve(session, parse_ref(ref))
    with pinned(home(lake)._core, found), pytest.raises(InUse, match="being read"):
        getattr(lake, verb)(ref)
    getattr(lake, verb)(ref)


def test_erase_waits_for_open_commits(lake: Lake) -> None:
    with lake.commit("orders@main") as commit:
        commit.put("/a", b"1")
    lake.start_commit("orders@main")
    with pytest.raises(Precondition, match="unfinished"):
        lake.erase("orders:/a")
