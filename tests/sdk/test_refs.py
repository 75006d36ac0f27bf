"""The grammar of refs at work: SEMANTICS 1.6."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sdk.conftest import put, tree
from tests.served import home
from trunkline import Lake
from trunkline.errors import AmbiguousId, InvalidRef, NotFound
from trunkline.model.shape import as_json
from trunkline.storage.catalog import commits, refs


@pytest.fixture
def ids(lake: Lake) -> list[str]:
    """Five commits, in the order they were made."""
    return [put(lake, "orders", n=str(number)) for number in range(5)]


@pytest.mark.parametrize(
    "ref, index",
    [
        ("", 4), ("@main", 4), ("@main^", 3), ("@main~", 3), ("@main^2", 2), ("@main~2", 2),
        ("@main^^", 2), ("@main^~^", 1), ("@main~4", 0), ("@main^0", 4), ("@main.1", 0),
        ("@main.3", 2), ("@main.5", 4), ("@main.3^", 1), ("@main^.2", 1),
    ],
)  # fmt: skip
def test_ancestors_count_back_and_numbers_count_from_the_first(
    lake: Lake, ids: list[str], ref: str, index: int
):
    assert lake.commit_info(f"orders{ref}").id == ids[index]


@pytest.mark.parametrize("ref", ["main~5", "main^9999", "main.6", "main.3^3"])
def test_past_the_root_is_refused(lake: Lake, ids: list[str], ref: str):
    with pytest.raises(NotFound, match="goes b"):
        lake.commit_info(f"orders@{ref}")


def test_a_number_stays_stable_as_the_branch_grows(lake: Lake, ids: list[str]):
    put(lake, "orders", n="new")
    assert lake.commit_info("orders@main.3").id == ids[2]


def test_a_branch_or_tag_of_that_name_wins_over_a_suffix(lake: Lake, ids: list[str]):
    lake.create_branch("orders@main.3", "main~4")
    assert lake.commit_info("orders@main.3").id == ids[0]
    assert lake.commit_info("orders@main.2").id == ids[1]
    lake.create_tag("orders@main.2", "main")
    assert lake.commit_info("orders@main.2").id == ids[4]
    assert lake.commit_info("orders@main.2^").id == ids[3]


@pytest.mark.parametrize("digits", [32, 31, 20, 16])
def test_a_commit_is_named_by_its_first_digits(lake: Lake, ids: list[str], digits: int):
    for commit_id in ids:
        assert lake.commit_info(f"orders@{commit_id[:digits]}").id == commit_id
    assert lake.commit_info(f"orders@{ids[3][:digits]}^").id == ids[2]


def test_an_id_that_is_not_unique_is_refused_with_some_of_those_meant(lake: Lake, ids: list[str]):
    with home(lake)._core.database.write() as session:
        found = commits.find(session, 1, ids[0])
        assert found is not None
        for tail in ("a", "b"):
            commits.add(session, 1, replace(found, id="12345678" + tail * 24))
    with pytest.raises(AmbiguousId, match="12345678aaaa, 12345678bbbb"):
        lake.commit_info("orders@12345678")
    with pytest.raises(AmbiguousId):
        lake.show("12345678")
    assert lake.commit_info("orders@12345678a").id == "12345678" + "a" * 24


def test_eight_digits_are_the_fewest(lake: Lake, ids: list[str]):
    with home(lake)._core.database.write() as session:
        found = commits.find(session, 1, ids[0])
        assert found is not None
        commits.add(session, 1, replace(found, id="12345678" + "a" * 24))
    assert lake.commit_info("orders@12345678").id == "12345678" + "a" * 24
    with pytest.raises(NotFound):
        lake.commit_info("orders@1234567")


def test_a_branch_named_like_an_id_wins_over_the_id(lake: Lake, ids: list[str]):
    lake.create_branch(f"orders@{ids[0]}", "main")
    assert lake.commit_info(f"orders@{ids[0]}").id == ids[4]


def test_an_unknown_revision_suggests_a_branch_or_tag(lake: Lake, ids: list[str]):
    lake.create_tag("orders@release", "main")
    for typed, meant in (("mian", "main"), ("relaese", "release")):
        with pytest.raises(NotFound, match=f'Did you mean "{meant}"'):
            lake.commit_info(f"orders@{typed}")


def test_an_empty_branch_has_no_files_and_no_commit(lake: Lake):
    assert tree(lake, "orders@main") == {}
    assert list(lake.log("orders@main")) == []
    with pytest.raises(NotFound, match="has no commits yet"):
        lake.commit_info("orders@main")
    with pytest.raises(NotFound, match="before its first"):
        lake.commit_info("orders@main^")


@pytest.mark.parametrize(
    "ref", ["", "@main", "orders@", "orders@main:", "orders@a@b", "a/b/c@main"]
)
def test_a_malformed_ref_is_refused(lake: Lake, ref: str):
    with pytest.raises(InvalidRef):
        lake.commit_info(ref)


class TestLog:
    def test_newest_first_and_no_more_than_asked_for(self, lake: Lake, ids: list[str]):
        assert [c.id for c in lake.log("orders")] == ids[::-1]
        assert [c.id for c in lake.log("orders", limit=2)] == ids[:2:-1]
        assert list(lake.log("orders", limit=0)) == []
        assert [c.id for c in lake.log("orders@main~3")] == ids[1::-1]
        assert [c.id for c in lake.commits("orders", limit=3)] == ids[:1:-1]

    def test_a_path_shows_only_the_commits_that_changed_something_there(self, lake: Lake):
        made = put(lake, "orders", **{"day/a": "1", "b": "1"})
        put(lake, "orders", b="2")
        changed = put(lake, "orders", **{"day/a": "2"})
        put(lake, "orders", **{"day.txt": "1", "day-b": "1"})
        put(lake, "orders", **{"day/a": "2"})
        gone = lake.rm("orders:/day/a").id
        for path in ("/day", "/day/a"):
            assert [c.id for c in lake.log("orders", path=path)] == [gone, changed, made]
        assert [c.id for c in lake.log("orders:/day")] == [gone, changed, made]
        assert list(lake.log("orders", path="/nobody")) == []

    def test_a_merge_is_shown_for_a_path_only_if_it_differs_from_both_parents(self, lake: Lake):
        base = put(lake, "orders", a="1", b="1")
        lake.create_branch("orders@dev", "main")
        theirs = put(lake, "orders@dev", a="2")
        put(lake, "orders", b="2")
        lake.merge("orders@dev", "orders@main")
        assert [c.id for c in lake.log("orders", path="/a")] == [theirs, base]

    def test_the_whole_history_has_every_branch_and_tag(self, lake: Lake, ids: list[str]):
        lake.create_branch("orders@dev", "main~2")
        side = put(lake, "orders@dev", side="1")
        lake.create_tag("orders@v1", "dev")
        lake.delete_branch("orders@dev")
        assert {c.id for c in lake.history("orders")} == {*ids, side}
        assert len(lake.history("orders", limit=2)) == 2
        assert lake.history("orders", limit=0) == lake.history("orders", limit=-1) == []

    def test_what_a_commit_changed(self, lake: Lake, ids: list[str]):
        first, second = (lake.commit_info(f"orders@main.{n}") for n in (1, 2))
        assert [(c.path, c.change) for c in lake.changes(first)] == [("/n", "added")]
        assert [(c.path, c.change) for c in lake.changes(second)] == [("/n", "modified")]


class TestDiff:
    def test_paths_and_sizes(self, lake: Lake):
        put(lake, "orders", same="1", gone="22", new="333")
        with lake.commit("orders") as commit:
            commit.delete("/gone")
            commit.put("/new", b"4444")
            commit.put("/added", b"55555")
            commit.put("/same", b"1")
        diff = lake.diff("orders@main^", "orders@main")
        assert [(c.path, c.change, c.old_size, c.new_size) for c in diff.changes] == [
            ("/added", "added", None, 5),
            ("/gone", "removed", 2, None),
            ("/new", "modified", 3, 4),
        ]
        assert as_json(diff.summary()) == {
            "added": 1, "removed": 1, "modified": 1, "bytes_added": 9, "bytes_removed": 5,
        }  # fmt: skip
        assert [c.path for c in diff] == ["/added", "/gone", "/new"], "it can be looked at again"

    def test_below_a_path_its_neighbours_are_left_out(self, lake: Lake):
        first = put(lake, "orders", x="0")
        put(lake, "orders", **{"a/x": "1", "a-b": "1", "a.txt": "1", "a0": "1"})
        assert [c.path for c in lake.diff(f"orders@{first}:/a", "orders:/a")] == ["/a/x"]
        assert [c.path for c in lake.diff(f"orders@{first}:/a-b", "orders:/a-b")] == ["/a-b"]

    def test_two_repos_can_be_compared(self, lake: Lake):
        lake.create_repo("prices")
        put(lake, "orders", a="1", b="1")
        put(lake, "prices", a="1", c="1")
        paths = [(c.path, str(c.change)) for c in lake.diff("orders", "prices")]
        assert paths == [("/b", "removed"), ("/c", "added")]


class TestBranchesAndTags:
    def test_creating_a_branch_at_a_commit_reuses_it(self, lake: Lake, ids: list[str]):
        made = lake.create_branch("orders@dev", "main~2")
        assert made.head == ids[2]
        assert lake.create_branch("orders@again", "orders@dev").head == ids[2]
        assert lake.create_branch("orders@byid", ids[0][:20]).head == ids[0]

    def test_writing_to_a_branch_leaves_the_others(self, lake: Lake, ids: list[str]):
        lake.create_branch("orders@dev", "main")
        put(lake, "orders@dev", dev="1")
        assert tree(lake, "orders@main") == {"/n": "4"}
        assert tree(lake, "orders@dev") == {"/dev": "1", "/n": "4"}

    def test_moving_a_branch_reuses_the_commit(self, lake: Lake, ids: list[str]):
        assert lake.move_branch("orders@main", "main~3").head == ids[1]
        assert tree(lake, "orders") == {"/n": "1"}
        assert lake.move_branch("orders@main", ids[4]).head == ids[4]

    def test_deleting_a_branch_keeps_its_commits_until_gc(self, lake: Lake, ids: list[str]):
        lake.delete_branch("orders@main")
        assert tree(lake, f"orders@{ids[4]}") == {"/n": "4"}
        assert lake.create_branch("orders@main", ids[4]).head == ids[4]

    def test_a_branch_cannot_point_into_another_repo(self, lake: Lake, ids: list[str]):
        lake.create_repo("prices")
        for act in (
            lambda: lake.create_branch("prices@dev", "orders@main"),
            lambda: lake.move_branch("prices@main", "orders@main"),
            lambda: lake.create_tag("prices@v1", "orders@main"),
        ):
            with pytest.raises(Exception, match="cannot (point into|name a commit of)"):
                act()

    def test_names_are_taken_once(self, lake: Lake, ids: list[str]):
        lake.create_tag("orders@v1", "main", "the first")
        for make in (
            lambda: lake.create_branch("orders@main", "main"),
            lambda: lake.create_branch("orders@v1", "main"),
            lambda: lake.create_tag("orders@v1", "main~1"),
            lambda: lake.create_tag("orders@main", "main"),
        ):
            with pytest.raises(Exception, match="has a (branch|tag)"):
                make()

    def test_a_tag_stays_where_it_is(self, lake: Lake, ids: list[str]):
        tag = lake.create_tag("orders@v1.0", "main", "the first")
        put(lake, "orders", n="new")
        assert lake.commit_info("orders@v1.0").id == tag.commit == ids[4]
        assert lake.commit_info("orders@v1.0^").id == ids[3]
        assert [(t.name, t.message, t.author) for t in lake.tags("orders")] == [
            ("v1.0", "the first", "ada")
        ]
        lake.delete_tag("orders@v1.0")
        with pytest.raises(NotFound):
            lake.commit_info("orders@v1.0")

    def test_missing_ones_are_named_with_the_near_miss(self, lake: Lake, ids: list[str]):
        lake.create_tag("orders@release", "main")
        with pytest.raises(NotFound, match='Did you mean "main"'):
            lake.delete_branch("orders@mani")
        with pytest.raises(NotFound, match='Did you mean "main"'):
            lake.move_branch("orders@mani", "main")
        with pytest.raises(NotFound, match='Did you mean "release"'):
            lake.delete_tag("orders@releas")

    def test_every_move_is_on_record(self, lake: Lake, ids: list[str]):
        lake.move_branch("orders@main", "main~1")
        with home(lake)._core.database.read() as session:
            rows = session.all("SELECT old, new, author, reason FROM reflog ORDER BY position")
            assert refs.branch(session, 1, "main") is not None
        last = rows[-1]
        assert (last["old"], last["new"], last["author"]) == (ids[4], ids[3], "ada")
        assert last["reason"] == "move to main~1"
