"""The assets and the sensor of the example, in a real Dagster, with a real lake."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integrations.conftest import Served
from tests.integrations.peers import EXAMPLES, Peer, peer

IN_DAGSTER = """
import json, os, sys, threading, time
from pathlib import Path
import dagster as dg
import trunkline as tl
from definitions import defs

told = {}
instance = dg.DagsterInstance.ephemeral()
sensor = defs.get_sensor_def("default_commits")
cursor = None

def key(name):
    return dg.AssetKey(name.split("/"))

def tick():
    global cursor
    found = sensor(dg.build_sensor_context(instance, cursor=cursor))
    cursor = found.cursor
    for event in found.asset_events:
        instance.report_runless_asset_event(event)
    return [[e.asset_key.to_user_string(), e.metadata["commit"].value] for e in found.asset_events]

def run(*names):
    job = defs.resolve_implicit_global_asset_job_def()
    chosen = [key(name) for name in names]
    return job.execute_in_process(instance=instance, asset_selection=chosen, raise_on_error=False)

graph = defs.resolve_asset_graph()
told["graph"] = {
    one.to_user_string(): sorted(parent.to_user_string() for parent in graph.get(one).parent_keys)
    for one in graph.get_all_asset_keys()
}
told["runs"] = sorted(one.to_user_string() for one in graph.materializable_asset_keys)
with tl.open() as lake:
    lake.wait(lake.jobs("report")[0].id)
    told["before"] = tick()

    ran = run("default/report", "default/best", "default/total", "notice")
    told["success"] = ran.success
    told["made"] = {
        one.asset_key.to_user_string(): {name: fact.value for name, fact in one.metadata.items()}
        for event in ran.get_asset_materialization_events()
        for one in [event.materialization]
    }
    told["after"] = tick()

    with lake.commit("orders@main") as commit:
        commit.put("/3.csv", b"day,id,amount\\n2026-03-04,4,1.00\\n")
    lake.wait(commit.id)
    told["commit"] = commit.id
    told["alone"] = tick()
    told["again"] = tick()

    told["failed"] = [
        event.event_specific_data.error.to_string()
        for event in run("default/broken", "default/brief").get_step_failure_events()
    ]
    told["in_spite"] = tick()

    def interrupt():
        while not lake.jobs("slow", state="running"):
            time.sleep(0.2)
        os.kill(os.getpid(), 2)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        told["stopped"] = run("default/slow").success
    except BaseException as error:
        told["stopped"] = type(error).__name__
Path(sys.argv[1]).write_text(json.dumps(told))
"""


@pytest.fixture(scope="module")
def dagster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, served: Served
) -> Peer:
    home = tmp_path_factory.mktemp("dagster")
    found = peer(pytestconfig, home, "dagster==1.13.28", files=EXAMPLES / "dagster")
    found.environment.update(served.environment, DAGSTER_HOME=str(home))
    found.environment["DAGSTER_DISABLE_TELEMETRY"] = "true"
    return found


@pytest.fixture(scope="module")
def before(served: Served) -> set[str]:
    """The jobs that other tests left."""
    with served.open() as lake:
        return {job.id for job in lake.jobs()}


@pytest.fixture(scope="module")
def told(
    dagster: Peer, served: Served, before: set[str], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """What happened in one process, since Dagster takes a while to start."""
    answers = tmp_path_factory.mktemp("told") / "told"
    ran = dagster.python("-c", IN_DAGSTER, str(answers))
    assert answers.exists(), ran.stderr[-4000:]
    assert served.token not in ran.stdout + ran.stderr
    return json.loads(answers.read_text())


pytestmark = pytest.mark.timeout(900)  # it may have to install Dagster


def test_the_graph_is_that_of_the_lake(told: Any):
    pipelines = ["default/best", "default/brief", "default/broken", "default/report"]
    assert told["runs"] == [*pipelines, "default/slow", "default/total", "notice"]
    assert told["graph"] == {
        "default/orders": [],
        "default/odd": [],
        "default/report": ["default/orders"],
        "default/best": ["default/report"],
        "default/total": ["default/orders"],
        "default/broken": ["default/odd"],
        "default/slow": ["default/odd"],
        "default/brief": ["default/odd"],
        "notice": ["default/report"],
    }


def test_materializing_runs_the_pipelines(told: Any, served: Served, before: set[str]):
    assert told["success"]
    report, best = told["made"]["default/report"], told["made"]["default/best"]
    # One job of each: what the lake ran after the first was not run again.
    assert report["commit"] == best["commit"]
    with served.open() as lake:
        commit = report["commit"]
        since = [job.id for job in lake.jobs("best") if job.id not in before]
        assert since == [told["commit"], commit]
        days = lake.sql(f'SELECT count(*) FROM "report@{commit}"').rows()[0][0]
    # The lake had made these two before, and nothing had changed.
    rows = {name: facts.get("rows") for name, facts in told["made"].items()}
    assert rows == {"default/report": 0, "default/best": 0, "default/total": 1, "notice": None}
    assert report["job"] == f"{served.url}/jobs/default/report/{commit}"
    assert told["made"]["notice"] == {"commit": commit, "days": days}


def test_the_sensor_tells_each_commit_once(told: Any, served: Served):
    with served.open() as lake:
        orders = [commit.id for commit in lake.log("orders@main")]
    first = [commit for name, commit in told["before"] if name == "default/orders"]
    assert first == orders[:0:-1]
    assert told["after"] == []
    names = ("default/orders", "default/report", "default/best")
    assert told["alone"] == [[name, told["commit"]] for name in names]
    assert told["again"] == []


def test_a_job_that_fails_says_why(told: Any, served: Served, before: set[str]):
    with served.open() as lake:
        (job,) = [job for job in lake.jobs("broken") if job.id not in before]
    (failed,) = told["failed"]
    assert f"broken: failure: {job.reason}" in failed
    # The other one went well, and Dagster knows it.
    assert told["in_spite"] == []


def test_a_run_that_is_stopped_stops_its_job(told: Any, served: Served, before: set[str]):
    with served.open() as lake:
        (job,) = [job for job in lake.jobs("slow") if job.id not in before]
    assert (str(job.state), job.reason) == ("killed", "its Dagster run was stopped")
    assert told["stopped"] is not True
