"""Airflow's side of a lake: wait for a commit, run a pipeline, put files.

The lake is behind a server. A connection says where: its host (with the scheme), its port, and a
token as its password.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from airflow.sdk import (
    BaseOperator,
    BaseSensorOperator,
    Connection,
    Context,
    PokeReturnValue,
    Variable,
)
from airflow.sdk.exceptions import AirflowException

import trunkline as tl

CONNECTION = "trunkline_default"


def open_lake(connection: str = CONNECTION, project: str | None = None) -> tl.Lake:
    """The lake that a connection of Airflow names."""
    found = Connection.get(connection)
    host = found.host or "localhost"
    address = host if "://" in host else f"http://{host}"
    if found.port:
        address += f":{found.port}"
    return tl.open(address, project, token=found.password)


class CommitSensor(BaseSensorOperator):
    """Waits until a branch has another commit than when this task last saw one; its id.

    Of several commits since then it takes the newest. What it saw is kept in a variable of
    Airflow, so runs of its DAG should not overlap: `max_active_runs=1`.
    """

    template_fields: Sequence[str] = ("branch",)

    def __init__(self, *, branch: str, connection: str = CONNECTION, **rest: Any) -> None:
        super().__init__(**rest)
        self.branch = branch
        self.connection = connection

    def poke(self, context: Context) -> PokeReturnValue:
        task = context["ti"]
        place = f"trunkline.{task.dag_id}.{task.task_id}.{task.map_index}"
        kept = Variable.get(place, default={}, deserialize_json=True)
        # The same run asks again if it was cleared, and is to get a commit again.
        seen = kept.get("before" if kept.get("run") == task.run_id else "commit")
        with open_lake(self.connection) as lake:
            head = next((commit.id for commit in lake.log(self.branch, limit=1)), None)
        if head in (None, seen):
            return PokeReturnValue(False)
        kept = {"run": task.run_id, "commit": head, "before": seen}
        Variable.set(place, kept, serialize_json=True)
        return PokeReturnValue(True, head)


class RunPipeline(BaseOperator):
    """Runs a pipeline, or with `commit` waits for the job which that commit has started.

    It fails with the job's own reason, and returns its id, its commit and the rows that it wrote.
    A job that it started is stopped if the task is killed, or takes longer than its
    `execution_timeout`; where the worker dies without a word, the next try goes on with that job.
    One that a commit started is the lake's: it goes on.
    """

    template_fields: Sequence[str] = ("pipeline", "commit")

    def __init__(
        self, *, pipeline: str, commit: Any = None, connection: str = CONNECTION, **rest: Any
    ) -> None:
        super().__init__(multiple_outputs=True, **rest)
        self.pipeline = pipeline
        self.commit = commit
        self.connection = connection
        self._started = ""
        self._killed = False

    def execute(self, context: Context) -> dict[str, Any]:
        with open_lake(self.connection) as lake:
            name = f"{self.pipeline}@{self.commit}" if self.commit else self._start(lake, context)
            self.log.info("Waiting for %s", name)
            (job,) = lake.wait(name)
        if job.state != "success":
            raise AirflowException(f"{name}: {job.state}: {job.reason}")
        return {"job": job.id, "commit": job.output_commit, "rows": job.counts.rows_out}

    def _start(self, lake: tl.Lake, context: Context) -> str:
        kept = context["task_state_store"]
        name = kept.get("job")
        if name is None or lake.job(name).info.state.is_over:
            name = f"{self.pipeline}@{lake.run_pipeline(self.pipeline)}"
            kept.set("job", name)
        self._started = name
        if self._killed:
            self.on_kill()
        return name

    def on_kill(self) -> None:
        self._killed = True
        # It may be over by now. The lake is opened anew: `execute` is in the middle of a request.
        if self._started:
            with suppress(tl.TrunklineError), open_lake(self.connection) as lake:
                lake.cancel_job(self._started, "its Airflow task was stopped")


class Put(BaseOperator):
    """Puts files, folders or URLs into a repo as one commit, and returns its id."""

    template_fields: Sequence[str] = ("sources", "target", "message")

    def __init__(
        self,
        *,
        sources: str | list[str],
        target: str,
        message: str = "",
        connection: str = CONNECTION,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        self.sources = sources
        self.target = target
        self.message = message
        self.connection = connection

    def execute(self, context: Context) -> str:
        with open_lake(self.connection) as lake:
            return lake.put(self.target, self.sources, recursive=True, message=self.message).id
