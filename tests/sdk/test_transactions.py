"""Several repos, one id, all or nothing: SEMANTICS 2.9."""

from __future__ import annotations

import threading

import pytest

import trunkline as tl
from tests.sdk.conftest import head, put, tree
from trunkline import Lake
from trunkline.errors import AlreadyExists, BranchMoved, NotFound, Usage


def test_commits_in_several_repos_share_one_id(lake: Lake):
    lake.create_repo("prices")
    with lake.transaction("day 1") as transaction:
        transaction.commit("orders").put("/a", b"1")
        transaction.commit("prices@main", "its own").put("/b", b"2")
    one, two = transaction.commits
    assert one.id == two.id == transaction.id
    assert (one.message, two.message) == ("day 1", "its own")
    assert (tree(lake, "orders"), tree(lake, "prices")) == ({"/a": "1"}, {"/b": "2"})
    assert {str(c.repo) for c in lake.show(transaction.id).commits} == {"orders", "prices"}


def test_an_exception_undoes_all_of_it(lake: Lake):
    with pytest.raises(ZeroDivisionError), lake.transaction() as transaction:
        transaction.create_repo("prices")
        transaction.commit("orders").put("/a", b"1")
        raise ZeroDivisionError
    assert head(lake, "orders@main") is None
    assert [str(r.name) for r in lake.repos()] == ["orders"]


def test_one_commit_that_fails_undoes_all_of_it(lake: Lake):
    lake.create_repo("prices")
    put(lake, "prices", a="1")
    with pytest.raises(BranchMoved), lake.transaction() as transaction:
        transaction.commit("orders").put("/a", b"1")
        transaction.commit("prices").put("/a", b"2")
        put(lake, "prices", a="3")
    assert head(lake, "orders@main") is None
    assert tree(lake, "prices") == {"/a": "3"}


def test_a_repo_and_its_first_commit_take_effect_together(lake: Lake):
    with lake.transaction() as transaction:
        transaction.create_repo("prices", "what it costs")
        transaction.commit("prices").put("/a", b"1")
        with pytest.raises(NotFound):
            lake.repo("prices")
    assert tree(lake, "prices") == {"/a": "1"}
    assert lake.repo("prices").description == "what it costs"


def test_a_branch_and_a_commit_on_it_take_effect_together(lake: Lake):
    first = put(lake, "orders", a="1")
    with lake.transaction() as transaction:
        transaction.create_branch("orders@dev", "orders@main")
        transaction.commit("orders@dev").put("/b", b"2")
        assert [b.name for b in lake.branches("orders")] == ["main"]
    assert tree(lake, "orders@dev") == {"/a": "1", "/b": "2"}
    assert lake.commit_info("orders@dev").parent == first
    assert tree(lake, "orders@main") == {"/a": "1"}


def test_a_new_branch_starts_at_main_unless_told_otherwise(lake: Lake):
    first, second = put(lake, "orders", a="1"), put(lake, "orders", a="2")
    with lake.transaction() as transaction:
        transaction.create_branch("orders@here")
        transaction.create_branch("orders@there", "main^")
    assert (head(lake, "orders@here"), head(lake, "orders@there")) == (second, first)


def test_a_branch_of_a_new_repo(lake: Lake):
    with lake.transaction() as transaction:
        transaction.create_repo("prices")
        transaction.create_branch("prices@dev")
        transaction.commit("prices@dev").put("/a", b"1")
    assert tree(lake, "prices@dev") == {"/a": "1"}
    assert tree(lake, "prices@main") == {}


def test_a_new_branch_whose_source_moved_meanwhile_starts_there(lake: Lake):
    put(lake, "orders", a="1")
    with lake.transaction() as transaction:
        transaction.create_branch("orders@dev", "orders@main")
        transaction.commit("orders@dev").put("/b", b"2")
        put(lake, "orders", c="3")
    assert tree(lake, "orders@dev") == {"/a": "1", "/b": "2", "/c": "3"}


def test_a_repo_that_another_made_meanwhile_is_refused(lake: Lake):
    with pytest.raises(AlreadyExists), lake.transaction() as transaction:
        transaction.create_repo("prices")
        transaction.commit("orders").put("/a", b"1")
        lake.create_repo("prices")
    assert head(lake, "orders@main") is None


def test_a_repo_has_one_commit_in_a_transaction(lake: Lake):
    with lake.transaction() as transaction:
        transaction.commit("orders").put("/a", b"1")
        with pytest.raises(Usage, match="already has a commit"):
            transaction.commit("orders")


def test_repeated_with_the_same_keys_it_answers_with_the_first(lake: Lake):
    lake.create_repo("prices")
    ids = []
    for _ in range(2):
        with lake.transaction() as transaction:
            transaction.commit("orders", key="k1").put("/a", b"1", append=True)
            transaction.commit("prices", key="k2").put("/a", b"1", append=True)
        ids.append({c.id for c in transaction.commits})
    assert ids[0] == ids[1]
    assert tree(lake, "orders") == tree(lake, "prices") == {"/a": "1"}


def test_an_empty_transaction_changes_nothing(lake: Lake):
    with lake.transaction() as transaction:
        pass
    assert transaction.commits == []


def test_writers_in_threads_all_get_through(lake: Lake):
    """Eight at once on one branch, each its own file: every commit is there, one after another."""
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            with tl.open(lake.location) as mine:
                for step in range(3):
                    with mine.commit("orders") as commit:
                        commit.put(f"/{number}/{step}", b"x")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert lake.commit_info("orders").files == len(list(lake.log("orders"))) == 24
    assert lake.fsck(deep=True).ok
