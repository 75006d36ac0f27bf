"""When orders arrive, wait until the lake has made its report of them, and show it."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, task
from trunkline_airflow import CommitSensor, RunPipeline, open_lake

with DAG("report_of_orders", schedule="*/15 * * * *", catchup=False, max_active_runs=1) as dag:
    arrived = CommitSensor(
        task_id="arrived",
        branch="orders@main",
        mode="reschedule",
        poke_interval=30,
        timeout=14 * 60,
        soft_fail=True,  # no orders in this quarter of an hour: nothing to do
    )
    # The commit has started the pipeline already: the lake runs its own graph.
    report = RunPipeline(
        task_id="report",
        pipeline="report",
        commit=arrived.output,
        execution_timeout=timedelta(hours=1),
    )

    @task
    def show(commit: str) -> dict[str, float]:
        """The revenue of each day as that commit has it, whatever has come since."""
        with open_lake() as lake:
            found = lake.sql(f'SELECT day, revenue FROM "report@{commit}" ORDER BY day')
            return {str(day): revenue for day, revenue in found.rows()}

    show(report.output["commit"])
