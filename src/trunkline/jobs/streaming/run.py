"""One job of a stream: from where its flow stands to what it has read and published.

A job is one micro-batch, or where commits start it, as many as its limits make of what is new.
All of them become one commit, in one transaction with how far the flow has come and where its
state is. Should anything fail before that, the flow stands where it stood: the next job forks
the state at exactly that batch and does the same again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from trunkline.engine.streaming.task import StreamTask
from trunkline.engine.submit import JobCancelled
from trunkline.engine.transform import Source, TableResult, TableTask
from trunkline.errors import (
    Failed,
    StateRefused,
    TransformFailed,
    TrunklineError,
    Unavailable,
)
from trunkline.jobs import calls, finishing
from trunkline.jobs.claims import Claim
from trunkline.jobs.context import Context, load
from trunkline.jobs.finishing import BaseMoved
from trunkline.jobs.streaming import queries
from trunkline.jobs.streaming.inputs import NothingYet, StreamInputs
from trunkline.jobs.streaming.publishing import Done, Publisher, is_interval
from trunkline.jobs.streaming.results import Results
from trunkline.lake import checkpoints
from trunkline.lake.core import Core
from trunkline.model.jobs import JobState
from trunkline.model.streams import Flow
from trunkline.model.told import said
from trunkline.storage.catalog import flows, jobs
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import STREAMS, KeyMaker
from trunkline.tables.upkeep import forget_state, look_after

if TYPE_CHECKING:
    from trunkline.engine.session import Session
    from trunkline.engine.streaming.live import LiveStream

_MOST_TICKS = 3
"""After the last rows the watermark acts; what that lets through may move it again."""


class StreamEngine(Protocol):
    """What runs micro-batches: Spark."""

    def stateful(self, task: StreamTask) -> tuple[str, ...]:
        """What keeps state in a query; nothing if each batch stands alone."""
        ...

    def run_tables(
        self, tasks: Sequence[TableTask], claim: Claim, parallelism: int | None
    ) -> tuple[list[dict[str, TableResult]], tuple[int, ...]]: ...

    def live(self, repo: int) -> LiveStream | None: ...

    def start_stream(
        self, repo: int, task: StreamTask, name: str, uri: str, generation: int
    ) -> LiveStream: ...

    def session(self) -> Session: ...

    def application(self) -> str: ...


class StreamRun:
    """The work of one claim."""

    def __init__(
        self,
        core: Core,
        claim: Claim,
        engine: StreamEngine,
        code: Callable[[Context], str],
        env: Callable[[Context], Mapping[str, str]],
    ) -> None:
        self.core = core
        self.claim = claim
        self.engine = engine
        self._code = code
        self._env = env
        self._keys = KeyMaker(claim.txn)
        self._publisher: Publisher | None = None
        self._starts = 0
        self._pruned = 0

    def run(self, context: Context) -> JobState:
        """Do it. The state that the job is in afterwards; WAITING if it will be tried again."""
        if self._look_after(context):
            context = load(self.core, self.claim.repo, self.claim.job)
        while True:
            try:
                return self._attempt(context)
            except BaseMoved:
                context = load(self.core, self.claim.repo, self.claim.job)
            except (Unavailable, JobCancelled):
                raise
            except TrunklineError as error:
                if type(error) is Failed:
                    raise  # Spark's fault, not the query's: it may pass
                hint = f" {error.hint}" if error.hint else ""
                return self._failed(context, f"{error.message}{hint}")

    def from_scratch(self, context: Context, flow: Flow) -> tuple[Results, tuple[str, ...]]:
        """What a flow without state gives, published nowhere; or what keeps state in its query."""
        inputs = StreamInputs(self.core, context, flow, self._keys)
        results = self._results(context)
        call = calls.call(context, self.claim, lambda: self._code(context), self._env(context))
        with contextlib.suppress(NothingYet):
            for micro in inputs.micros():
                if micro.is_empty:
                    continue
                task = queries.task(context, call, inputs.sources(micro))
                if kind := self.engine.stateful(task):
                    return results, kind
                self._run(task, (), inputs.rows(micro, self.engine.session(), results), results)
        return results, ()

    def _results(self, context: Context) -> Results:
        columns = context.spec.transform.partition_by
        return Results(self.core, str(context.version.name), columns, self.claim.txn[-8:])

    def _look_after(self, context: Context) -> bool:
        """Keep the output in order; whether that may have made other commits of it."""
        with self.core.database.read() as session:
            flow = flows.find(session, self.claim.repo)
        streaming = context.spec.transform.streaming
        assert flow is not None
        assert streaming is not None
        self._pruned = forget_state(self.core, flow, streaming.retain)
        return look_after(self.core, flow, context.branch, context.spec.history)

    def _attempt(self, context: Context) -> JobState:
        began = time.monotonic()
        with self.core.database.read() as session:
            flow = flows.find(session, self.claim.repo)
        assert flow is not None
        calls.check_requirements(context)
        inputs = StreamInputs(self.core, context, flow, self._keys)
        results = self._results(context)
        results.state = flow.facts.get("state", {})
        results.watermark = flow.facts.get("watermark")
        call = calls.call(context, self.claim, lambda: self._code(context), self._env(context))
        position = dict(flow.position)
        kind: tuple[str, ...] = ()
        try:
            for micro in inputs.micros():
                results.skipped += micro.skipped
                if not micro.is_empty:
                    task = queries.task(context, call, inputs.sources(micro))
                    kind = self._kind(task, flow)
                    rows = inputs.rows(micro, self.engine.session(), results)
                    self._run(task, kind, rows, results)
                    self._check_still_ours()
                position.update(micro.position)
                if not results.batches:
                    continue
                if is_interval(context):
                    break
                # As if each batch had a job of its own: what is late must not depend on that.
                self._tick(context, call, inputs, kind, results)
            if not results.batches and self._may_tick(flow, call):
                task = queries.task(context, call, inputs.sources(None))
                kind = self._kind(task, flow)
                self._run(task, kind, {}, results)
        except NothingYet:
            pass
        position.update(inputs.pinned())
        done = Done(flow, inputs, results, position, kind, call.version, began, self._pruned)
        self._note_finishing()
        self._publisher = Publisher(self.core, self.claim, self._keys, context, done)
        self._publisher.publish()
        return JobState.SUCCESS

    def _may_tick(self, flow: Flow, call: TableTask) -> bool:
        """Whether the watermark has moved since the last batch, and nothing else will act on it.

        Also if the query is another one now: whether it can use the state is known by using it.
        """
        changed = flow.facts.get("version", call.version) != call.version
        return bool((flow.facts.get("moved") or changed) and flow.facts.get("state"))

    def _kind(self, task: StreamTask, flow: Flow) -> tuple[str, ...]:
        """What keeps state in the query, if that goes with what the flow has of it."""
        kind = self.engine.stateful(task)
        has = bool(flow.facts.get("state"))
        if bool(kind) == has or not (has or flow.facts.get("batches")):
            return kind
        name = self.claim.job.pipeline
        what = (
            "keeps no state now, and what it has would be lost"
            if has
            else "keeps state now, and has none of what it has read"
        )
        raise StateRefused(
            f"The query of {name} has changed so that it cannot go on: it {what}.",
            hint=f"Apply the version before again (trunkline pipeline restore {name}), or begin "
            f"anew: trunkline stream restart {name} --from REF.",
        )

    def _run(
        self,
        task: StreamTask,
        kind: tuple[str, ...],
        rows: Mapping[str, Source],
        results: Results,
    ) -> None:
        known = [one.rows for one in rows.values()]
        rows_in = sum(one or 0 for one in known)
        stem = calls.stem(self.core, self._keys)
        if kind:
            starts, state = self._starts, results.state
            try:
                live = self._live(task, state)
                live.owner = self.claim.txn
                results.add_batch(live.run(rows, stem), rows_in, live.checkpoint)
            except (Failed, TransformFailed):
                if state and self._starts > starts:  # Spark has many words for a damaged file
                    checkpoints.check(
                        self.core.objects, state["checkpoint"], state["batch"], task.call.pipeline
                    )
                raise
            return
        statics = {name: one.static for name, one in task.sources.items() if one.static}
        empty = {name: Source((), one.schema) for name, one in task.sources.items()}
        whole = replace(task.call, inputs={**empty, **statics, **rows}, stem=stem)
        (found,), _ = self.engine.run_tables([whole], self.claim, None)
        if set(found) != {""}:
            raise TransformFailed(
                f"A stream has one output, and this one gave {', '.join(found)}.",
                hint="Return one DataFrame; make a pipeline of its own for each further table.",
            )
        results.add(found[""], rows_in)

    def _live(self, task: StreamTask, state: Mapping[str, Any]) -> LiveStream:
        """The query at exactly that state: the one that runs, or one started from a fork of it."""
        live = self.engine.live(self.claim.repo)
        at = (state.get("checkpoint"), state.get("batch"))
        same = live is not None and live.task.identity == task.identity
        if live is not None and same and (live.checkpoint, live.batch) == at:
            return live
        self._starts += 1
        name = f"{STREAMS}{self.claim.repo}/{self.claim.txn}-{self._starts}"
        if state:
            stream = str(self.claim.job.pipeline)
            checkpoints.fork(self.core.objects, state["checkpoint"], state["batch"], name, stream)
        crashpoint("stream.forked")
        uri = self.core.objects.uri(name)
        return self.engine.start_stream(
            self.claim.repo, task, name, uri, state.get("generation", 0)
        )

    def _tick(
        self,
        context: Context,
        call: TableTask,
        inputs: StreamInputs,
        kind: tuple[str, ...],
        results: Results,
    ) -> None:
        """After the last rows let the watermark act on what it has passed."""
        for _ in range(_MOST_TICKS):
            if not kind or not results.moved:
                return
            self._run(queries.task(context, call, inputs.sources(None)), kind, {}, results)

    # -- otherwise ---------------------------------------------------------------------------

    def _failed(self, context: Context, reason: str) -> JobState:
        retry, job = context.spec.retry, self.claim.job
        if job.attempt < retry.tries:
            wait = retry.pause_after(job.attempt)
            finishing.try_again(self.core, self.claim, context, said(reason), wait, None)
            return JobState.WAITING
        checked = self._publisher.checks if self._publisher else ()
        told = said(reason)
        finishing.fail(self.core, self.claim, context, JobState.FAILURE, told, checked=checked)
        return JobState.FAILURE

    def _note_finishing(self) -> None:
        with self.core.database.write(durable=False) as session:
            jobs.note(
                session,
                self.claim.repo,
                self.claim.job.id,
                self.claim.job.fence,
                state=JobState.FINISHING,
                spark_application=self.engine.application() or None,
            )

    def _check_still_ours(self) -> None:
        with self.core.database.read() as session:
            if not jobs.holds(session, self.claim.repo, self.claim.job.id, self.claim.job.fence):
                raise finishing.lost(self.claim)
