"""A lake with a pipeline whose jobs end as a test wants them to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.notices.receivers import Receiver, receiving
from trunkline import Lake
from trunkline.jobs import claims, finishing
from trunkline.model.jobs import JobState
from trunkline.model.told import said


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        yield lake


@pytest.fixture
def graph(lake: Lake, tmp_path: Path) -> Graph:
    """`daily` reads `orders`, and finds nothing to do: it needs no Spark."""
    graph = Graph(lake, tmp_path / "code")
    graph.follow("daily", "orders")
    return graph


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def feed(graph: Graph, n: int = 0) -> str:
    """A commit, and with it a job that waits."""
    return graph.put("orders", **{f"f{n}": str(n)})


def succeed(graph: Graph) -> None:
    assert {job.state for job in graph.run()} == {JobState.SUCCESS}


def fail(graph: Graph, reason: str = "it broke") -> str:
    """Take the job that waits, and have it fail."""
    core = graph.lake._core
    claim = claims.claim_next(core, "test")
    assert claim is not None
    finishing.fail(core, claim, None, JobState.FAILURE, said(reason))
    return claim.job.id
