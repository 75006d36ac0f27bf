"""Merge, revert and cherry-pick."""

from __future__ import annotations

import pytest

from tests.sdk.conftest import data_objects, head, put, tree
from trunkline import Lake
from trunkline.errors import MergeConflict, NotFound, PathClash, Usage
from trunkline.model.commits import Origin
from trunkline.model.shape import as_json


@pytest.fixture
def forked(lake: Lake) -> Lake:
    """main and dev both changed /both, and each something of its own."""
    put(lake, "orders", both="0", mine="0", theirs="0", gone="0")
    lake.create_branch("orders@dev", "main")
    put(lake, "orders", both="1", mine="1")
    with lake.commit("orders@dev", message="dev") as commit:
        commit.put("/both", b"2")
        commit.put("/theirs", b"2")
        commit.delete("/gone")
    return lake


class TestMerge:
    def test_brings_the_changes_of_both_sides_together(self, lake: Lake):
        base = put(lake, "orders", a="0", b="0", c="0")
        lake.create_branch("orders@dev", "main")
        ours = put(lake, "orders", a="1", new="1")
        with lake.commit("orders@dev") as commit:
            commit.put("/b", b"2")
            commit.delete("/c")
            commit.put("/added", b"2")
        before = len(data_objects(lake))
        report = lake.merge("orders@dev", "orders@main")
        assert tree(lake, "orders") == {"/a": "1", "/added": "2", "/b": "2", "/new": "1"}
        assert report.commit is not None
        assert report.commit.parents == (ours, commit.result.id)
        assert (report.commit.origin, report.commit.id) == (Origin.MERGE, head(lake, "orders@main"))
        assert (report.base, report.conflicts, report.fast_forward) == (base, (), False)
        changed = {c.path: str(c.change) for c in report.changes}
        assert changed == {"/added": "added", "/b": "modified", "/c": "removed"}
        assert tree(lake, "orders@dev") == {"/a": "0", "/added": "2", "/b": "2"}
        assert len(data_objects(lake)) == before, "no bytes move"

    def test_conflicts_are_all_listed_and_nothing_is_changed(self, forked: Lake):
        put(forked, "orders", gone="kept after all")
        before = head(forked, "orders@main")
        with pytest.raises(MergeConflict) as caught:
            forked.merge("orders@dev", "orders@main")
        assert caught.value.paths == ["/both", "/gone"]
        assert head(forked, "orders@main") == before

    @pytest.mark.parametrize("strategy, both", [("ours", "1"), ("theirs", "2")])
    def test_a_strategy_decides_every_conflict(self, forked: Lake, strategy: str, both: str):
        report = forked.merge("orders@dev", "orders@main", strategy=strategy)
        assert tree(forked, "orders") == {"/both": both, "/mine": "1", "/theirs": "2"}
        assert [(c.path, c.chosen) for c in report.conflicts] == [("/both", strategy)]
        assert report.unresolved == ()

    def test_a_choice_per_path_decides_what_it_matches(self, lake: Lake):
        put(lake, "orders", **{"a/x": "0", "a/y": "0", "b": "0", "c": "0"})
        lake.create_branch("orders@dev", "main")
        put(lake, "orders", **{"a/x": "1", "a/y": "1", "b": "1", "c": "1"})
        put(lake, "orders@dev", **{"a/x": "2", "a/y": "2", "b": "2", "c": "2"})
        with pytest.raises(MergeConflict) as caught:
            lake.merge("orders@dev", "orders@main", choose={"/a": "theirs"})
        assert caught.value.paths == ["/b", "/c"]
        lake.merge(
            "orders@dev", "orders@main", strategy="ours", choose={"/a/y": "ours", "/a": "theirs"}
        )
        assert tree(lake, "orders") == {"/a/x": "2", "/a/y": "1", "/b": "1", "/c": "1"}

    @pytest.mark.parametrize("words", [{"strategy": "mine"}, {"choose": {"/a": "both"}}])
    def test_an_unknown_strategy_is_refused(self, forked: Lake, words: dict):
        with pytest.raises(Usage, match="is no strategy"):
            forked.merge("orders@dev", "orders@main", **words)

    def test_a_dry_run_says_what_would_happen_and_does_nothing(self, forked: Lake):
        before = head(forked, "orders@main")
        report = forked.merge("orders@dev", "orders@main", dry_run=True)
        assert [c.path for c in report.unresolved] == ["/both"]
        assert [c.path for c in report.changes] == ["/gone", "/theirs"]
        conflict = as_json(report.conflicts[0])
        assert {k: v["size"] for k, v in conflict.items() if k in ("base", "ours", "theirs")} == {
            "base": 1, "ours": 1, "theirs": 1,
        }  # fmt: skip
        assert report.dry_run
        assert report.commit is None
        assert head(forked, "orders@main") == before

    def test_the_same_change_on_both_sides_is_no_conflict(self, lake: Lake):
        put(lake, "orders", a="0", gone="0")
        lake.create_branch("orders@dev", "main")
        for branch in ("main", "dev"):
            with lake.commit(f"orders@{branch}") as commit:
                commit.put("/a", b"1")
                commit.delete("/gone")
        lake.merge("orders@dev", "orders@main")
        assert tree(lake, "orders") == {"/a": "1"}

    def test_merging_twice_is_already_up_to_date(self, forked: Lake):
        forked.merge("orders@dev", "orders@main", strategy="ours")
        done = head(forked, "orders@main")
        report = forked.merge("orders@dev", "orders@main")
        assert (report.changes, report.conflicts) == ((), ())
        assert report.sentence == "already up to date"
        assert head(forked, "orders@main") == done

    def test_only_what_came_since_is_merged_the_next_time(self, forked: Lake):
        forked.merge("orders@dev", "orders@main", strategy="ours")
        put(forked, "orders@dev", theirs="3")
        report = forked.merge("orders@dev", "orders@main")
        assert [c.path for c in report.changes] == ["/theirs"]
        assert tree(forked, "orders")["/both"] == "1", "what was decided stays decided"

    def test_a_branch_that_did_not_move_takes_all_of_the_other(self, lake: Lake):
        put(lake, "orders", a="0")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders@dev", a="1")
        assert lake.merge("orders@dev", "orders@main").fast_forward
        assert tree(lake, "orders") == {"/a": "1"}

    def test_an_empty_branch_takes_all_of_the_other(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_branch("orders@dev")
        lake.move_branch("orders@dev", "main")
        lake.drop("orders@main")
        put(lake, "orders@dev", a="1")
        lake.merge("orders@dev", "orders@main")
        assert tree(lake, "orders") == {"/a": "1"}

    def test_histories_without_a_common_commit_conflict_where_they_differ(self, lake: Lake):
        put(lake, "orders", a="1", same="1")
        lake.create_branch("orders@dev", "main")
        lake.drop("orders@main")
        put(lake, "orders", a="2", same="1", mine="2")
        put(lake, "orders@dev", theirs="1", a="1", same="1")
        with pytest.raises(MergeConflict) as caught:
            lake.merge("orders@dev", "orders@main")
        assert caught.value.paths == ["/a"]
        lake.merge("orders@dev", "orders@main", strategy="theirs")
        assert tree(lake, "orders") == {"/a": "1", "/mine": "2", "/same": "1", "/theirs": "1"}

    def test_a_file_on_one_side_and_a_folder_on_the_other_is_refused(self, lake: Lake):
        put(lake, "orders", x="0")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders", a="1")
        put(lake, "orders@dev", **{"a/b": "2"})
        for dry_run in (True, False):
            with pytest.raises(PathClash, match='"/a".*"/a/b"'):
                lake.merge("orders@dev", "orders@main", dry_run=dry_run)
        assert tree(lake, "orders") == {"/a": "1", "/x": "0"}

    def test_different_repos_do_not_merge(self, lake: Lake):
        lake.create_repo("prices")
        put(lake, "orders", a="1")
        with pytest.raises(Usage, match="different repos"):
            lake.merge("orders@main", "prices@main")

    def test_a_missing_side_is_named(self, lake: Lake):
        put(lake, "orders", a="1")
        with pytest.raises(NotFound):
            lake.merge("orders@nobody", "orders@main")
        with pytest.raises(NotFound):
            lake.merge("orders@main", "orders@nobody")

    def test_the_newest_common_commit_is_the_base(self, lake: Lake):
        """Main takes dev twice; the second time only what came after the first counts."""
        put(lake, "orders", a="0", b="0")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders@dev", a="1")
        lake.merge("orders@dev", "orders@main")
        put(lake, "orders", a="0")
        put(lake, "orders@dev", b="1")
        lake.merge("orders@dev", "orders@main")
        assert tree(lake, "orders") == {"/a": "0", "/b": "1"}


class TestCrissCross:
    @pytest.fixture
    def crossed(self, lake: Lake) -> Lake:
        """Each branch has merged the other's first commit: there are two best common ancestors."""
        put(lake, "orders", f="0", g="0", h="0")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders", f="1")
        put(lake, "orders@dev", g="1")
        lake.create_branch("orders@old", "main")
        lake.merge("orders@dev", "orders@main")
        lake.merge("orders@old", "orders@dev")
        assert tree(lake, "orders@main") == tree(lake, "orders@dev")
        return lake

    def test_a_change_undone_on_one_side_stays_undone(self, crossed: Lake):
        """With either ancestor alone as the base, one of these two would be lost in silence."""
        put(crossed, "orders", f="0", mine="1")
        put(crossed, "orders@dev", g="0", theirs="1")
        crossed.merge("orders@dev", "orders@main")
        wanted = {"/f": "0", "/g": "0", "/h": "0", "/mine": "1", "/theirs": "1"}
        assert tree(crossed, "orders") == wanted

    def test_it_is_the_same_the_other_way_round(self, crossed: Lake):
        put(crossed, "orders", f="2")
        put(crossed, "orders@dev", g="2")
        crossed.create_branch("orders@back", "dev")
        crossed.merge("orders@dev", "orders@main")
        crossed.merge("orders@main~1", "orders@back")
        assert tree(crossed, "orders") == tree(crossed, "orders@back")
        assert tree(crossed, "orders") == {"/f": "2", "/g": "2", "/h": "0"}

    def test_what_both_changed_since_is_a_conflict(self, crossed: Lake):
        put(crossed, "orders", h="1")
        put(crossed, "orders@dev", h="2")
        with pytest.raises(MergeConflict) as caught:
            crossed.merge("orders@dev", "orders@main")
        assert caught.value.paths == ["/h"]

    def test_what_was_decided_differently_before_is_a_conflict_again(self, lake: Lake):
        """Both merged the other and each kept its own: nobody can say which one is older."""
        put(lake, "orders", f="0")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders", f="1")
        put(lake, "orders@dev", f="2")
        lake.create_branch("orders@old", "main")
        lake.merge("orders@dev", "orders@main", strategy="ours")
        lake.merge("orders@old", "orders@dev", strategy="ours")
        assert (tree(lake, "orders@main"), tree(lake, "orders@dev")) == ({"/f": "1"}, {"/f": "2"})
        with pytest.raises(MergeConflict) as caught:
            lake.merge("orders@dev", "orders@main")
        assert caught.value.paths == ["/f"]


class TestRevert:
    def test_undoes_one_commit_and_keeps_what_came_after(self, lake: Lake):
        put(lake, "orders", a="0", gone="0")
        with lake.commit("orders", message="bad") as bad:
            bad.put("/a", b"1")
            bad.put("/added", b"1")
            bad.delete("/gone")
        put(lake, "orders", later="2")
        done = lake.revert(f"orders@{bad.result.id}")
        assert tree(lake, "orders") == {"/a": "0", "/gone": "0", "/later": "2"}
        assert (done.message, done.origin) == ('Revert "bad"', Origin.REVERT)
        assert done.id == head(lake, "orders@main")

    def test_the_first_commit_can_be_undone(self, lake: Lake):
        put(lake, "orders", a="1")
        put(lake, "orders", b="2")
        lake.revert("orders@main.1")
        assert tree(lake, "orders") == {"/b": "2"}

    def test_undoing_twice_does_it_again(self, lake: Lake):
        put(lake, "orders", a="0")
        put(lake, "orders", a="1")
        lake.revert("orders@main")
        lake.revert("orders@main")
        assert tree(lake, "orders") == {"/a": "1"}

    def test_what_changed_since_is_a_conflict(self, lake: Lake):
        put(lake, "orders", a="0")
        put(lake, "orders", a="1")
        last = put(lake, "orders", a="2")
        with pytest.raises(MergeConflict) as caught:
            lake.revert("orders@main^")
        assert caught.value.paths == ["/a"]
        assert head(lake, "orders@main") == last
        lake.revert("orders@main^", strategy="theirs")
        assert tree(lake, "orders") == {"/a": "0"}

    def test_on_another_branch(self, lake: Lake):
        put(lake, "orders", a="0")
        put(lake, "orders", a="1")
        lake.create_branch("orders@dev", "main")
        lake.revert("orders@main", "orders@dev")
        assert (tree(lake, "orders"), tree(lake, "orders@dev")) == ({"/a": "1"}, {"/a": "0"})


class TestCherryPick:
    def test_repeats_on_a_branch_what_one_commit_did_elsewhere(self, lake: Lake):
        put(lake, "orders", a="0")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders@dev", unwanted="1")
        put(lake, "orders@dev", wanted="1")
        before = len(data_objects(lake))
        done = lake.cherry_pick("orders@dev", "orders@main")
        assert tree(lake, "orders") == {"/a": "0", "/wanted": "1"}
        assert (done.message, done.origin) == ("put wanted", Origin.CHERRY_PICK)
        assert len(data_objects(lake)) == before, "no bytes move"

    def test_what_differs_there_is_a_conflict(self, lake: Lake):
        put(lake, "orders", a="0")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders", a="1")
        put(lake, "orders@dev", a="2")
        with pytest.raises(MergeConflict):
            lake.cherry_pick("orders@dev", "orders@main")
        lake.cherry_pick("orders@dev", "orders@main", choose={"/a": "theirs"}, message="mine")
        assert tree(lake, "orders") == {"/a": "2"}
        assert lake.commit_info("orders").message == "mine"
