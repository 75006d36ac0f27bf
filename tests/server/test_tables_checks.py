"""Expectations through a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.served import served
from trunkline import Lake
from trunkline.errors import NotFound, Precondition
from trunkline.model.commits import RepoName
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState
from trunkline.sdk.remote.lake import connect
from trunkline.storage.catalog import checks, repos


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path) as made:
        made.create_repo("orders")
        with made.commit("orders@main") as commit:
            commit.put("/a", b"a")
        for name in ("sizes", "names"):
            made.apply(
                {
                    "pipeline": {"name": name},
                    "input": {"pfs": {"repo": "orders", "glob": "/*"}},
                    "transform": {"cmd": ["true"]},
                }
            )
        yield made


@pytest.fixture
def remote(lake: Lake) -> Iterator[Lake]:
    with served(lake) as url, connect(url, "", lake._settings) as found:
        yield found


def test_what_became_of_rules(lake, remote):
    for number, job in enumerate(lake.jobs()):
        state = CheckState.FAILED if number else CheckState.PASSED
        found = CheckResult("r", CheckKind.EXPR, Action.FAIL, state, "t", 10, number, "…", ("{}",))
        with lake._core.database.write() as session:
            repo = repos.key_of(session, RepoName("default", job.pipeline.repo))
            assert repo is not None
            checks.record(session, repo, job.id, [found], 77)
    here = lake.checks()
    assert len(here) == 2
    assert remote.checks() == here == remote.checks(all_projects=True)
    assert remote.checks(failed=True) == lake.checks(failed=True) != here
    assert remote.checks("sizes") == lake.checks("sizes")
    one = here[0]
    assert remote.checks(one.pipeline, one.job) == lake.checks(one.pipeline, one.job)
    assert remote.checks(job=f"{one.pipeline}@{one.job}") == [one]


def test_mistakes(lake, remote):
    for one in (lake, remote):
        with pytest.raises(NotFound, match="nope"):
            one.checks("nope")
        with pytest.raises(NotFound, match="nope"):
            one.replay("nope")
        with pytest.raises(Precondition, match="quarantined"):
            one.replay("sizes")
