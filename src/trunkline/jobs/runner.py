"""One job, from the claim to the commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from trunkline.engine.driver import driver_code
from trunkline.engine.runner.task import DatumResult, SetReport, Work
from trunkline.engine.transform import TableResult, TableTask
from trunkline.errors import CorruptObject, PathClash, Precondition, TransformFailed
from trunkline.jobs import finishing
from trunkline.jobs.admission import Admission, admission
from trunkline.jobs.assembly import Assembly, OutputClash, concatenated
from trunkline.jobs.claims import Claim, parts_prefix
from trunkline.jobs.context import Context, load, types_stayed
from trunkline.jobs.dispatch import encoded_sets
from trunkline.jobs.finishing import BaseMoved, Stored
from trunkline.jobs.ledger import EarlierResult, Parts, patch
from trunkline.jobs.planning import Decision, Verdict, can_patch, decide
from trunkline.jobs.streaming.run import StreamEngine, StreamRun
from trunkline.jobs.tableoutcome import Said
from trunkline.jobs.tablespecs import TableSpecs
from trunkline.jobs.tablework import Broken, TableWork
from trunkline.jobs.tally import Tally, Totals
from trunkline.lake.core import Core, repo_key
from trunkline.lake.drafts import Planner, StoredTree
from trunkline.lake.manifests import Tree
from trunkline.lake.versions import code_of
from trunkline.model.entries import line_path
from trunkline.model.expectations import CheckResult
from trunkline.model.jobs import Counts, JobState
from trunkline.model.pipelines import Merge, Sandbox
from trunkline.model.told import said
from trunkline.model.words import count
from trunkline.pipelines.confinement import INSTEAD, unconfined
from trunkline.pipelines.datums import datum_id, described
from trunkline.pipelines.datums_lines import (
    IndexLine,
    LineState,
    Pointer,
    ResultLine,
    ResultWriter,
    line_key,
    result_key,
)
from trunkline.storage.catalog import commits, jobs
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.keys import KeyMaker


class Engine(StreamEngine, Protocol):
    """What runs sets of datums: Spark."""

    def cores(self) -> int: ...

    def run(
        self, work: Work, sets: list[bytes], claim: Claim, parallelism: int | None
    ) -> tuple[list[SetReport], tuple[int, ...]]:
        """Run every set and wait for all. Raises TrunklineError; may be cancelled."""
        ...

    def run_tables(
        self, tasks: Sequence[TableTask], claim: Claim, parallelism: int | None
    ) -> tuple[list[dict[str, TableResult]], tuple[int, ...]]:
        """Call a transform on tables once for each task, and wait for all."""
        ...

    def application(self) -> str: ...


@dataclass(frozen=True, slots=True)
class RunnerOptions:
    """What a worker gives its jobs: secrets by name, and where commands work."""

    secrets: Callable[[str], str | None] = lambda name: None
    work_folder: str = ""
    log_limit: int = 1 << 20
    server: str = ""
    """The address of the server that the worker works for: commands may ask it."""
    hidden: tuple[str, ...] = ()
    """Places of this machine that no sandbox has."""


class JobRun:
    """The work of one claim."""

    def __init__(
        self,
        core: Core,
        claim: Claim,
        engine: Engine,
        options: RunnerOptions,
    ) -> None:
        self.core = core
        self.claim = claim
        self.engine = engine
        self.options = options
        self.keys = KeyMaker(claim.txn)
        self.parts = Parts(core)
        self._index: list[bytes] = []
        self._gone: list[bytes] = []
        self._results: list[bytes] = []
        self._counted: list[Said] = []
        self._tried = claim.job.fence > 1
        self._specs = TableSpecs("", ())
        self._checks: tuple[CheckResult, ...] = ()

    def run(self) -> JobState:
        """Do it. The state that the job is in afterwards; WAITING if it will be tried again."""
        context = load(self.core, self.claim.repo, self.claim.job)
        if context.spec.transform.streaming is not None:
            return StreamRun(
                self.core, self.claim, self.engine, self._code_folder, self._environment
            ).run(context)
        while True:
            try:
                return self._attempt(context)
            except BaseMoved:
                self._tried = True
                context = load(self.core, self.claim.repo, self.claim.job)

    def _attempt(self, context: Context) -> JobState:
        self._index, self._gone, self._results, self._counted = [], [], [], []
        transform = context.spec.transform
        self._specs = TableSpecs(str(context.version.name), transform.partition_by)
        assembly = Assembly(self._base_tree(context))
        tally = Tally()
        decisions = self._decisions(context, tally, assembly)
        try:
            if transform.makes_tables:
                reports = self._compute_tables(context, decisions, tally, assembly)
            else:
                reports = self._compute(context, decisions, tally)
        except TransformFailed as error:
            hint = f" {error.hint}" if error.hint else ""
            return self._end(context, tally.counts(context.base.job), f"{error.message}{hint}")
        crashpoint("job.all_done")
        if reports:
            self._note(state=JobState.FINISHING)
        counts = tally.counts(context.base.job)
        failures = self._take_in(context, assembly, reports, tally.totals)
        counts = tally.totals.on(counts)
        if len(failures) > context.spec.max_failed_datums:
            return self._end(context, counts, _failure_text(failures, counts))
        index, results = self._ledgers(context)
        try:
            built = self._build(context, assembly, index)
        except OutputClash as error:
            return self._end(context, counts, self._explain(context, error))
        except PathClash as error:
            return self._end(context, counts, error.message)
        reason = _failure_text(failures, counts) if failures else ""
        is_first = context.base.id is None and not transform.makes_tables
        if reports and is_first and not built.tree.files and not reason:
            reason = f"{count(counts.processed, 'datum')} ran, and none wrote a file to pfs/out"
        finishing.succeed(
            self.core,
            self.claim,
            context,
            built,
            index,
            results,
            counts,
            said(reason),
            checked=self._checks,
        )
        return JobState.SUCCESS

    # -- deciding ------------------------------------------------------------------------

    def _decisions(self, context: Context, tally: Tally, assembly: Assembly) -> Iterator[Decision]:
        """Those that must run; what is reused or dropped is dealt with on the way."""
        before = self._trees_before(context) if can_patch(context) else None
        if before is not None and not types_stayed(self.core, context, before):
            before = None
        tally.patched = before is not None
        for one in decide(context, before, self._found(context)):
            if one.verdict is Verdict.KEEP:
                tally.keep += 1
                continue
            if one.before is not None:
                self._drop_outputs(assembly, one.before)
            if one.verdict is Verdict.DROP:
                assert one.before is not None
                tally.drop += 1
                self._gone.append(line_key(one.before))
                continue
            tally.fresh += one.before is None
            if one.verdict is Verdict.REUSE:
                assert one.kept is not None
                result = self._reuse(context, assembly, one)
                if one.kept.job == self.claim.job.id:
                    tally.totals.add(result)
                    if result.counted:
                        self._counted.append(result.counted)
                else:
                    tally.reuse += 1
                continue
            tally.run += 1
            yield one

    def _trees_before(self, context: Context) -> tuple[Tree, ...] | None:
        """The trees that the last good job read; None if they are no longer all there."""
        job = context.base.job
        if job is None or len(job.inputs) != len(context.inputs):
            return None
        found = []
        with self.core.database.read() as session:
            for one in job.inputs:
                commit = (
                    commits.find(session, repo_key(session, one.repo), one.commit)
                    if one.commit
                    else None
                )
                if one.commit and (commit is None or commit.forgotten is not None):
                    return None
                found.append(commit)
        return tuple(self.core.tree(commit) for commit in found)

    def _found(self, context: Context) -> Mapping[bytes, tuple[bytes, EarlierResult]]:
        """Results of attempts that did not get to the end: this job's, and killed ones'."""
        found: dict[bytes, tuple[bytes, EarlierResult]] = {}
        for job_id in (*([self.claim.job.id] if self._tried else ()), *context.borrowed):
            for part in self.parts.listed(parts_prefix(context.repo, job_id)):
                try:
                    results = self.parts.read(part)
                except CorruptObject:
                    continue  # gc took it, or it is damaged: its datums run again
                for number, result in enumerate(results):
                    if result.state == "success":
                        kept = EarlierResult(job_id, Pointer(part, number))
                        found.setdefault(result.key.encode(), (result.content.encode(), kept))
        return found

    def _reuse(self, context: Context, assembly: Assembly, decision: Decision) -> DatumResult:
        assert decision.datum is not None
        assert decision.kept is not None
        key, content = decision.datum.key, decision.datum.content
        kept = decision.kept
        result = self.parts.at(kept.pointer)
        if context.spec.merge is Merge.ERROR:
            assembly.add(datum_id(decision.datum), result.outputs)
        self._specs.add(result)
        self._index.append(
            IndexLine(
                key, content, LineState.SUCCESS, kept.job, *kept.pointer, result.reason
            ).encode()
        )
        part, number = kept.pointer
        named = result_key(key, content, context.version.digest)
        self._results.append(ResultLine(named, kept.job, number, part).encode())
        return result

    def _drop_outputs(self, assembly: Assembly, before: bytes) -> None:
        line = IndexLine.decode(before)
        if line.is_good:
            assembly.drop(self.parts.at(line.pointer).outputs)

    # -- running -------------------------------------------------------------------------

    def _compute(
        self, context: Context, decisions: Iterator[Decision], tally: Tally
    ) -> list[SetReport]:
        """Run what must run, as one Spark job; none is started for nothing."""
        sets = encoded_sets(context, decisions, self.engine.cores)
        if not sets:
            return []
        inputs = [one.repo for one in context.inputs]
        # A sandbox has no network, so no way to the server.
        server = "" if self._sandbox(context) is Sandbox.ON else self.options.server
        with admission(self.core, self.claim.job, inputs, server) as admitted:
            work = self._work(context, admitted)
            self._note(counts=tally.counts(context.base.job))
            reports, tally.totals.spark_jobs = self.engine.run(
                work, sets, self.claim, context.spec.parallelism
            )
        return reports

    def _compute_tables(
        self, context: Context, decisions: Iterator[Decision], tally: Tally, assembly: Assembly
    ) -> list[SetReport]:
        work = TableWork(
            self.core,
            self.claim,
            context,
            self.keys,
            self.parts,
            assembly,
            lambda: self._code_folder(context),
            lambda: self._environment(context),
            self._counted,
        )

        def run(tasks: Sequence[TableTask]) -> tuple[list[dict[str, TableResult]], tuple[int, ...]]:
            self._note(counts=tally.counts(context.base.job))
            return self.engine.run_tables(tasks, self.claim, context.spec.parallelism)

        try:
            outcome = work.run(decisions, run, lambda: self._trees_before(context))
        except Broken as error:
            self._checks = error.checks
            raise
        self._checks = outcome.checks
        tally.totals.spark_jobs = outcome.spark_jobs
        tally.totals.rows_in, tally.totals.rows_out = outcome.rows_in, outcome.rows_out
        return outcome.reports

    def _code_folder(self, context: Context) -> str:
        """The pipeline's code on this machine, whose function is called inside the worker."""
        if self.core.options.sandbox_required and (why := unconfined(context.spec)):
            raise Precondition(
                f"{self.claim.job.pipeline} is not run: this worker runs code in sandboxes only "
                f"(sandbox.required), and {why}.",
                hint=INSTEAD,
            )
        lines = code_of(self.core, context.version.name, context.version.code)
        return driver_code(
            self.core.objects, tuple(line.decode() for line in lines), context.version.code
        )

    def _note(self, counts: Counts | None = None, state: JobState | None = None) -> None:
        job, repo = self.claim.job, self.claim.repo
        spark = self.engine.application() or None
        with self.core.database.write(durable=False) as session:
            jobs.note(
                session,
                repo,
                job.id,
                job.fence,
                counts=counts,
                state=state,
                spark_application=spark,
            )

    def _work(self, context: Context, admitted: Admission) -> Work:
        transform = context.spec.transform
        address = self.core.objects.address
        if address is None:
            raise Precondition(
                "Pipelines need a store that other processes can reach.",
                hint="Use a folder or a bucket, not memory://.",
            )
        code = code_of(self.core, context.version.name, context.version.code)
        return Work(
            store=address[0],
            options=dict(address[1]),
            txn=self.claim.txn,
            job=self.claim.job.id,
            repo_key=self.claim.repo,
            pipeline=context.version.name.repo,
            project=context.version.name.project,
            output_commit=self.claim.job.id,
            parts=self.claim.parts,
            cmd=transform.cmd,
            stdin=transform.stdin,
            err_cmd=transform.err_cmd,
            err_stdin=transform.err_stdin,
            accept_return_code=transform.accept_return_code,
            env={**admitted.env, **dict(transform.env)},
            secrets={**admitted.secrets, **self._secrets(context)},
            python=transform.python,
            working_dir=transform.working_dir,
            sandbox=self._sandbox(context),
            shown=self.core.options.sandbox_paths,
            hidden=self.options.hidden,
            memory=transform.memory,
            code=tuple([line.decode() for line in code]),
            code_hash=context.version.code,
            datum_tries=context.spec.datum_tries,
            datum_timeout=context.spec.datum_timeout,
            folder=self.options.work_folder,
            log_limit=self.options.log_limit,
            pack_limit=self.core.options.pack_limit,
            pack_size=self.core.options.pack_size,
        )

    def _sandbox(self, context: Context) -> Sandbox:
        is_required = self.core.options.sandbox_required
        return Sandbox.ON if is_required else context.spec.transform.sandbox

    def _environment(self, context: Context) -> dict[str, str]:
        """What a function on tables finds in `ctx.env`."""
        return {**dict(context.spec.transform.env), **self._secrets(context)}

    def _secrets(self, context: Context) -> dict[str, str]:
        return {name: self._secret(secret) for name, secret in context.spec.transform.secrets}

    def _secret(self, name: str) -> str:
        value = self.options.secrets(name)
        if value is None:
            raise Precondition(
                f"{self.claim.job.pipeline} needs the secret {name}, which is not set.",
                hint=f"trunkline secret set {name}",
            )
        return value

    # -- putting together ------------------------------------------------------------------

    def _take_in(
        self,
        context: Context,
        assembly: Assembly,
        reports: list[SetReport],
        totals: Totals,
    ) -> list[DatumResult]:
        """Every datum's first result: its outputs, its line, and how it went."""
        writer = ResultWriter(self.claim.job.id, context.version.digest)
        takes_outputs = context.spec.merge is Merge.ERROR
        index, results = self._index.append, self._results.append
        seen: set[str] = set()
        failures: list[DatumResult] = []
        for part in dict.fromkeys(part for report in reports for part in report.parts):
            writer.start(part)
            for number, result in enumerate(self.parts.read(part)):
                if result.key in seen:
                    continue
                seen.add(result.key)
                key, content = result.key.encode(), result.content.encode()
                index(writer.index_line(key, content, result.state, number, result.reason))
                totals.add(result)
                self._specs.add(result)
                if result.state == "success":
                    results(writer.result_line(key, content, number))
                    if takes_outputs:
                        assembly.add(result.id, result.outputs)
                elif result.state == "failed":
                    failures.append(result)
        return failures

    def _ledgers(self, context: Context) -> tuple[Stored | None, Stored | None]:
        """The job's index and the pipeline's results, with what is new in them."""
        index = patch(self.core, context.base.index, self._index, self._gone, self.keys.manifest)
        if index is None and context.base.job is not None and context.base.job.index:
            base = context.base.job
            index = (base.index or "", base.index_hash or "")
        results = patch(self.core, context.results, self._results, (), self.keys.manifest)
        return index, results

    def _build(self, context: Context, assembly: Assembly, index: Stored | None) -> StoredTree:
        intake = Intake(self.core.objects, self.keys.branch())
        changes = assembly.changes
        if context.spec.merge is Merge.CONCAT:
            changes = concatenated(self.core, intake, self._all_outputs(index))
        else:
            assembly.check()
        if context.spec.transform.makes_tables:
            base_tree = self._base_tree(context)
            for line in self._specs.lines(self.core, base_tree, intake, assembly.kept):
                changes.puts[line_path(line)] = line
            intake.close()
        base = context.base.commit
        if not changes and base is not None and base.root and base.root_hash:
            return StoredTree(base.root, base.root_hash, self.core.tree(base))
        return Planner(self.core, self.keys, intake).build(base, changes)

    def _all_outputs(self, index: Stored | None) -> Iterator[str]:
        """What all datums wrote, in the order of their keys."""
        if index is None:
            return
        for line in self.core.manifests.read(*index).scan(b""):
            found = IndexLine.decode(line)
            if found.is_good:
                yield from self.parts.at(found.pointer).outputs

    def _base_tree(self, context: Context) -> Tree:
        return self.core.tree(context.base.commit)

    # -- ending badly ----------------------------------------------------------------------

    def _end(self, context: Context, counts: Counts, reason: str) -> JobState:
        """The job failed: keep what was computed, then end it or let it be tried again."""
        index, results = self._ledgers(context)
        retry = context.spec.retry
        if self.claim.job.attempt < retry.tries:
            wait = retry.pause_after(self.claim.job.attempt)
            finishing.try_again(self.core, self.claim, context, said(reason), wait, results)
            return JobState.WAITING
        finishing.fail(
            self.core,
            self.claim,
            context,
            JobState.FAILURE,
            said(reason),
            index=index,
            results=results,
            counts=counts,
            checked=self._checks,
        )
        return JobState.FAILURE

    def _explain(self, context: Context, error: OutputClash) -> str:
        """Both datums by what they read, which says more than their ids."""
        names = dict.fromkeys(error.owners, "")
        lines = [*self._index, *context.base.index.scan(b"")]
        for line in lines:
            key = line_key(line)
            if (number := datum_id(key)) in names:
                names[number] = names[number] or described(key)
        first, second = (f"{names[i] or i} ({i[:12]})" for i in error.owners)
        return f"Two datums wrote {error.path}: {first} and {second}."


def _failure_text(failures: list[DatumResult], counts: Counts) -> str:
    first = failures[0]
    what = f"{described(first.key.encode())}: {first.error}"
    if len(failures) == 1:
        return f"1 of {counts.total} datums failed: {what}"
    return f"{len(failures)} of {counts.total} datums failed, the first {what}"
