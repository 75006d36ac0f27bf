"""Files and commits: SEMANTICS 1.1 to 1.5."""

from __future__ import annotations

import io
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.sdk.conftest import data_objects, head, put, tree
from tests.served import home
from trunkline import Lake
from trunkline.errors import (
    BranchMoved,
    CommitFinished,
    CommitUnfinished,
    Conflict,
    InvalidPath,
    NotAllowed,
    NotFound,
    PathClash,
    Precondition,
    SourceUnreadable,
    Usage,
)
from trunkline.model.commits import Origin, RepoKind, RepoName
from trunkline.storage.catalog import repos


class TestFiles:
    def test_a_put_replaces_the_file(self, lake: Lake):
        put(lake, "orders", a="one")
        put(lake, "orders", a="two")
        assert tree(lake, "orders") == {"/a": "two"}

    def test_append_adds_to_what_is_there_also_across_commits(self, lake: Lake):
        put(lake, "orders", a="one")
        with lake.commit("orders") as commit:
            commit.put("/a", b" two", append=True)
            commit.put("/a", b" three", append=True)
        assert tree(lake, "orders") == {"/a": "one two three"}
        with lake.commit("orders") as commit:
            commit.put("/a", b" four", append=True)
        assert tree(lake, "orders") == {"/a": "one two three four"}
        assert tree(lake, "orders@main~2") == {"/a": "one"}

    def test_append_to_nothing_makes_the_file(self, lake: Lake):
        with lake.commit("orders") as commit:
            commit.put("/a", b"one", append=True)
        assert tree(lake, "orders") == {"/a": "one"}

    def test_append_to_a_large_file(self, lake: Lake):
        large = bytes(range(256)) * 5000
        put(lake, "orders", a=large)
        with lake.commit("orders") as commit:
            commit.put("/a", large, append=True)
            commit.put("/a", b"end", append=True)
        assert lake.read("orders:/a") == large + large + b"end"

    @pytest.mark.parametrize(
        "calls, left",
        [
            ("put delete put", "3"),
            ("put put delete", None),
            ("delete put", "2"),
            ("put append", "12"),
            ("append put", "2"),
            ("append append", "old12"),
            ("delete append", "2"),
            ("put delete append", "3"),
            ("append delete append", "3"),
            ("append delete", None),
            ("put append delete put append", "45"),
        ],
    )
    def test_operations_inside_one_commit_apply_in_call_order(
        self, lake: Lake, calls: str, left: str | None
    ):
        put(lake, "orders", a="old", b="kept")
        with lake.commit("orders") as commit:
            for number, call in enumerate(calls.split(), start=1):
                if call == "delete":
                    commit.delete("/a")
                else:
                    commit.put("/a", str(number).encode(), append=call == "append")
        assert tree(lake, "orders").get("/a") == left
        assert tree(lake, "orders")["/b"] == "kept"

    def test_deleting_what_is_not_there_does_nothing(self, lake: Lake):
        put(lake, "orders", a="one")
        with lake.commit("orders") as commit:
            commit.delete("/nobody")
            commit.delete("/nobody/at/all")
        assert tree(lake, "orders") == {"/a": "one"}
        lake.rm("orders:/nobody")

    def test_the_last_file_gone_the_folder_is_gone(self, lake: Lake):
        put(lake, "orders", **{"day/a": "1", "day/b": "2"})
        lake.rm("orders:/day/a")
        assert [i.path for i in lake.ls("orders")] == ["/day"]
        lake.rm("orders:/day/b")
        assert list(lake.ls("orders")) == []
        with pytest.raises(NotFound):
            lake.stat("orders:/day")

    def test_deleting_a_folder_deletes_all_below_it_and_nothing_beside_it(self, lake: Lake):
        put(lake, "orders", **{"a/x": "1", "a/y/z": "2", "a-b": "3", "a.txt": "4", "a0": "5"})
        with pytest.raises(Usage, match="is a folder"):
            lake.rm("orders:/a")
        lake.rm("orders:/a", recursive=True)
        assert list(tree(lake, "orders")) == ["/a-b", "/a.txt", "/a0"]

    @pytest.mark.parametrize("first, second", [("/a", "/a/b"), ("/a/b/c", "/a/b"), ("/a/b", "/a")])
    def test_a_path_may_not_be_a_file_and_a_folder_at_once(
        self, lake: Lake, first: str, second: str
    ):
        with lake.commit("orders") as commit:
            commit.put(first, b"1")
        with pytest.raises(PathClash) as caught, lake.commit("orders") as commit:
            commit.put(second, b"2")
        assert first in str(caught.value)
        assert second in str(caught.value)
        assert tree(lake, "orders") == {first: "1"}
        with lake.commit("orders") as commit:
            commit.delete(first)
            commit.put(second, b"2")
        assert tree(lake, "orders") == {second: "2"}

    def test_data_comes_as_bytes_path_stream_or_chunks(self, lake: Lake, tmp_path: Path):
        local = tmp_path / "local.csv"
        local.write_bytes(b"a file")
        with lake.commit("orders") as commit:
            commit.put("/bytes", b"bytes")
            commit.put("/path", local)
            commit.put("/text", str(local))
            commit.put("/stream", io.BytesIO(b"a stream"))
            commit.put("/chunks", iter([b"in ", b"", b"chunks"]))
            commit.put("/empty", b"")
        assert tree(lake, "orders") == {
            "/bytes": "bytes", "/path": "a file", "/text": "a file", "/stream": "a stream",
            "/chunks": "in chunks", "/empty": "",
        }  # fmt: skip

    def test_a_missing_local_file_changes_nothing(self, lake: Lake, tmp_path: Path):
        with pytest.raises((SourceUnreadable, NotFound)), lake.commit("orders") as commit:
            commit.put("/a", b"1")
            commit.put("/b", tmp_path / "nobody")
        assert head(lake, "orders@main") is None

    def test_unicode_paths_and_names_with_glob_characters_are_allowed(self, lake: Lake):
        names = ["/größe/数据.csv", "/[x]*?.csv", "/a b/{1,2}", "/'quotes\""]
        with lake.commit("orders") as commit:
            for name in names:
                commit.put(name, name.encode())
        assert tree(lake, "orders") == {n: n for n in sorted(names, key=str.encode)}
        assert lake.read("orders:/[x]*?.csv").decode() == "/[x]*?.csv"

    @pytest.mark.parametrize("path", ["/a/../b", "/a\nb", "/a//b", "/" + "x" * 2000, "/a\\b", ""])
    def test_a_bad_path_is_refused_and_nothing_is_changed(self, lake: Lake, path: str):
        with pytest.raises(InvalidPath), lake.commit("orders") as commit:
            commit.put("/good", b"1")
            commit.put(path, b"2")
        assert head(lake, "orders@main") is None

    def test_a_file_cannot_be_put_at_the_root(self, lake: Lake):
        with pytest.raises(Usage, match="at /"), lake.commit("orders") as commit:
            commit.put("/", b"1")


class TestCommits:
    def test_a_single_put_is_one_commit(self, lake: Lake, tmp_path: Path):
        (tmp_path / "a").write_text("1")
        (tmp_path / "b").write_text("2")
        made = lake.put("orders:/in/", [tmp_path / "a", tmp_path / "b"], message="both")
        assert [c.id for c in lake.log("orders")] == [made.id]
        assert (made.files, made.size, made.message, made.author) == (2, 2, "both", "ada")
        assert (made.parent, made.branch, made.origin) == (None, "main", Origin.USER)
        removed = lake.rm("orders:/in/a")
        assert [c.id for c in lake.log("orders")] == [removed.id, made.id]
        assert removed.parent == made.id

    def test_an_empty_commit_is_allowed(self, lake: Lake):
        with lake.commit("orders", message="nothing") as commit:
            pass
        assert commit.result.files == 0
        assert [c.message for c in lake.log("orders")] == ["nothing"]

    def test_an_exception_leaves_nothing(self, lake: Lake):
        with pytest.raises(ZeroDivisionError), lake.commit("orders") as commit:
            commit.put("/a", b"1")
            commit.put("/large", bytes(2_000_000))
            raise ZeroDivisionError
        assert head(lake, "orders@main") is None
        assert list(lake.log("orders")) == []
        with pytest.raises(Usage, match="not finished"):
            _ = commit.result
        lake.gc(grace=0)
        assert data_objects(lake) == []

    def test_a_commit_shows_its_id_before_it_is_made(self, lake: Lake):
        with lake.commit("orders") as commit:
            commit.put("/a", b"1")
            planned = commit.id
        assert commit.result.id == planned == head(lake, "orders@main")

    def test_a_commit_on_a_missing_branch_is_refused_with_the_near_miss(self, lake: Lake):
        lake.create_branch("orders@staging")
        with pytest.raises(NotFound, match='Did you mean "staging"'):
            lake.commit("orders@stagin")

    def test_a_commit_on_a_missing_repo_is_refused_with_the_near_miss(self, lake: Lake):
        with pytest.raises(NotFound, match='Did you mean "orders"'):
            lake.commit("order@main")

    def test_a_finished_commit_never_changes(self, lake: Lake):
        made = put(lake, "orders", a="1")
        lake.create_tag("orders@v1", "main")
        for ref in (made, made[:12], "v1", "main^0", "main~0"):
            with pytest.raises(CommitFinished, match="never change"):
                lake.commit(f"orders@{ref}")
            with pytest.raises(CommitFinished):
                lake.rm(f"orders@{ref}:/a")
        with pytest.raises(CommitFinished):
            lake.finish_commit(f"orders@{made}")
        assert tree(lake, f"orders@{made}") == {"/a": "1"}

    def test_a_commit_that_has_ended_takes_no_more_changes(self, lake: Lake, tmp_path: Path):
        with lake.commit("orders") as commit:
            commit.put("/a", b"1")
        with pytest.raises(ZeroDivisionError), lake.commit("orders") as failed:
            raise ZeroDivisionError
        for ended in (commit, failed):
            for change in (
                lambda c: c.put("/b", b"2"),
                lambda c: c.put_files([("/b", tmp_path)]),
                lambda c: c.delete("/a"),
                lambda c: c.copy("orders:/a", "/b"),
                lambda c: c.__enter__(),
            ):
                with pytest.raises(CommitFinished, match="has ended"):
                    change(ended)
        assert tree(lake, "orders") == {"/a": "1"}

    def test_users_cannot_write_to_the_output_of_a_pipeline(self, lake: Lake):
        with home(lake)._core.database.write() as session:
            repos.add(session, RepoName("default", "out"), RepoKind.OUTPUT, "")
        with pytest.raises(NotAllowed, match="output of a pipeline"):
            lake.commit("out@main")
        with pytest.raises(NotAllowed):
            lake.start_commit("out@main")


class TestOpenCommits:
    def test_start_and_finish_gather_many_calls(self, lake: Lake, tmp_path: Path):
        (tmp_path / "b").write_text("2")
        put(lake, "orders", old="0")
        opened = lake.start_commit("orders@main", "many")
        put(lake, "orders", a="1")
        lake.put("orders:/b", tmp_path / "b")
        lake.rm("orders:/old")
        assert tree(lake, "orders") == {"/old": "0"}, "nothing is seen before it is finished"
        done = lake.finish_commit("orders@main")
        assert (done.id, done.message, done.files) == (opened.id, "many", 2)
        assert tree(lake, "orders") == {"/a": "1", "/b": "2"}
        assert len(list(lake.log("orders"))) == 2

    def test_operations_on_an_open_commit_apply_in_call_order(self, lake: Lake):
        put(lake, "orders", a="old", b="old", **{"d/x": "old"})
        lake.start_commit("orders@main")
        steps: list[tuple[str, str, bytes]] = [
            ("append", "/a", b"1"), ("append", "/a", b"2"), ("delete", "/b", b""),
            ("append", "/b", b"3"), ("put", "/c", b"4"), ("append", "/c", b"5"),
            ("delete", "/d", b""), ("put", "/d/y", b"6"),
        ]  # fmt: skip
        for call, path, content in steps:
            with lake.commit("orders@main") as commit:
                if call == "delete":
                    commit.delete(path)
                else:
                    commit.put(path, content, append=call == "append")
        lake.finish_commit("orders@main")
        assert tree(lake, "orders") == {"/a": "old12", "/b": "3", "/c": "45", "/d/y": "6"}

    def test_an_open_commit_is_written_to_by_its_id_too(self, lake: Lake):
        put(lake, "orders", old="0")
        opened = lake.start_commit("orders@main")
        put(lake, f"orders@{opened.id}", a="1")
        lake.rm(f"orders@{opened.id}:/old")
        lake.finish_commit(f"orders@{opened.id}", "by id")
        assert tree(lake, "orders") == {"/a": "1"}
        assert lake.commit_info("orders").message == "by id"

    def test_starting_on_a_branch_with_an_unfinished_head_is_refused(self, lake: Lake):
        opened = lake.start_commit("orders@main")
        with pytest.raises(Precondition, match=f"unfinished commit {opened.id[:12]}"):
            lake.start_commit("orders@main")

    def test_finishing_what_was_not_started_is_refused(self, lake: Lake):
        with pytest.raises(CommitFinished, match="no unfinished commit"):
            lake.finish_commit("orders@main")

    def test_an_unfinished_commit_cannot_be_read_branched_or_tagged(self, lake: Lake):
        opened = lake.start_commit("orders@main")
        with pytest.raises(CommitUnfinished, match="not finished"):
            lake.stat(f"orders@{opened.id}:/")
        with pytest.raises(Precondition):
            lake.create_tag("orders@v1", opened.id)
        with pytest.raises(Precondition):
            lake.create_branch("orders@dev", opened.id)

    def test_a_clash_is_refused_at_finish_and_can_be_mended(self, lake: Lake):
        lake.start_commit("orders@main")
        put(lake, "orders", a="1")
        put(lake, "orders", **{"a/b": "2"})
        with pytest.raises(PathClash, match='"/a".*"/a/b"'):
            lake.finish_commit("orders@main")
        assert head(lake, "orders@main") is None
        with lake.commit("orders") as commit:
            commit.delete("/a")
        lake.finish_commit("orders@main")
        assert tree(lake, "orders") == {}

    def test_an_open_commit_is_dropped_with_all_that_was_put(self, lake: Lake):
        first = put(lake, "orders", a="1")
        opened = lake.start_commit("orders@main")
        put(lake, "orders", b="2")
        lake.drop(f"orders@{opened.id}")
        assert head(lake, "orders@main") == first
        lake.start_commit("orders@main")
        assert lake.finish_commit("orders@main").files == 1
        lake.gc(grace=0)
        assert lake.fsck(deep=True).ok

    def test_merges_and_moves_wait_for_the_open_commit(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.create_branch("orders@dev", "main")
        put(lake, "orders@dev", b="2")
        lake.start_commit("orders@main")
        with pytest.raises(Precondition, match="unfinished"):
            lake.merge("orders@dev", "orders@main")
        with pytest.raises(Precondition, match="unfinished"):
            lake.move_branch("orders@main", "dev")
        with pytest.raises(Precondition, match="unfinished"):
            lake.delete_branch("orders@main")
        lake.delete_branch("orders@main", force=True)
        assert [b.name for b in lake.branches("orders")] == ["dev"]

    def test_status_shows_open_commits(self, lake: Lake):
        opened = lake.start_commit("orders@main")
        assert [(c.repo, c.branch, c.id) for c in lake.status().open_commits] == [
            ("orders", "main", opened.id)
        ]


class TestExpectedHead:
    def test_a_commit_on_the_expected_head_is_made(self, lake: Lake):
        first = put(lake, "orders", a="1")
        with lake.commit("orders", if_head=first) as commit:
            commit.put("/b", b"2")
        with lake.commit("orders", if_head=commit.result.id[:12]) as commit:
            commit.put("/c", b"3")
        assert len(tree(lake, "orders")) == 3

    def test_another_head_is_refused_and_nothing_is_changed(self, lake: Lake, tmp_path: Path):
        first = put(lake, "orders", a="1")
        second = put(lake, "orders", a="2")
        (tmp_path / "x").write_text("3")
        with pytest.raises(BranchMoved, match=f"is at {second[:12]}"):
            lake.put("orders:/x", tmp_path / "x", if_head=first)
        with pytest.raises(BranchMoved):
            lake.rm("orders:/a", if_head=first)
        with pytest.raises(BranchMoved):
            lake.move_branch("orders@main", first, if_head=first)
        assert head(lake, "orders@main") == second

    def test_a_head_that_moves_meanwhile_is_refused_though_paths_differ(self, lake: Lake):
        first = put(lake, "orders", a="1")
        with pytest.raises(BranchMoved), lake.commit("orders", if_head=first) as commit:
            commit.put("/mine", b"1")
            put(lake, "orders", theirs="2")
        assert "/mine" not in tree(lake, "orders")

    def test_none_means_no_commit_yet(self, lake: Lake):
        with lake.commit("orders", if_head="none") as commit:
            commit.put("/a", b"1")
        with pytest.raises(BranchMoved):
            lake.commit("orders", if_head="none")


class TestIdempotencyKeys:
    def test_a_second_commit_with_the_same_key_answers_with_the_first(
        self, lake: Lake, tmp_path: Path
    ):
        (tmp_path / "a").write_text("1")
        once = lake.put("orders:/a", tmp_path / "a", append=True, key="day-1")
        twice = lake.put("orders:/a", tmp_path / "a", append=True, key="day-1")
        assert once == twice
        assert tree(lake, "orders") == {"/a": "1"}
        assert len(list(lake.log("orders"))) == 1

    def test_also_when_the_branch_has_gone_on(self, lake: Lake):
        with lake.commit("orders", key="k") as first:
            first.put("/a", b"1")
        put(lake, "orders", a="2")
        with lake.commit("orders", key="k") as again:
            again.put("/a", b"1")
        assert again.result == first.result
        assert tree(lake, "orders") == {"/a": "2"}

    def test_also_with_an_expected_head_that_it_moved_itself(self, lake: Lake):
        first = put(lake, "orders", a="1")
        results = []
        for _ in range(2):
            with lake.commit("orders", key="k", if_head=first) as commit:
                commit.put("/a", b"2")
            results.append(commit.result)
        assert results[0] == results[1]

    def test_keys_belong_to_a_repo(self, lake: Lake):
        lake.create_repo("prices")
        with lake.commit("orders", key="k") as one:
            one.put("/a", b"1")
        with lake.commit("prices", key="k") as two:
            two.put("/a", b"1")
        assert one.result.id != two.result.id

    def test_a_key_that_was_used_for_part_of_a_transaction_is_refused(self, lake: Lake):
        lake.create_repo("prices")
        with lake.commit("orders", key="k") as one:
            one.put("/a", b"1")
        with pytest.raises(Conflict, match="another request"), lake.transaction() as transaction:
            transaction.commit("prices", key="other").put("/a", b"1")
            transaction.commit("orders", key="k").put("/a", b"2")
        assert head(lake, "prices@main") is None


class TestMovingBranches:
    def test_a_branch_that_moved_elsewhere_takes_the_commit_on_top(self, lake: Lake):
        first = put(lake, "orders", a="1", b="1")
        with lake.commit("orders") as commit:
            commit.put("/a", b"2")
            meanwhile = put(lake, "orders", b="2")
        assert commit.result.parent == meanwhile
        assert tree(lake, "orders") == {"/a": "2", "/b": "2"}
        assert [c.id for c in lake.log("orders")] == [commit.result.id, meanwhile, first]

    @pytest.mark.parametrize("mine", ["put", "append", "delete", "delete folder"])
    @pytest.mark.parametrize("theirs", ["put", "delete"])
    def test_a_branch_that_moved_under_the_same_path_is_refused(
        self, lake: Lake, mine: str, theirs: str
    ):
        put(lake, "orders", **{"d/a": "1", "d/b": "1"})
        same = mine.startswith("delete") and theirs == "delete"
        refusal = pytest.raises(BranchMoved, match="/d/a changed on both sides")
        with nullcontext() if same else refusal:
            with lake.commit("orders") as commit:
                if mine.startswith("delete"):
                    commit.delete("/d" if "folder" in mine else "/d/a")
                else:
                    commit.put("/d/a", b"mine", append=mine == "append")
                if theirs == "delete":
                    lake.rm("orders:/d/a")
                else:
                    put(lake, "orders", **{"d/a": "theirs"})
                between = head(lake, "orders@main")
        assert same == (head(lake, "orders@main") != between)

    def test_the_same_content_on_both_sides_is_no_conflict(self, lake: Lake):
        put(lake, "orders", a="1")
        with lake.commit("orders") as commit:
            commit.put("/a", b"2")
            put(lake, "orders", a="2")
        assert tree(lake, "orders") == {"/a": "2"}

    def test_a_file_that_would_be_a_folder_by_then_is_refused(self, lake: Lake):
        with pytest.raises(PathClash), lake.commit("orders") as commit:
            commit.put("/a", b"1")
            put(lake, "orders", **{"a/b": "2"})
        assert tree(lake, "orders") == {"/a/b": "2"}

    def test_a_put_goes_on_top_whoever_came_first(self, lake: Lake, tmp_path: Path):
        """Only a commit that looked at the branch can have been overtaken."""
        (tmp_path / "a").write_text("2")
        put(lake, "orders", a="1")
        first = lake.commit_info("orders").id
        assert lake.put("orders:/a", tmp_path / "a").parent == first
