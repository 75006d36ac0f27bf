"""A lake as Dagster sees it: its repos and pipelines are assets, its commits materialize them.

Where the lake is, and who asks, is said by TRUNKLINE_LAKE (the address of its server) and
TRUNKLINE_TOKEN, as for everything else. The graph is read when Dagster loads its definitions.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from graphlib import TopologicalSorter
from itertools import islice

import dagster as dg

import trunkline as tl

AT_ONCE = 500
"""Commits that one tick of the sensor reports at most."""


def lake_definitions(project: str = "default", branch: str = "main") -> dg.Definitions:
    """The assets of a project, what materializes them, and a sensor for its new commits."""
    with tl.open(project=project) as lake:
        found = lake.overview(project)
        place = lake.server
    word = re.sub(r"\W", "_", project)
    nodes = {node.name: node for node in found.nodes if node.kind != "cron"}

    def spec_of(node) -> dg.AssetSpec:
        return dg.AssetSpec(
            key_of(node.name),
            deps=[key_of(name) for name in node.inputs if name in nodes or name.project != project],
            description=node.description or None,
            group_name=word,
            kinds={"trunkline", node.how or node.kind},
            metadata={"repo": dg.MetadataValue.url(f"{place}/repos/{project}/{node.name.repo}")},
        )

    # Repos, streams and ingests are there without Dagster.
    pipelines = [name for name in nodes if nodes[name].kind == "pipeline"]
    others = [spec_of(node) for name, node in nodes.items() if name not in pipelines]
    order = TopologicalSorter({name: nodes[name].inputs for name in pipelines}).static_order()
    ordered = [name for name in order if name in pipelines]

    @dg.multi_asset(
        name=f"{word}_pipelines", specs=[spec_of(nodes[name]) for name in ordered], can_subset=True
    )
    def run_pipelines(context: dg.AssetExecutionContext):
        chosen = [name for name in ordered if key_of(name) in context.selected_asset_keys]
        jobs = {}
        with tl.open(project=project) as lake:
            for name in chosen:
                # One that was run has run what reads it: the lake knows its graph.
                if name not in jobs:
                    context.log.info("Running %s", name)
                    jobs |= {job.pipeline: job for job in _run(lake, name)}
        good = [name for name in chosen if jobs[name].state == "success"]
        for name in good:
            yield _result(place, jobs[name])
        if len(good) < len(chosen):
            bad = [jobs[name] for name in chosen if name not in good]
            raise dg.Failure(
                "\n".join(f"{job.pipeline}: {job.state}: {job.reason}" for job in bad),
                {str(job.pipeline): _link(place, job) for job in bad},
                allow_retries=False,
            )

    @dg.sensor(name=f"{word}_commits", minimum_interval_seconds=30)
    def commits(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        """Every commit once, also those that the lake made by itself."""
        since = int(context.cursor or 0)
        with tl.open(project=project) as lake:
            events = list(islice(lake.events(since, kinds=["commit"]), AT_ONCE))
        known = {
            name: _reported(context.instance, key_of(name))
            for name in nodes.keys() & {event.repo for event in events}
        }
        return dg.SensorResult(
            asset_events=[
                dg.AssetMaterialization(
                    key_of(event.repo),
                    metadata={
                        "commit": event.facts["id"],
                        "change": dg.MetadataValue.url(f"{place}/sets/{event.facts['id']}"),
                    },
                )
                for event in events
                if event.facts["branch"] == branch
                and event.facts["id"] not in known.get(event.repo, (event.facts["id"],))
            ],
            cursor=str(events[-1].position if events else since),
        )

    return dg.Definitions(assets=[run_pipelines, *others], sensors=[commits])


def key_of(name) -> dg.AssetKey:
    return dg.AssetKey([name.project, name.repo])


def _run(lake: tl.Lake, name) -> list:
    """Run a pipeline and all that reads it; the jobs, when they are over."""
    started = lake.run_pipeline(f"{name.project}/{name.repo}")
    try:
        return lake.wait(started)
    except BaseException:  # such as the run's end, by somebody's hand
        for job in _unfinished(lake, started):
            with suppress(tl.TrunklineError):
                lake.cancel_job(
                    f"{job.pipeline.project}/{job.pipeline.repo}@{job.id}",
                    "its Dagster run was stopped",
                )
        raise


def _unfinished(lake: tl.Lake, started: str) -> Iterator:
    for state in ("finishing", "running", "waiting", "created"):
        with suppress(tl.TrunklineError):
            yield from (job for job in lake.jobs(state=state) if job.id == started)


def _result(place: str, job) -> dg.MaterializeResult:
    """With the rows that this job wrote: none if nothing had changed."""
    facts = {"commit": job.output_commit, "rows": job.counts.rows_out, "job": _link(place, job)}
    return dg.MaterializeResult(asset_key=key_of(job.pipeline), metadata=facts)


def _link(place: str, job) -> dg.MetadataValue:
    at = f"{place}/jobs/{job.pipeline.project}/{job.pipeline.repo}/{job.id}"
    return dg.MetadataValue.url(at)


def _reported(instance: dg.DagsterInstance, key: dg.AssetKey) -> set[object]:
    """The newest commits that Dagster has: those of its own runs are not to come twice."""
    records = instance.fetch_materializations(key, limit=AT_ONCE).records
    facts = [one.asset_materialization.metadata.get("commit") for one in records]
    return {fact.value for fact in facts if fact is not None}
