"""One lake behind a server with a worker, for all programs that come to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import trunkline as tl
from tests.integrations.peers import EXAMPLES
from tests.serving import serving
from tests.spark import SHORT_LIVED_CONF

# Nothing but a hand starts these.
BY_HAND = {"cron": "0 0 29 2 *"}


def _command(name: str, script: str, **more: Any) -> dict[str, Any]:
    return {
        "pipeline": {"name": name},
        "input": {"pfs": {"repo": "odd", "glob": "/"}},
        "transform": {"cmd": ["sh", "-c", script]},
        "datum_tries": 1,
        "schedule": BY_HAND,
        **more,
    }


def _query(name: str, repo: str, sql: str, **more: Any) -> dict[str, Any]:
    return {
        "pipeline": {"name": name},
        "input": {"pfs": {"repo": repo, "glob": "/"}},
        "transform": {"sql": sql},
        **more,
    }


PIPELINES: list[Any] = [
    EXAMPLES / "report.yaml",
    _query("best", "report", "SELECT max(revenue) AS revenue FROM report"),
    _query("total", "orders", "SELECT sum(amount) AS amount FROM orders", schedule=BY_HAND),
    _command("broken", "echo the scale is empty >&2; exit 3"),
    _command("slow", "sleep 300"),
    _command("brief", "sleep 4"),
]


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.slow)  # programs of others, and a server with a worker


@dataclass(frozen=True)
class Served:
    """The address of a lake and what opens it."""

    url: str
    token: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        return {"TRUNKLINE_LAKE": self.url, "TRUNKLINE_TOKEN": self.token}

    def open(self) -> tl.Lake:
        return tl.open(self.url, token=self.token)


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("integrations") / "lake"
    with tl.init(folder) as lake:
        lake.create_user("ada", roles={"lake": "maintainer"})
        token = lake.create_token(owner="ada").token
        for repo in ("orders", "odd"):
            lake.create_repo(repo)
        lake.apply(*PIPELINES)
        with lake.commit("odd@main") as commit:
            commit.put("/a", b"1\n")
        with lake.commit("orders@main", message="the first day") as commit:
            commit.put("/1.csv", b"day,id,amount\n2026-03-02,1,9.50\n2026-03-02,2,0.50\n")
    environ = {"TRUNKLINE_SPARK_MASTER": "local[2]", "TRUNKLINE_SPARK_CONF": SHORT_LIVED_CONF}
    with serving(folder, "--auth", "--workers", "1", environ=environ) as server:
        yield Served(server.url, token)
        server.stop()
