"""Branches and tags: names that point at commits, and the log of where they pointed."""

import pytest

from tests.catalog.conftest import add_commit
from trunkline.storage.catalog import Database, Session, commits, refs

MOVE = refs.Move("ada", "test")


def unreferenced(session: Session, repo: int, commit_id: str) -> bool:
    return commits.links(session, repo)[commit_id].unreferenced is not None


def test_a_branch_may_have_no_commit(database: Database, repo: int):
    with database.write() as session:
        refs.add_branch(session, repo, "main", None, MOVE)
        found = refs.branch(session, repo, "main")
    assert found is not None
    assert (found.head, found.open) == (None, None)


def test_branches_are_listed_by_name(database: Database, repo: int):
    with database.write() as session:
        for name in ("main", "dev", "Main"):
            refs.add_branch(session, repo, name, None, MOVE)
        assert sorted(b.name for b in refs.branches(session, repo)) == ["Main", "dev", "main"]
        assert refs.branch(session, repo, "de") is None


@pytest.mark.parametrize("expected", ["other", None])
def test_a_head_is_swapped_only_from_the_expected_one(
    database: Database, repo: int, expected: str | None
):
    with database.write() as session:
        first = add_commit(session, repo)
        second = add_commit(session, repo, first)
        refs.add_branch(session, repo, "main", first, MOVE)
        assert not refs.swap_head(session, repo, "main", expected, second, MOVE)
        found = refs.branch(session, repo, "main")
        assert found is not None
        assert found.head == first
        assert refs.swap_head(session, repo, "main", first, second, MOVE)
        found = refs.branch(session, repo, "main")
        assert found is not None
        assert found.head == second


def test_an_empty_branch_is_swapped_from_none_and_back(database: Database, repo: int):
    with database.write() as session:
        first = add_commit(session, repo)
        refs.add_branch(session, repo, "main", None, MOVE)
        assert not refs.swap_head(session, repo, "main", first, first, MOVE)
        assert refs.swap_head(session, repo, "main", None, first, MOVE)
        assert refs.swap_head(session, repo, "main", first, None, MOVE)
        assert not refs.swap_head(session, repo, "nobody", None, first, MOVE)


def test_a_head_must_be_a_commit_of_the_repo(database: Database, repo: int):
    with pytest.raises(Exception, match="(?i)foreign key"), database.write() as session:
        refs.add_branch(session, repo, "main", "0" * 32, MOVE)


def test_a_commit_that_loses_its_ref_notes_when(database: Database, repo: int):
    with database.write() as session:
        first = add_commit(session, repo)
        second = add_commit(session, repo, first)
        refs.add_branch(session, repo, "main", first, MOVE)
        refs.swap_head(session, repo, "main", first, second, MOVE)
        assert not unreferenced(session, repo, first), "its child leads to it"
        refs.swap_head(session, repo, "main", second, first, MOVE)
        assert unreferenced(session, repo, second)
        assert not unreferenced(session, repo, first)
        refs.add_tag(session, repo, "v1", second, "", "ada")
        assert not unreferenced(session, repo, second)
        tag = refs.tag(session, repo, "v1")
        assert tag is not None
        refs.remove_tag(session, repo, tag, MOVE)
        assert unreferenced(session, repo, second)
        branch = refs.branch(session, repo, "main")
        assert branch is not None
        refs.remove_branch(session, repo, branch, MOVE)
        assert unreferenced(session, repo, first)


def test_an_open_commit_is_noted_on_its_branch(database: Database, repo: int):
    with database.write() as session:
        refs.add_branch(session, repo, "main", None, MOVE)
        opened = add_commit(session, repo, finished=None)
        refs.set_open(session, repo, "main", opened)
        found = refs.branch(session, repo, "main")
        assert found is not None
        assert found.open == opened
        refs.set_open(session, repo, "main", None)
        found = refs.branch(session, repo, "main")
        assert found is not None
        assert found.open is None


def test_a_tag_says_who_made_it_and_why(database: Database, repo: int):
    with database.write() as session:
        first = add_commit(session, repo)
        refs.add_tag(session, repo, "v1", first, "the first", "grace")
        (tag,) = refs.tags(session, repo)
    assert (tag.name, tag.commit, tag.message, tag.author) == ("v1", first, "the first", "grace")


def test_every_move_is_logged(database: Database, repo: int):
    with database.write() as session:
        first = add_commit(session, repo)
        refs.add_branch(session, repo, "main", first, refs.Move("ada", "create"))
        refs.swap_head(session, repo, "main", first, None, refs.Move("grace", "drop"))
        rows = session.all("SELECT name, old, new, author, reason FROM reflog ORDER BY position")
    assert [tuple(row[c] for c in ("name", "old", "new", "author", "reason")) for row in rows] == [
        ("main", None, first, "ada", "create"),
        ("main", first, None, "grace", "drop"),
    ]
