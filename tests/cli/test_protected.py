"""Repos that people may not write to, or may not delete: what the command says."""

from __future__ import annotations

from pathlib import Path

import trunkline as tl
from tests.cli.run import Cli, home_of
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import RepoKind, RepoName
from trunkline.storage.catalog import commits, repos


def make_output(folder: Path) -> None:
    """The repo of a pipeline that has read orders: kind and provenance as a job leaves them."""
    with tl.open(home_of(folder)) as lake:
        read = lake.commit_info("orders@main")
        lake.create_repo("daily")
        with lake.commit("daily@main") as made:
            made.put("/sum", b"1")
        with lake._core.database.write() as session:
            daily, orders = (
                repos.key_of(session, RepoName("default", name)) for name in ("daily", "orders")
            )
            assert daily is not None
            assert orders is not None
            commits.add_provenance(session, daily, made.result.id, orders, read.id)
            session.execute(
                "UPDATE every_repo SET kind = 'output' WHERE key = :key", {"key": daily}
            )


def test_an_output_repo_is_written_by_its_jobs_alone(cli: Cli, lake: Path) -> None:
    make_output(lake)
    for command in (
        ["put", "daily@main:/x", "in/a.csv"],
        ["rm", "daily@main:/sum"],
        ["commit", "start", "daily@main"],
        ["cp", "orders@main:/a.csv", "daily@main:/x"],
    ):
        refused = cli(*command)
        assert refused.code == 5, command
        assert "output of a pipeline" in refused.err
    assert cli.ok("cat", "daily@main:/sum") == "1"


def test_a_repo_with_readers_stays(cli: Cli, lake: Path) -> None:
    make_output(lake)
    refused = cli("repo", "delete", "orders", "--yes")
    assert refused.code == 6
    assert "daily" in refused.err
    assert "orders" in cli.ok("repo", "list")
    cli.ok("repo", "delete", "orders", "--force", "--yes")
    assert "orders" not in cli.ok("repo", "list")


def test_a_transaction_can_make_an_output_repo(lake: Path) -> None:
    with tl.open(home_of(lake)) as opened:
        with Transaction(opened._core, "job") as transaction:
            transaction.create_repo(RepoName("default", "made"), "", RepoKind.OUTPUT)
        assert opened.repo("made").kind is RepoKind.OUTPUT
