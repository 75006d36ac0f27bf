"""The call of a transform on tables, as a job makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trunkline.engine.transform import TableTask
from trunkline.errors import Precondition
from trunkline.jobs.claims import Claim
from trunkline.jobs.context import Context
from trunkline.lake.core import Core
from trunkline.pipelines import sqltext
from trunkline.pipelines.requirements import unmet
from trunkline.pipelines.spec.modes import parts_of
from trunkline.storage.objects.keys import KeyMaker


def check_requirements(context: Context) -> None:
    wrong = unmet(context.spec.transform.requirements)
    if wrong:
        raise Precondition(
            f"{context.version.name} needs Python packages: {'; '.join(wrong)}.",
            hint="Install them where the worker runs.",
        )


def call(
    context: Context, claim: Claim, code: Callable[[], str], env: Mapping[str, str]
) -> TableTask:
    """The call without what it reads, and without a place for what it writes."""
    transform = context.spec.transform
    params = dict(transform.params)
    sql, steps = "", tuple[sqltext.Step, ...]()
    if transform.sql:
        where = transform.sql_file or sqltext.INLINE
        sql = sqltext.fill(transform.sql, params, where)
        steps = sqltext.parse(sql, where=where).steps
    function = transform.spark or transform.stream
    return TableTask(
        pipeline=str(context.version.name),
        job=claim.job.id,
        inputs={},
        stem="",
        sql=sql,
        steps=steps,
        function=function,
        code=code() if function else "",
        partition_by=transform.partition_by,
        expectations=context.spec.expectations,
        params=params,
        env=env,
        conf=dict(context.spec.spark),
        mode=str(transform.mode),
        parts=parts_of(transform, context.leaves),
        commits={one.name: one.commit or "" for one in context.inputs},
        version=f"{context.version.name}:{context.version.digest}",
    )


def stem(core: Core, keys: KeyMaker) -> str:
    """Where a call's files begin: each is an object of this attempt."""
    uri = core.objects.uri(keys.branch().data("x"))
    return uri.replace("file:///", "file:/", 1)
