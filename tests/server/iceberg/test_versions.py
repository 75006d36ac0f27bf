"""What history does to a table: dropped and back, forgotten, squashed, damaged, mended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import BadRequestError, NoSuchTableError
from pyiceberg.table import Table

import trunkline as tl
from tests.server.iceberg.catalogs import OpenCatalog, open_catalog, rows, snapshot_of
from tests.server.iceberg.sample import parquet
from trunkline import Lake

_numbers = count()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenCatalog]:
    with tl.init(tmp_path_factory.mktemp("versions") / "lake") as lake, open_catalog(lake) as found:
        yield found


@pytest.fixture(scope="module")
def client(served: OpenCatalog) -> Catalog:
    return served.connect()


@pytest.fixture
def lake(served: OpenCatalog) -> Lake:
    return served.lake


@pytest.fixture
def repo(lake: Lake) -> str:
    name = f"repo{next(_numbers)}"
    lake.create_repo(name)
    return name


def commits_of(table: Table) -> list[str]:
    found = [one.summary for one in table.snapshots()]
    return [one.additional_properties["trunkline.commit"] for one in found if one is not None]


def test_nothing_was_ever_committed(client: Catalog, repo: str):
    assert ("default", repo) not in client.list_tables("default")
    with pytest.raises(NoSuchTableError):
        client.load_table(f"default.{repo}")


def test_a_table_of_another_branch_alone(client: Catalog, lake: Lake, repo: str):
    with lake.commit(f"{repo}@main") as commit:
        commit.put("/read.me", b"x")
    lake.create_branch(f"{repo}@work", "main")
    lake.write_table(f"{repo}@work", [{"id": 1}])
    with pytest.raises(NoSuchTableError):
        client.load_table(f"default.{repo}")
    lake.merge(f"{repo}@work", f"{repo}@main")
    table = client.load_table(f"default.{repo}")
    assert rows(table.scan()) == [{"id": 1}]
    assert set(table.metadata.refs) == {"main", "work"}


def test_dropped_and_back(client: Catalog, lake: Lake, repo: str):
    first = lake.write_table(f"{repo}@main:/t", [{"id": 1}]).id
    lake.create_tag(f"{repo}@before", "main")
    with lake.commit(f"{repo}@main") as commit:
        commit.delete("/t")
    lake.create_tag(f"{repo}@between", "main")
    with pytest.raises(NoSuchTableError):
        client.load_table(f"default.{repo}.t")
    again = lake.write_table(f"{repo}@main:/t", [{"id": "two"}]).id
    table = client.load_table(f"default.{repo}.t")
    assert commits_of(table) == [first, again]
    assert rows(table.scan()) == [{"id": "two"}]
    assert rows(table.scan().use_ref("before")) == [{"id": 1}]
    assert set(table.metadata.refs) == {"main", "before"}


def test_folders_inside_a_table_are_other_tables(client: Catalog, lake: Lake, repo: str):
    outer = lake.write_table(repo, [{"id": 1}]).id
    inner = lake.write_table(f"{repo}@main:/inner", [{"name": "a"}]).id
    assert commits_of(client.load_table(f"default.{repo}")) == [outer]
    assert commits_of(client.load_table(f"default.{repo}.inner")) == [inner]
    assert rows(client.load_table(f"default.{repo}").scan()) == [{"id": 1}]


def test_forgotten_commits_are_gone(client: Catalog, lake: Lake, repo: str, served: OpenCatalog):
    first, second = (lake.write_table(repo, [{"id": n}]).id for n in (1, 2))
    before = client.load_table(f"default.{repo}")
    assert len(rows(before.scan(snapshot_id=snapshot_of(before, first)))) == 1
    lake.forget(f"{repo}@{first}")
    after = client.load_table(f"default.{repo}")
    assert commits_of(after) == [second]
    assert len(rows(after.scan())) == 2
    # Who still has the old metadata is told, though it was made before.
    with pytest.raises(FileNotFoundError):
        after.io.new_input(before.snapshots()[0].manifest_list).open()


def test_squashed_commits(client: Catalog, lake: Lake, repo: str):
    for n in (1, 2, 3):
        lake.write_table(repo, [{"id": n}])
    assert len(commits_of(client.load_table(f"default.{repo}"))) == 3
    lake.squash(f"{repo}@main~1")
    table = client.load_table(f"default.{repo}")
    assert len(commits_of(table)) == 2
    assert [row["id"] for row in rows(table.scan())] == [1, 2, 3]


def test_files_that_do_not_fit(client: Catalog, lake: Lake, repo: str):
    with lake.commit(f"{repo}@main") as commit:
        commit.put("/a.parquet", parquet(id=pa.array([1])))
        commit.put("/b.parquet", parquet(id=pa.array(["x"])))
    with pytest.raises(BadRequestError, match="do not fit together"):
        client.load_table(f"default.{repo}")
    with lake.commit(f"{repo}@main") as commit:
        commit.delete("/b.parquet")
    table = client.load_table(f"default.{repo}")
    assert rows(table.scan()) == [{"id": 1}]
    assert len(table.snapshots()) == 1


def test_a_damaged_record(client: Catalog, lake: Lake, repo: str):
    lake.write_table(repo, [{"id": 1}])
    with lake.commit(f"{repo}@main") as commit:
        commit.put("/_table.json", b"nonsense")
    assert ("default", repo) not in client.list_tables("default")
    with pytest.raises(BadRequestError, match="is damaged"):
        client.load_table(f"default.{repo}")


def test_a_folder_that_says_no_value(client: Catalog, lake: Lake, repo: str):
    lake.set_table(repo, format="parquet", schema="id bigint, day date")
    with lake.commit(f"{repo}@main") as commit:
        commit.put("/day=never/a.parquet", parquet(id=pa.array([1])))
    with pytest.raises(BadRequestError, match='"never" is no date'):
        client.load_table(f"default.{repo}")


def test_the_record_alone_is_a_version(client: Catalog, lake: Lake, repo: str):
    with lake.commit(f"{repo}@main") as commit:
        commit.put("/a.parquet", parquet(id=pa.array([1], pa.int32()), other=pa.array([2])))
    lake.set_table(repo, format="parquet", schema="id bigint")
    table = client.load_table(f"default.{repo}")
    assert rows(table.scan()) == [{"id": 1}]
    first = table.snapshots()[0].snapshot_id
    assert rows(table.scan(snapshot_id=first)) == [{"id": 1, "other": 2}]


def test_a_bucket_that_is_taken(client: Catalog, lake: Lake):
    """The S3 door would give the files of another repo."""
    lake.create_project("taken")
    for name in ("taken/repo", "taken--repo"):
        lake.create_repo(name)
        lake.write_table(name, [{"id": name}])
    with pytest.raises(BadRequestError, match="the name taken--repo is taken"):
        client.load_table("taken.repo")
    assert rows(client.load_table("default.taken--repo").scan()) == [{"id": "taken--repo"}]
