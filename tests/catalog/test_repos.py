"""Projects and repos."""

from tests.catalog.conftest import a_commit, add_commit, add_repo
from trunkline.model.commits import DEFAULT_PROJECT, RepoKind, RepoName
from trunkline.model.ids import new_id
from trunkline.storage.catalog import Database, commits, leases, refs, repos

MOVE = refs.Move("ada", "test")


def test_projects_are_listed_by_name_with_the_number_of_their_repos(database: Database):
    with database.write() as session:
        repos.add_project(session, "shop", "what is sold")
        add_repo(session, "orders", "shop")
        add_repo(session, "prices", "shop")
    with database.read() as session:
        listed = [(p.name, p.description, p.repos) for p in repos.projects(session)]
        assert repos.has_project(session, "shop")
        assert not repos.has_project(session, "sho")
    assert listed == [(DEFAULT_PROJECT, "", 0), ("shop", "what is sold", 2)]


def test_a_removed_project_is_gone(database: Database):
    with database.write() as session:
        repos.add_project(session, "shop", "")
        repos.remove_project(session, "shop")
        assert not repos.has_project(session, "shop")


def test_repos_of_the_same_name_in_two_projects_are_two(database: Database):
    with database.write() as session:
        repos.add_project(session, "shop", "")
        here = add_repo(session, "orders")
        there = add_repo(session, "orders", "shop")
        assert here != there
        assert repos.key_of(session, RepoName(DEFAULT_PROJECT, "orders")) == here
        assert repos.key_of(session, RepoName("shop", "orders")) == there
        assert repos.key_of(session, RepoName("shop", "order")) is None
        assert repos.names(session, "shop") == ["orders"]
        assert [r.key for r in repos.all_repos(session, "shop")] == [there]
        assert [r.key for r in repos.all_repos(session)] == [here, there]


def test_a_repo_shows_its_branches_and_the_size_of_its_default_branch(database: Database):
    name = RepoName(DEFAULT_PROJECT, "orders")
    with database.write() as session:
        key = repos.add(session, name, RepoKind.OUTPUT, "what is sold")
        commit = a_commit()
        commits.add(session, key, commit)
        refs.add_branch(session, key, "main", commit.id, MOVE)
        refs.add_branch(session, key, "dev", None, MOVE)
        session.execute("UPDATE commits SET files = 3, size = 4294967296000")
        found = repos.find(session, name)
    assert found is not None
    assert (found.kind, found.description) == (RepoKind.OUTPUT, "what is sold")
    assert (found.branches, found.files, found.size) == (("dev", "main"), 3, 4294967296000)


def test_readers_are_the_other_repos_with_commits_made_from_this_one(database: Database):
    with database.write() as session:
        source, reader, other = (add_repo(session, n) for n in ("source", "reader", "other"))
        made_from = add_commit(session, source)
        for repo in (reader, source):
            made = add_commit(session, repo)
            commits.add_provenance(session, repo, made, source, made_from)
        assert repos.readers(session, source) == [RepoName(DEFAULT_PROJECT, "reader")]
        assert repos.readers(session, other) == []


def test_a_removed_repo_takes_all_its_records_with_it(database: Database):
    with database.write() as session:
        gone, kept = add_repo(session, "gone"), add_repo(session, "kept")
        for repo in (gone, kept):
            head = add_commit(session, repo)
            opened = add_commit(session, repo, head, finished=None)
            refs.add_branch(session, repo, "main", head, MOVE)
            refs.set_open(session, repo, "main", opened)
            refs.add_tag(session, repo, "v1", head, "", "ada")
            commits.stage(session, repo, opened, "manifests/x")
            leases.take(session, new_id(), "reader", "ada", (repo, head))
            commits.add_provenance(session, repo, opened, repo, head)
        repos.remove(session, gone)
    with database.read() as session:
        assert repos.find(session, RepoName(DEFAULT_PROJECT, "gone")) is None
        for table in ("staged", "tags", "branches", "reflog", "leases", "commits", "provenance"):
            rows = session.all(f"SELECT DISTINCT repo FROM {table}")
            assert [row["repo"] for row in rows] == [kept], table
