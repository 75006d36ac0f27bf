"""The operators and the DAG of the example, in a real Airflow, with a real lake."""

from __future__ import annotations

import json
import shutil
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.integrations.conftest import Served
from tests.integrations.peers import EXAMPLES, peer

AIRFLOW = ("apache-airflow-core==3.3.2", "apache-airflow-providers-standard==1.21.0")
# Airflow asks for other versions than we do. These are enough to talk to a server.
OURS = ("blake3", "duckdb", "httpx2", "pyarrow", "zstandard")

IN_AIRFLOW = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from airflow.models.xcom import XComModel
from airflow.utils.db import initdb
from airflow.utils.session import create_session
import trunkline as tl

initdb()
import dag, odd

def run(dag, **how):
    done = dag.test(**how)
    states = {ti.task_id: str(ti.state) for ti in done.get_task_instances()}
    with create_session() as session:
        found = session.scalars(XComModel.get_many(run_id=done.run_id, dag_ids=dag.dag_id)).all()
        values = {f"{one.task_id}.{one.key}": XComModel.deserialize_value(one) for one in found}
    return {"states": states, "values": values}

dag.dag.get_task("arrived").timeout = 20
dag.dag.get_task("arrived").poke_interval = 1
first = run(dag.dag)
with tl.open() as lake, lake.commit("orders@main") as commit:
    commit.put("/2.csv", b"day,id,amount\\n2026-03-03,3,4.00\\n")
moment = datetime.now(UTC)
second = run(dag.dag, logical_date=moment, run_after=moment)
cleared = run(dag.dag, logical_date=moment, run_after=moment)
dag.dag.get_task("arrived").timeout = 0
third = run(dag.dag)
told = {"commits": [first, second, cleared, third], "odd": run(odd.dag), "reasons": odd.reasons}
Path(sys.argv[1]).write_text(json.dumps(told))
"""

ODD = """
import os, threading, time
from datetime import timedelta
from airflow.sdk import DAG
from trunkline_airflow import Put, RunPipeline
import trunkline as tl

reasons = {}

def keep(context):
    reasons[context["ti"].task_id] = str(context["exception"])

def kill_when_it_runs(context):
    def kill():
        with tl.open() as lake:
            while not lake.jobs("slow", state="running"):
                time.sleep(0.2)
        os.kill(os.getpid(), 15)
    threading.Thread(target=kill, daemon=True).start()

class LosesItsWorker(RunPipeline):
    def execute(self, context):
        if context["ti"].try_number > 1:
            return super().execute(context)
        from trunkline_airflow import open_lake
        with open_lake() as lake:
            self._start(lake, context)
        raise ConnectionError("gone")

with DAG(
    "odd", schedule=None, default_args={"trigger_rule": "all_done", "on_failure_callback": keep}
) as dag:
    (
        Put(task_id="put", sources=os.environ["A_FILE"], target="odd@main:/b", message="from afar")
        >> RunPipeline(task_id="broken", pipeline="broken")
        >> RunPipeline(
            task_id="late", pipeline="slow", execution_timeout=timedelta(seconds=2)
        )
        >> RunPipeline(
            task_id="killed", pipeline="slow", on_execute_callback=kill_when_it_runs
        )
        >> LosesItsWorker(
            task_id="lost", pipeline="brief", retries=1, retry_delay=timedelta(seconds=0)
        )
        >> RunPipeline(task_id="unknown", pipeline="nobody")
    )
"""


@pytest.fixture(scope="module")
def told(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, served: Served
) -> Any:
    """What happened in one process, since Airflow takes a while to start."""
    home = tmp_path_factory.mktemp("airflow")
    dags = home / "dags"
    dags.mkdir()
    for file in (EXAMPLES / "airflow").glob("*.py"):
        shutil.copy(file, dags)
    (dags / "odd.py").write_text(ODD)
    (home / "b").write_text("2\n")
    airflow = peer(pytestconfig, home, *AIRFLOW, *OURS, files=dags)
    place = urlsplit(served.url)
    connection = {
        "conn_type": "http",
        "host": f"{place.scheme}://{place.hostname}",
        "port": place.port,
        "password": served.token,
    }
    airflow.environment.update(
        served.environment,
        A_FILE=str(home / "b"),
        AIRFLOW_HOME=str(home),
        AIRFLOW__CORE__LOAD_EXAMPLES="false",
        AIRFLOW_CONN_TRUNKLINE_DEFAULT=json.dumps(connection),
    )
    # -S: without the packages that we are tested with.
    ran = airflow.python("-S", "-c", IN_AIRFLOW, str(home / "told"))
    said = ran.stdout + ran.stderr
    (home / "said").write_text(said)
    assert ran.returncode == 0, said[-4000:]
    assert served.token not in said
    return json.loads((home / "told").read_text())


pytestmark = pytest.mark.timeout(900)  # it may have to install Airflow


def test_the_dag_runs_once_for_each_commit(told: Any, served: Served):
    first, second, cleared, third = told["commits"]
    with served.open() as lake:
        newer, older = [commit.id for commit in lake.log("orders@main", limit=2)]
        # Those of the lake: it was not run again.
        assert [job.id for job in lake.jobs("report")] == [newer, older]
    for run, commit, days in (
        (first, older, {"2026-03-02": 10.0}),
        (second, newer, {"2026-03-02": 10.0, "2026-03-03": 4.0}),
    ):
        assert run["states"] == {"arrived": "success", "report": "success", "show": "success"}
        values = run["values"]
        assert values["arrived.return_value"] == commit
        assert (values["report.job"], values["report.commit"]) == (commit, commit)
        assert values["report.rows"] == len(days)
        assert values["show.return_value"] == days
    assert cleared == second
    assert third["states"] == {"arrived": "skipped", "report": "skipped", "show": "skipped"}


def test_a_task_ends_as_its_job(told: Any, served: Served):
    assert told["odd"]["states"] == {
        "put": "success",
        "broken": "failed",
        "late": "failed",
        "killed": "failed",
        "lost": "success",
        "unknown": "failed",
    }
    reasons = told["reasons"]
    with served.open() as lake:
        (broken,) = lake.jobs("broken")
    assert reasons["broken"].endswith(f"failure: {broken.reason}")
    assert "nobody" in reasons["unknown"]


def test_a_job_ends_with_its_task(told: Any, served: Served):
    reasons = told["reasons"]
    with served.open() as lake:
        stopped = [(str(job.state), job.reason) for job in lake.jobs("slow")]
    assert stopped == [("killed", "its Airflow task was stopped")] * 2
    assert "Timeout" in reasons["late"]
    assert reasons["killed"].endswith("killed: its Airflow task was stopped")


def test_a_second_try_goes_on_with_the_job_of_the_first(told: Any, served: Served):
    with served.open() as lake:
        (once,) = lake.jobs("brief")
    assert told["odd"]["values"]["lost.job"] == once.id


def test_put(told: Any, served: Served):
    with served.open() as lake:
        put = lake.commit_info("odd@main")
        assert (put.id, put.message) == (told["odd"]["values"]["put.return_value"], "from afar")
        assert lake.read("odd@main:/b") == b"2\n"
