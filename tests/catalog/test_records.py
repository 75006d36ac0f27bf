"""Staged changes, provenance, erasures and events."""

import json

import pytest

from tests.catalog.conftest import add_commit, add_repo
from trunkline.model.commits import DEFAULT_PROJECT, RepoCommit, RepoName
from trunkline.model.entries import Entry
from trunkline.storage.catalog import Database, commits, erasures, events
from trunkline.storage.catalog.bell import bell_of


def test_staged_changes_keep_the_order_of_the_calls(database: Database, repo: int):
    with database.write() as session:
        one, other = (add_commit(session, repo, finished=None) for _ in range(2))
        keys = [f"manifests/{n}" for n in (3, 1, 2)]
        for key in keys:
            commits.stage(session, repo, one, key)
        commits.stage(session, repo, other, "manifests/9")
        assert commits.staged(session, repo, one) == keys
        assert sorted(commits.every_staged(session)) == sorted([*keys, "manifests/9"])
        commits.unstage(session, repo, one)
        assert commits.staged(session, repo, one) == []
        assert commits.every_staged(session) == ["manifests/9"]


def test_provenance_is_read_from_both_ends(database: Database):
    with database.write() as session:
        a, b, c = (add_repo(session, name) for name in "abc")
        in_a, in_b, in_c = (add_commit(session, repo) for repo in (a, b, c))
        commits.add_provenance(session, c, in_c, b, in_b)
        commits.add_provenance(session, c, in_c, a, in_a)
        commits.add_provenance(session, b, in_b, a, in_a)
        name = {
            key: RepoName(DEFAULT_PROJECT, text) for key, text in zip((a, b, c), "abc", strict=True)
        }
        from_a, from_b = RepoCommit(name[a], in_a), RepoCommit(name[b], in_b)
        assert commits.sources(session, c, in_c) == [from_a, from_b]
        assert commits.sources(session, a, in_a) == []
        made = [RepoCommit(name[b], in_b), RepoCommit(name[c], in_c)]
        assert commits.derived(session, a, in_a) == made
        commits.remove(session, b, [in_b])
        assert commits.sources(session, c, in_c) == [from_a]
        assert commits.derived(session, a, in_a) == [RepoCommit(name[c], in_c)]


def test_provenance_names_commits_that_are_there(database: Database, repo: int):
    with pytest.raises(Exception, match="(?i)foreign key"), database.write() as session:
        commits.add_provenance(session, repo, add_commit(session, repo), repo, "0" * 32)


def test_an_erasure_is_pending_until_its_bytes_are_gone(database: Database, repo: int):
    packed = Entry("/a", "a" * 64, 10, "packs/x.pack", 5)
    whole = Entry("/b", "b" * 64, 20, "data/y.csv", None)
    with database.write() as session:
        erasures.record(session, repo, [packed, whole], "ada", "asked to")
        rows = erasures.pending(session)
        assert [row["path"] for row in rows] == ["/a", "/b"]
        erasures.record(session, repo, [Entry("/c", "c" * 64, 5, packed.key, 15)], "ada", "")
        erasures.complete(session, rows[:1])
        assert [row["path"] for row in erasures.pending(session)] == ["/b", "/c"]
        erasures.complete(session, erasures.pending(session))
        assert erasures.pending(session) == []


def test_an_erasure_is_found_by_the_place_of_its_file(database: Database, repo: int):
    packed = Entry("/a", "a" * 64, 10, "packs/x.pack", 5)
    whole = Entry("/b", "b" * 64, 20, "data/y.csv", None)
    with database.write() as session:
        erasures.record(session, repo, [packed, whole], "ada", "asked to")
        for entry in (packed, whole):
            found = erasures.find(session, entry)
            assert found is not None
            assert (found["author"], found["reason"]) == ("ada", "asked to")
        elsewhere = Entry("/c", "c" * 64, 10, "packs/x.pack", 15)
        assert erasures.find(session, elsewhere) is None
        empty = Entry("/d", "d" * 64, 0, "packs/x.pack", 5)
        assert erasures.find(session, empty) is None, "an empty file has no place of its own"
        assert erasures.places(session) == {("packs/x.pack", 5, 10), ("data/y.csv", None, 20)}


def test_events_are_read_in_order_from_a_position(database: Database, repo: int):
    name = RepoName("shop", "orders")
    with database.write() as session:
        for number in range(5):
            events.emit(session, "commit", name, {"n": number})
        seen = events.since(session, 0, limit=2)
        rest = events.since(session, seen[-1]["position"])
    assert [json.loads(row["payload"])["n"] for row in [*seen, *rest]] == list(range(5))
    assert {(row["kind"], row["project"], row["repo"]) for row in rest} == {
        ("commit", "shop", "orders")
    }


def test_an_event_of_a_transaction_that_failed_never_happened(database: Database):
    rings = bell_of(database.url).count()
    with pytest.raises(ValueError), database.write() as session:
        events.emit(session, "commit", RepoName("shop", "orders"), {})
        raise ValueError
    with database.read() as session:
        assert events.since(session, 0) == []
    assert bell_of(database.url).count() == rings


def test_who_waits_for_an_event_is_woken_when_it_can_be_seen_and_not_before(database: Database):
    bell = bell_of(database.url)
    rings = bell.count()
    with database.write() as session:
        for number in range(3):
            events.emit(session, "commit", RepoName("shop", "orders"), {"n": number})
        assert bell.count() == rings
    assert bell.count() == rings + 1
    with database.write() as session:
        events.replace_progress(session, RepoName("shop", "orders"), {}, None)
    assert bell.count() == rings + 1, "how far a job is does not wake everybody"
