"""Commits: rows linked to their parents, walked forwards, backwards and in great leaps."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.catalog.conftest import a_commit, add_commit, add_repo
from trunkline.model.commits import Commit
from trunkline.model.ids import new_id
from trunkline.storage.catalog import Database, Session, commits

# How each further commit of a history is attached: to which earlier ones, counted from the end.
Shape = list[tuple[int, list[int]]]
Parents = dict[str, tuple[str | None, tuple[str, ...]]]
shapes = st.lists(
    st.tuples(
        st.integers(0, 40).map(lambda n: 0 if n > 4 else n),
        st.lists(st.integers(0, 5), max_size=2, unique=True),
    ),
    max_size=30,
)


def grow(session: Session, repo: int, shape: Shape) -> Parents:
    """A history of that shape, and its parents as they were asked for."""
    ids = [add_commit(session, repo)]
    parents: Parents = {ids[0]: (None, ())}
    for back, merged in shape:
        parent = ids[max(len(ids) - 1 - back, 0)]
        others = {ids[max(len(ids) - 1 - n, 0)] for n in merged} - {parent}
        made = add_commit(session, repo, parent, *sorted(others))
        parents[made] = (parent, tuple(sorted(others)))
        ids.append(made)
    return parents


def first_parents(parents: Parents, start: str) -> list[str]:
    chain = [start]
    while (above := parents[chain[-1]][0]) is not None:
        chain.append(above)
    return chain


def check_places(session: Session, repo: int, parents: Parents) -> None:
    """Every ancestor by leaps is the one by single steps, and every place is right."""
    for commit_id, (parent, merged) in parents.items():
        chain = first_parents(parents, commit_id)
        for steps in {0, 1, 2, 3, len(chain) // 2, len(chain) - 1}:
            wanted = chain[steps] if steps < len(chain) else None
            assert commits.ancestor(session, repo, commit_id, steps) == wanted
        assert commits.ancestor(session, repo, commit_id, len(chain)) is None
        for depth in {1, len(chain) // 2, len(chain)} - {0}:
            assert commits.at_depth(session, repo, commit_id, depth) == chain[-depth]
        assert commits.at_depth(session, repo, commit_id, len(chain) + 1) is None
        assert commits.at_depth(session, repo, commit_id, 0) is None
        found = commits.find(session, repo, commit_id)
        assert found is not None
        assert (found.parent, found.merged, found.depth) == (parent, merged, len(chain))
        above = [commits.find(session, repo, p) for p in found.parents]
        assert found.generation == 1 + max((p.generation for p in above if p), default=0)


several = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@several
@given(shape=shapes)
def test_leaps_lead_where_single_steps_do(database: Database, shape: Shape):
    with database.write(durable=False) as session:
        repo = add_repo(session)
        check_places(session, repo, grow(session, repo, shape))


@several
@given(shape=shapes, doomed=st.lists(st.integers(0, 60), max_size=5))
def test_leaps_lead_where_single_steps_do_after_commits_were_taken_out(
    database: Database, shape: Shape, doomed: list[int]
):
    with database.write(durable=False) as session:
        repo = add_repo(session)
        parents = grow(session, repo, shape)
        for number in doomed:
            if len(parents) == 1:
                break
            out = list(parents)[number % len(parents)]
            up = parents[out][0]
            commits.reparent(session, repo, out, up)
            commits.remove(session, repo, [out])
            del parents[out]
            for child, (parent, merged) in parents.items():
                above = up if parent == out else parent
                others = dict.fromkeys(up if m == out else m for m in merged)
                parents[child] = (above, tuple(m for m in others if m and m != above))
        check_places(session, repo, parents)


def test_leaps_are_few_in_a_long_history(database: Database, repo: int):
    """Ten thousand commits must not take ten thousand look-ups."""

    class Counting:
        def __init__(self, session: Session) -> None:
            self.asked = 0
            self._session = session

        def one(self, sql: str, params: dict) -> object:
            self.asked += 1
            return self._session.one(sql, params)

    with database.write(durable=False) as session:
        head, ids = None, []
        for _ in range(1000):
            head = add_commit(session, repo, head)
            ids.append(head)
        counting = Counting(session)
        assert commits.ancestor(counting, repo, ids[-1], 987) == ids[-988]  # type: ignore[arg-type]
    assert counting.asked < 30


@several
@given(shape=shapes, heads=st.lists(st.integers(0, 60), min_size=1, max_size=3))
def test_a_walk_gives_every_ancestor_once_and_children_before_parents(
    database: Database, shape: Shape, heads: list[int]
):
    with database.write(durable=False) as session:
        repo = add_repo(session)
        parents = grow(session, repo, shape)
        ids = list(parents)
        start = [ids[n % len(ids)] for n in heads]

        def fetch(commit_id: str, limit: int) -> list[Commit]:
            return commits.chain(session, repo, commit_id, min(limit, 3))

        walked = [commit.id for commit in commits.Walk(fetch, start)]
    wanted: set[str] = set()
    waiting = list(start)
    while waiting:
        commit_id = waiting.pop()
        if commit_id not in wanted:
            wanted.add(commit_id)
            parent, merged = parents[commit_id]
            waiting += [p for p in (parent, *merged) if p]
    assert len(walked) == len(set(walked))
    assert set(walked) == wanted
    place = {commit_id: n for n, commit_id in enumerate(walked)}
    for commit_id in walked:
        parent, merged = parents[commit_id]
        assert all(place[p] > place[commit_id] for p in (parent, *merged) if p)


def test_a_chain_follows_first_parents_newest_first(database: Database, repo: int):
    with database.write() as session:
        first = add_commit(session, repo)
        side = add_commit(session, repo, first)
        second = add_commit(session, repo, first, side)
        third = add_commit(session, repo, second)
        other = add_repo(session)
        commits.add(session, other, a_commit(commit_id=second))
        ids = [c.id for c in commits.chain(session, repo, third, 10)]
        assert ids == [third, second, first]
        assert [c.id for c in commits.chain(session, repo, third, 2)] == [third, second]
        assert commits.chain(session, repo, new_id(), 2) == []


def test_a_commit_is_read_as_it_was_written(database: Database, repo: int):
    commit = a_commit()
    with database.write() as session:
        commits.add(session, repo, commit, "key-1")
        found = commits.find(session, repo, commit.id)
        again = commits.find_request(session, repo, "key-1")
        assert commits.find_request(session, repo, "key-2") is None
    assert found is not None
    assert again == found
    assert (found.message, found.author, found.origin) == (
        commit.message, commit.author, commit.origin,
    )  # fmt: skip
    assert (found.depth, found.generation, found.parents) == (1, 1, ())


def test_a_request_makes_one_commit_in_a_repo(database: Database, repo: int):
    with pytest.raises(Exception, match="(?i)unique"), database.write() as session:
        commits.add(session, repo, a_commit(), "key-1")
        commits.add(session, repo, a_commit(), "key-1")


def test_an_open_commit_is_finished_once(database: Database, repo: int):
    opened = a_commit(finished=None)
    with database.write() as session:
        commits.add(session, repo, opened)
        done = a_commit(finished=7, commit_id=opened.id)
        commits.finish(session, repo, done)
        found = commits.find(session, repo, opened.id)
        assert found is not None
        assert found.finished == 7
        with pytest.raises(RuntimeError, match="already finished"):
            commits.finish(session, repo, done)


def test_ids_are_found_by_their_first_digits(database: Database, repo: int):
    with database.write() as session:
        ids = ["0123456789abcdef" * 2, "01234567ffffffff" * 2, "f" * 32]
        for commit_id in ids:
            commits.add(session, repo, a_commit(commit_id=commit_id))
        other = add_repo(session)
        commits.add(session, other, a_commit(commit_id=ids[0]))
        assert commits.ids_like(session, "0123456789") == [ids[0]], "one id, though in two repos"
        assert commits.ids_like(session, "01234567") == sorted(ids[:2])
        assert commits.ids_like(session, "01234567", other) == [ids[0]]
        assert commits.ids_like(session, "ffffffff") == [ids[2]]
        assert commits.ids_like(session, ids[2]) == [ids[2]]
        assert commits.ids_like(session, "00000000") == []
        assert len(commits.ids_like(session, "0", limit=1)) == 1


def test_a_set_is_all_commits_with_one_id(database: Database, repo: int):
    with database.write() as session:
        commit = a_commit()
        repositories = [add_repo(session, name) for name in ("z", "a")]
        for each in repositories:
            commits.add(session, each, commit)
        add_commit(session, repo)
        assert [str(c.repo) for c in commits.in_set(session, commit.id)] == ["a", "z"]


def test_children_are_those_by_parent_and_by_merge(database: Database, repo: int):
    with database.write() as session:
        first = add_commit(session, repo)
        child = add_commit(session, repo, first)
        other = add_commit(session, repo)
        merge = add_commit(session, repo, other, first)
        assert sorted(commits.children(session, repo, first)) == sorted([child, merge])
        assert commits.children(session, repo, merge) == []


def test_a_parent_must_be_there(database: Database, repo: int):
    with pytest.raises(RuntimeError, match="is gone"), database.write() as session:
        add_commit(session, repo, new_id())


def test_a_forgotten_commit_has_a_record_and_no_tree(database: Database, repo: int):
    with database.write() as session:
        commit_id = add_commit(session, repo)
        session.execute("UPDATE commits SET root = 'manifests/x', root_hash = 'h'")
        assert [row["id"] for row in commits.every_root(session)] == [commit_id]
        commits.mark_forgotten(session, repo, commit_id, 5)
        assert commits.every_root(session) == []
        found = commits.find(session, repo, commit_id)
    assert found is not None
    assert (found.forgotten, found.root) == (5, None)
