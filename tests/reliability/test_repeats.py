"""A request with an idempotency key happens once, however often and from wherever it is sent."""

from __future__ import annotations

import pytest

from tests.reliability.harness import assert_no_orphans, cli, job, jobs, killed
from trunkline.errors import BranchMoved, Conflict


def test_the_second_of_two_calls_answers_with_the_first(lake):
    for text in (b"first", b"second"):
        with lake.commit("r@main", key="k") as commit:
            commit.put("/a", text)
    assert commit.result == lake.commit_info("r@main")
    assert lake.read("r@main:/a") == b"first"
    assert len(lake.commits("r@main")) == 1
    assert_no_orphans(lake)


def test_after_a_lost_answer_the_retry_answers_with_the_commit_that_was_made(lake, tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("a\n")
    put = ["put", "--lake", tmp_path, "r@main:/a", source, "--key", "k", "--json"]

    assert killed(cli(*put, TRUNKLINE_CRASH_AT="commit.after_transaction"))
    (made,) = lake.commits("r@main")
    assert cli(*put).json["id"] == made.id
    assert len(lake.commits("r@main")) == 1


def test_the_retry_holds_where_the_first_call_expected_a_head(lake, tmp_path):
    """The first attempt moved the branch itself: its retry must not be told that it moved."""
    source = tmp_path / "a.csv"
    source.write_text("a\n")
    put = ["put", "--lake", tmp_path, "r@main:/a", source, "--if-head", "none", "--json"]

    assert killed(cli(*put, "--key", "k", TRUNKLINE_CRASH_AT="commit.after_transaction"))
    again = cli(*put, "--key", "k")
    assert again.code == 0, again.err
    assert again.json["id"] == lake.commit_info("r@main").id
    assert cli(*put, "--key", "another").error["code"] == "branch_moved"


def test_the_retry_holds_when_others_have_committed_since(lake):
    with lake.commit("r@main", key="k") as first:
        first.put("/a", b"first")
    with lake.commit("r@main") as other:
        other.put("/a", b"other")
    with lake.commit("r@main", key="k") as retry:
        retry.put("/a", b"first")
    assert retry.result.id == first.result.id
    assert lake.read("r@main:/a") == b"other"


def test_a_key_is_remembered_for_its_repo_only(lake):
    lake.create_repo("s")
    for repo in ("r", "s"):
        with lake.commit(f"{repo}@main", key="k") as commit:
            commit.put("/a", b"a")
    assert [len(lake.commits(f"{repo}@main")) for repo in ("r", "s")] == [1, 1]


def test_a_key_that_only_some_commits_of_a_set_had_is_refused(lake):
    lake.create_repo("s")
    with lake.commit("r@main", key="k") as commit:
        commit.put("/a", b"a")
    with pytest.raises(Conflict, match="another request"), lake.transaction() as transaction:
        transaction.commit("r@main", key="k").put("/a", b"b")
        transaction.commit("s@main", key="k").put("/a", b"b")
    with pytest.raises(Conflict, match="another request"), lake.transaction() as transaction:
        transaction.commit("r@main", key="k").put("/a", b"b")
        transaction.commit("s@main").put("/a", b"b")
    assert lake.commits("s@main") == []


def test_a_failed_attempt_does_not_use_the_key_up(lake):
    with pytest.raises(ZeroDivisionError), lake.commit("r@main", key="k") as failed:
        failed.put("/a", b"a")
        raise ZeroDivisionError
    with pytest.raises(BranchMoved), lake.commit("r@main", key="k", if_head="none") as moved:
        moved.put("/a", b"a")
        with lake.commit("r@main") as other:
            other.put("/b", b"b")
    with lake.commit("r@main", key="k") as commit:
        commit.put("/a", b"a")
    assert lake.commit_info("r@main").id == commit.id


@pytest.mark.parametrize("how", ["put", "append"])
def test_from_several_processes_at_once_it_happens_once(lake, tmp_path, how):
    with lake.commit("r@main") as commit:
        commit.put("/a", b"start;")
    answers = jobs(*[("repeat", tmp_path, how, "k")] * 4)
    assert len(set(answers)) == 1
    assert len(lake.commits("r@main")) == 2
    assert lake.read("r@main:/a") == (b"start;once;" if how == "append" else b"once;")
    assert_no_orphans(lake)


def test_a_set_of_commits_is_repeated_as_a_whole(lake, tmp_path):
    lake.create_repo("s")
    result = job("put_set", tmp_path, TRUNKLINE_CRASH_AT="commit.after_transaction")
    assert killed(result)
    made = job("put_set", tmp_path).json
    assert [lake.commit_info(f"{repo}@main").id for repo in ("r", "s")] == made
    assert [len(lake.commits(f"{repo}@main")) for repo in ("r", "s")] == [1, 1]
