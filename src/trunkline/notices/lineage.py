"""OpenLineage: each job as a run, each repo it reads or writes as a dataset at a version."""

from __future__ import annotations

import shlex
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
    set_producer,
)
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    dataset_version_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    parent_run,
    processing_engine_run,
    schema_dataset,
    source_code_job,
    sql_job,
)

from trunkline.errors import TrunklineError
from trunkline.jobs.columns import column_lineage
from trunkline.jobs.records import Records
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model import jobs as model
from trunkline.model.commits import RepoName
from trunkline.model.jobs import JobState
from trunkline.model.pipelines import PipelineSpec, PipelineVersion
from trunkline.model.refs import Ref
from trunkline.model.tables import Schema
from trunkline.model.time import to_rfc3339
from trunkline.notices.sending import VERSION
from trunkline.tables.describe import describe, tables_in

PRODUCER = f"urn:trunkline:{VERSION}"
SET = "commit-set"
"""The name of the job that is the parent of all in a commit set."""
MOST_TABLES = 50
_STATES = {
    JobState.RUNNING: RunState.START,
    JobState.SUCCESS: RunState.COMPLETE,
    JobState.FAILURE: RunState.FAIL,
    JobState.KILLED: RunState.ABORT,
    JobState.UNRUNNABLE: RunState.ABORT,
}


class LineageEvents:
    """Makes the events of jobs."""

    def __init__(self, core: Core, namespace: str) -> None:
        self._core = core
        self._namespace = namespace
        set_producer(PRODUCER)

    def of(self, pipeline: RepoName, job_id: str, state: str) -> list[RunEvent]:
        """What to say of a job that has come to a state; nothing of states in between."""
        if state not in _STATES:
            return []
        records = Records(self._core)
        job = records.job(pipeline, job_id)
        if job is None:
            return []  # of a batch that came to nothing
        version = records.version(job)
        said = _STATES[JobState(state)]
        if said is RunState.START:
            return [self._event(said, job, version, job.started or job.created)]
        ended = self._event(said, job, version, job.finished or job.created)
        ended.outputs = self._outputs(records, job) if said is RunState.COMPLETE else []
        if job.is_stream and job.started is not None:
            # Batches are not told of when they begin.
            return [self._event(RunState.START, job, version, job.started), ended]
        return [ended]

    def run_id(self, *parts: str) -> str:
        return str(uuid5(NAMESPACE_URL, "/".join((self._namespace, *parts))))

    def _event(
        self, said: RunState, job: model.Job, version: PipelineVersion | None, at: int
    ) -> RunEvent:
        spec = version.spec if version else None
        return RunEvent(
            eventTime=to_rfc3339(at),
            producer=PRODUCER,
            run=Run(self.run_id(name_of(job.pipeline), job.id), self._run_facets(said, job)),
            job=Job(self._namespace, name_of(job.pipeline), _job_facets(spec)),
            eventType=said,
            inputs=self._inputs(job),
            outputs=[],
        )

    def _run_facets(self, said: RunState, job: model.Job) -> dict[str, Any]:
        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(self.run_id(SET, job.id)),
            job=parent_run.Job(self._namespace, SET),
        )
        engine = processing_engine_run.ProcessingEngineRunFacet(VERSION, name="trunkline")
        facets: dict[str, Any] = {"parent": parent, "processing_engine": engine}
        if said is RunState.FAIL:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(job.reason, "PYTHON")
        return facets

    def _inputs(self, job: model.Job) -> list[InputDataset]:
        found: dict[str, str] = {}
        for one in job.inputs:
            if one.commit:
                found.setdefault(name_of(one.repo), one.commit)
        return [
            InputDataset(self._namespace, name, facets={"version": _version(commit)})
            for name, commit in found.items()
        ]

    def _outputs(self, records: Records, job: model.Job) -> list[OutputDataset]:
        commit = records.commit(job.pipeline, job.output_commit or job.id)
        if commit is None:
            return []
        tree = records.tree(commit)
        facets: dict[str, Any] = {"version": _version(commit.id)}
        name = name_of(job.pipeline)
        whole = OutputDataset(self._namespace, name, facets=facets)
        tables = []
        for path in self._tables(tree):
            known = self._table_facets(tree, job.pipeline, commit.id, path)
            folder = path.strip("/")
            if not folder:
                facets.update(known)
                continue
            facts = {**known, "version": _version(commit.id)}
            tables.append(OutputDataset(self._namespace, f"{name}/{folder}", facets=facts))
        return [whole, *tables]

    def _tables(self, tree: Tree | None) -> list[str]:
        return tables_in(tree)[:MOST_TABLES] if tree is not None else []

    def _table_facets(
        self, tree: Tree | None, repo: RepoName, commit: str, path: str
    ) -> dict[str, Any]:
        facets: dict[str, Any] = {}
        try:
            assert tree is not None
            facets["schema"] = _schema(describe(self._core, tree, path, str(repo)).schema)
            facets["columnLineage"] = self._columns(repo, commit, path)
        except TrunklineError:
            pass  # of a table that cannot be read less is said
        return facets

    def _columns(
        self, repo: RepoName, commit: str, path: str
    ) -> column_lineage_dataset.ColumnLineageDatasetFacet:
        found = column_lineage(self._core, Ref(repo, commit, path))
        fields = {
            node.column: column_lineage_dataset.Fields(
                [
                    column_lineage_dataset.InputField(
                        self._namespace, _dataset(below.repo, below.table), below.column
                    )
                    for below in node.below
                ]
            )
            for node in found.columns
            if node.below
        }
        return column_lineage_dataset.ColumnLineageDatasetFacet(fields)


def name_of(repo: RepoName) -> str:
    return f"{repo.project}/{repo.repo}"


def _dataset(repo: RepoName, table: str) -> str:
    return f"{name_of(repo)}/{table}" if table else name_of(repo)


def _version(commit: str) -> dataset_version_dataset.DatasetVersionDatasetFacet:
    return dataset_version_dataset.DatasetVersionDatasetFacet(commit)


def _schema(schema: Schema) -> schema_dataset.SchemaDatasetFacet:
    fields = [schema_dataset.SchemaDatasetFacetFields(one.name, one.type) for one in schema]
    return schema_dataset.SchemaDatasetFacet(fields)


def _job_facets(spec: PipelineSpec | None) -> dict[str, Any]:
    streaming = spec is not None and spec.transform.streaming is not None
    kind = job_type_job.JobTypeJobFacet(
        "STREAMING" if streaming else "BATCH", "TRUNKLINE", "PIPELINE"
    )
    facets: dict[str, Any] = {"jobType": kind}
    if spec is None:
        return facets
    if spec.description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(spec.description)
    transform = spec.transform
    if transform.sql:
        facets["sql"] = sql_job.SQLJobFacet(transform.sql)
    elif transform.cmd:
        text = "\n".join((shlex.join(transform.cmd), *transform.stdin))
        facets["sourceCode"] = source_code_job.SourceCodeJobFacet("shell", text)
    elif place := transform.python or transform.spark or transform.stream:
        facets["sourceCode"] = source_code_job.SourceCodeJobFacet("python", place)
    return facets
