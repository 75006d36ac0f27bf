"""One catalog on each database that Trunkline supports; every test here runs on both."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.postgres import postgres
from trunkline.model.commits import DEFAULT_PROJECT, Commit, Origin, RepoKind, RepoName
from trunkline.model.ids import new_id
from trunkline.storage import catalog
from trunkline.storage.catalog import Database, Session, commits, repos


@dataclass(frozen=True)
class Place:
    """Where a catalog is, as `open_database` wants it."""

    url: str
    base: Path

    def open(self) -> Database:
        return catalog.open_database(self.url, self.base)


@pytest.fixture(scope="session")
def new_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new catalog file, to be copied: making one runs every migration."""
    folder = tmp_path_factory.mktemp("catalog")
    catalog.create("catalog.db", folder)
    return folder / "catalog.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, new_file: Path) -> Place:
    if request.param == "postgresql":
        return Place(postgres().shared_catalog(), tmp_path)
    shutil.copy(new_file, tmp_path)
    return Place("catalog.db", tmp_path)


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    opened = place.open()
    with opened.write() as session:
        repos.add_project(session, DEFAULT_PROJECT, "")
    yield opened
    opened.close()


@pytest.fixture
def repo(database: Database) -> int:
    with database.write() as session:
        return add_repo(session)


def add_repo(session: Session, name: str | None = None, project: str = DEFAULT_PROJECT) -> int:
    return repos.add(session, RepoName(project, name or f"r{new_id()}"), RepoKind.USER, "")


def a_commit(
    parent: str | None = None,
    *,
    merged: tuple[str, ...] = (),
    finished: int | None = 1,
    commit_id: str | None = None,
) -> Commit:
    return Commit(
        id=commit_id or new_id(),
        repo=RepoName(DEFAULT_PROJECT, "ignored"),
        branch="main",
        parent=parent,
        message="a message with 'quotes' and ünïcödé",
        author="ada",
        started=0,
        finished=finished,
        origin=Origin.USER,
        merged=merged,
    )


def add_commit(
    session: Session, repo: int, parent: str | None = None, *merged: str, finished: int | None = 1
) -> str:
    commit = a_commit(parent, merged=merged, finished=finished)
    commits.add(session, repo, commit)
    return commit.id
