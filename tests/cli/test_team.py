"""A lake on PostgreSQL and S3, used from two folders by the command alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run import Cli
from tests.postgres import postgres
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        running.create_bucket("team")
        running.create_bucket("other")
        yield running


@pytest.fixture
def catalog(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", server.endpoint)
    monkeypatch.setenv("TRUNKLINE_S3_REGION", REGION)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    return postgres().url(postgres().empty_database())


def test_two_folders_share_one_lake(
    cli: Cli, catalog: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = tmp_path / "ada", tmp_path / "bob"
    said = []
    for folder in (ada, bob):
        folder.mkdir()
        said.append(cli.ok("init", folder, "--catalog", catalog, "--store", "s3://team/lake"))
    assert said[0] == f"Made a lake in {ada}.\n"
    assert said[1].startswith("Joined the lake of postgresql://")
    (ada / "a.csv").write_text("a\n")
    (ada / "large.bin").write_bytes(bytes(3 << 20))

    monkeypatch.chdir(ada)
    cli.ok("repo", "create", "orders")
    cli.ok("put", "orders@main", "a.csv", "large.bin", "-m", "from ada")

    monkeypatch.chdir(bob)
    assert cli.ok("cat", "orders@main:/a.csv") == "a\n"
    cli.ok("get", "orders@main", "out")
    assert (bob / "out" / "large.bin").read_bytes() == bytes(3 << 20)
    assert cli.ok("fsck", "--deep").startswith("Read 2 files")
    doctor = cli("doctor")
    assert doctor.code == 0
    assert SECRET_KEY not in doctor.out + doctor.err


def test_a_catalog_belongs_to_one_store(cli: Cli, catalog: str, tmp_path: Path) -> None:
    cli.ok("init", tmp_path / "a", "--catalog", catalog, "--store", "s3://team/one")
    refused = cli("init", tmp_path / "b", "--catalog", catalog, "--store", "s3://other/two")
    assert refused.code == 6
    assert "s3://team/one" in refused.err
    assert not (tmp_path / "b" / ".trunkline").exists()


def test_a_shared_catalog_needs_a_shared_store(cli: Cli, catalog: str, tmp_path: Path) -> None:
    refused = cli("init", tmp_path, "--catalog", catalog)
    assert refused.code == 2
    assert "--store" in refused.err


def test_a_bucket_that_is_not_there_is_named(cli: Cli, catalog: str, tmp_path: Path) -> None:
    refused = cli("init", tmp_path, "--catalog", catalog, "--store", "s3://nobody/x")
    assert refused.code == 3
    assert "s3://nobody/x" in refused.err
    assert not (tmp_path / ".trunkline").exists()
