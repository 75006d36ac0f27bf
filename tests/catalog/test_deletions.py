"""What was deleted and can be had back, on every database."""

from __future__ import annotations

from tests.catalog.conftest import add_commit, add_repo
from trunkline.model.commits import DEFAULT_PROJECT, RepoName
from trunkline.model.pipelines import INGEST
from trunkline.storage.catalog import (
    Database,
    commits,
    deletions,
    flows,
    pipelines,
    refs,
    repos,
)

MOVE = refs.Move("ada", "test")
NAME = RepoName(DEFAULT_PROJECT, "orders")


def test_a_hidden_repo_is_in_no_list_and_its_rows_are_there(database: Database):
    with database.write() as session:
        key = add_repo(session, "orders")
        made = add_commit(session, key)
        refs.add_branch(session, key, "main", made, MOVE)
        repos.hide(session, key, NAME)
        assert repos.key_of(session, NAME) is None
        assert (repos.all_repos(session), repos.names(session, DEFAULT_PROJECT)) == ([], [])
        assert (commits.in_set(session, made), commits.ids_like(session, made[:8])) == ([], [])
        found = commits.find(session, key, made)
        assert found is not None and found.id == made
        assert [one.head for one in refs.branches(session, key)] == [made]
        assert list(repos.every(session)) == [key]
        other = add_repo(session, "orders")
        assert repos.key_of(session, NAME) == other
        repos.show(session, key, RepoName(DEFAULT_PROJECT, "old"))
        assert repos.names(session, DEFAULT_PROJECT) == ["old", "orders"]
        repos.remove(session, key)
        assert list(repos.every(session)) == [other]


def test_deletions_are_listed_newest_first_without_their_parts(database: Database):
    with database.write() as session:
        key, code = add_repo(session, "orders"), add_repo(session, "code")
        made = add_commit(session, key)
        deletions.record(session, "branch", NAME, key, "ada", ref="dev", commit=made)
        whole = deletions.record(session, "pipeline", NAME, key, "ada", content={"a": [1]})
        deletions.record(session, "repo", NAME, code, "ada", part_of=whole)
        assert [(one.kind, one.ref) for one in deletions.listed(session)] == [
            ("pipeline", ""),
            ("branch", "dev"),
        ]
        assert deletions.listed(session, "elsewhere") == []
        (first, _) = deletions.listed(session, DEFAULT_PROJECT, NAME)
        assert first.content == {"a": [1]}
        assert [one.repo for one in deletions.parts(session, whole)] == [code]
        assert deletions.heads(session) == [(key, made)]
        assert deletions.hidden(session, NAME) == []
        repos.hide(session, key, NAME)
        assert deletions.hidden(session, NAME) == [key]
        assert [one.kind for one in deletions.listed(session)] == ["pipeline"]
        assert deletions.before(session, 0) == []
        assert len(deletions.before(session, session.now())) == 2
        deletions.remove(session, whole)
        assert deletions.parts(session, whole) == []
        commits.remove(session, key, [made])
        assert deletions.heads(session) == []


def test_who_had_an_ingest_in_hand_before_it_was_deleted_never_has_it_again(database: Database):
    with database.write() as session:
        repo, code = add_repo(session), add_repo(session)
        pipelines.add(session, repo, code)
        flows.add(session, repo, INGEST)
        before = flows.take(session, repo, "stalled", 1_000_000)
        assert before is not None
        taken = pipelines.rows_of(session, repo)
        pipelines.remove(session, repo)
        pipelines.put_back(session, taken)
        assert flows.take(session, repo, "other", 1_000_000) is not None
        assert not flows.holds(session, repo, before)
