"""A published commit against a run from scratch: the same inputs and code, and nothing of before.

It runs beside the lake. Files are written under a transaction of its own that nothing refers to,
and go again at the end; should it die, gc takes them. No job, commit or ledger is touched.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from trunkline.engine.comparing import Row, RowDifferences, differing_rows
from trunkline.engine.runner.task import DatumResult, SetReport
from trunkline.engine.session import Session
from trunkline.engine.transform import Source
from trunkline.errors import TrunklineError
from trunkline.jobs import rounding
from trunkline.jobs.assembly import Assembly, concatenated
from trunkline.jobs.claims import Claim
from trunkline.jobs.context import Base, Context, load
from trunkline.jobs.planning import Decision, decide
from trunkline.jobs.runner import Engine, JobRun, RunnerOptions
from trunkline.jobs.streaming.queries import why_state
from trunkline.jobs.streaming.results import Results
from trunkline.jobs.streaming.run import StreamRun
from trunkline.jobs.streaming.scratch import NotAtOnce, at_once
from trunkline.jobs.tally import Tally
from trunkline.lake.core import Core, Resolved, repo_key
from trunkline.lake.lease import Lease, pinned
from trunkline.lake.manifests import EMPTY
from trunkline.lake.streams import batch_at
from trunkline.model.commits import Commit
from trunkline.model.entries import Entry
from trunkline.model.evolution import united
from trunkline.model.expectations import Action
from trunkline.model.ids import new_id
from trunkline.model.jobs import Counts, Job, JobState
from trunkline.model.pipelines import Merge, Mode
from trunkline.model.streams import LATE, MALFORMED, Flow
from trunkline.model.tables import QUARANTINE, TABLE_FILE, Format, Schema, TableSpec
from trunkline.model.verification import Difference, Verdict, Verification
from trunkline.pipelines.datums import datum_id, described
from trunkline.pipelines.datums_lines import IndexLine
from trunkline.storage.catalog import commits, flows, jobs, leases
from trunkline.storage.objects.intake import Intake
from trunkline.tables.describe import describe_lines, recorded_spec
from trunkline.tables.layout import is_hive

ROWS_LOOKED_AT = 10_000
SAMPLES = 5
_CHANCE = ("rand", "randn", "uuid", "shuffle", "monotonically_increasing_id", "random")
_CLOCK = ("now", "current_timestamp", "current_date", "localtimestamp", "curdate")


class SparkJobs(Engine, Protocol):
    """The engine of jobs, with the session that rows are compared in."""

    def session(self) -> Session: ...


class NotVerifiable(Exception):
    """Why a result cannot be computed again beside the lake."""


@dataclass(frozen=True, slots=True)
class _Scratch(Claim):
    """A claim on nothing: what it writes is gathered apart from what the job's attempts left."""

    place: str = ""

    @property
    def parts(self) -> str:
        return self.place


class ScratchRun(JobRun):
    """Computes datums as a job does, and publishes nothing."""

    def compute(self, context: Context, decisions: Sequence[Decision]) -> list[DatumResult]:
        tally, assembly = Tally(), Assembly(EMPTY)
        if context.spec.transform.makes_tables:
            reports = self._compute_tables(context, iter(decisions), tally, assembly)
        else:
            reports = self._compute(context, iter(decisions), tally)
        return self._results_of(reports)

    def compute_stream(self, context: Context, flow: Flow) -> Results:
        """The rows of a stream without state, as one batch."""
        code, env = self._code_folder, self._environment
        run = StreamRun(self.core, self.claim, self.engine, code, env)
        results, kind = run.from_scratch(context, flow)
        if kind:
            raise NotVerifiable(
                f"{why_state(kind)}: a stream with state gives rows that depend on how commits "
                "fell into its batches"
            )
        return results

    def _results_of(self, reports: Iterable[SetReport]) -> list[DatumResult]:
        found: dict[str, DatumResult] = {}
        for part in dict.fromkeys(part for report in reports for part in report.parts):
            for result in self.parts.read(part):
                found.setdefault(result.key, result)
        return list(found.values())

    def _note(self, counts: Counts | None = None, state: JobState | None = None) -> None:
        """A run from scratch is nobody's job: there is nothing to say how far it is."""


def verify(
    core: Core,
    engine: SparkJobs,
    options: RunnerOptions,
    repo: int,
    commit: Commit,
    *,
    sample: int | None = None,
    tolerance: float = 0.0,
) -> Verification:
    """Compute a commit of a pipeline again, all of it or some datums, and compare the rows."""
    began = time.monotonic()
    try:
        found = _Verifying(core, engine, options, repo, commit, tolerance).run(sample)
    except NotVerifiable as why:
        found = Verification(commit.repo, commit.id, Verdict.SKIPPED, str(why))
    except TrunklineError as error:
        hint = f" {error.hint}" if error.hint else ""
        found = Verification(commit.repo, commit.id, Verdict.FAILED, f"{error.message}{hint}")
    return replace(found, seconds=time.monotonic() - began)


class _Verifying:
    def __init__(
        self,
        core: Core,
        engine: SparkJobs,
        options: RunnerOptions,
        repo: int,
        commit: Commit,
        tolerance: float,
    ) -> None:
        self._core = core
        self._engine = engine
        self._options = options
        self._repo = repo
        self._commit = commit
        self._tolerance = tolerance
        self._job = self._job_of(commit)
        self._context = self._fresh(load(core, repo, self._job))
        self._tree = core.tree(commit)

    def run(self, sample: int | None) -> Verification:
        if self._context.spec.transform.streaming is not None:
            return self._run_stream()
        decisions = list(decide(self._context))
        concat = self._context.spec.merge is Merge.CONCAT
        if sample is not None and sample < len(decisions) and not concat:
            decisions = random.sample(decisions, sample)
            owners = {datum_id(one.datum) for one in decisions if one.datum is not None}
        else:
            owners = None
        with self._scratch() as (run, made):
            results = run.compute(self._context, decisions)
            made += self._made(run, results)
            return self._compared(results, made, owners, len(decisions))

    def _run_stream(self) -> Verification:
        try:
            context, flow = at_once(self._core, self._context, self._commit)
        except NotAtOnce as why:
            raise NotVerifiable(str(why)) from None
        with self._scratch() as (run, made):
            results = run.compute_stream(context, flow)
            made += results.entries
            published = [one for one in self._published(None) if _is_result(one)]
            schemas = {"": results.schemas["/"]} if "/" in results.schemas else {}
            rows = [one for one in made if _is_result(one)]
            return self._compared_tables(schemas, published, rows, 0)

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[tuple[ScratchRun, list[Entry]]]:
        """A run beside the lake, and a list for what it makes, which goes at the end."""
        txn = new_id()
        claim = _Scratch(self._repo, self._job, txn, f"jobs/{txn}-{self._repo}/")
        lease = Lease(self._core, txn, self._core.options.author, kind=leases.JOB)
        lease.take()
        made: list[Entry] = []
        try:
            with pinned(self._core, Resolved(self._repo, self._commit.repo, self._commit)):
                yield ScratchRun(self._core, claim, self._engine, self._options), made
        finally:
            keys = [entry.key for entry in made if txn in entry.key]
            parts = [info.key for info in self._core.objects.list(claim.parts)]
            self._core.objects.delete([*dict.fromkeys(keys), *parts])
            lease.give_back()

    # -- before -----------------------------------------------------------------------------

    def _job_of(self, commit: Commit) -> Job:
        with self._core.database.read() as session:
            job = jobs.find(session, self._repo, commit.id)
            if job is None and flows.find(session, self._repo) is not None:
                # One that only compacts has the rows of the batch before it.
                job = jobs.find(session, self._repo, batch_at(session, self._repo, commit).commit)
        if job is None or job.state is not JobState.SUCCESS:
            raise NotVerifiable("no job made this commit")
        self._check_inputs(job)
        return job

    def _check_inputs(self, job: Job) -> None:
        with self._core.database.read() as session:
            for one in job.inputs:
                if one.commit is None:
                    continue
                found = commits.find(session, repo_key(session, one.repo), one.commit)
                if found is None or found.forgotten is not None:
                    raise NotVerifiable(f"{one.repo}@{one.commit[:12]}, which it read, is gone")

    def _fresh(self, context: Context) -> Context:
        """The context of the job, had there been nothing before it."""
        spec = context.spec
        # Whether a table is good was judged when it was published: only rows count here.
        rules = tuple(
            one for one in spec.expectations if one.action in (Action.DROP, Action.QUARANTINE)
        )
        return replace(
            context,
            version=replace(context.version, spec=replace(spec, expectations=rules)),
            base=Base(None, None, EMPTY),
            results=EMPTY,
            last=None,
            last_index=EMPTY,
            borrowed=(),
            replay=frozenset(),
        )

    # -- after ------------------------------------------------------------------------------

    def _made(self, run: ScratchRun, results: Sequence[DatumResult]) -> list[Entry]:
        outputs = (line for one in results for line in one.outputs)
        if self._context.spec.merge is not Merge.CONCAT:
            return [Entry.decode(line.encode()) for line in outputs]
        intake = Intake(self._core.objects, run.keys.branch())
        ordered = sorted(results, key=lambda one: one.key)
        changes = concatenated(
            self._core, intake, (line for one in ordered for line in one.outputs)
        )
        return [Entry.decode(line) for line in changes.puts.values()]

    def _compared(
        self,
        results: Sequence[DatumResult],
        made: list[Entry],
        owners: set[str] | None,
        datums: int,
    ) -> Verification:
        failed = [one for one in results if one.state == "failed"]
        published = self._published(owners)
        verification = Verification(self._commit.repo, self._commit.id, Verdict.EQUAL, "", datums)
        known = self._failed_before()
        if bad := next((one for one in failed if one.id not in known), None):
            why = f"{described(bad.key.encode())} fails now: {bad.error}"
            return replace(verification, verdict=Verdict.FAILED, reason=why)
        if not self._context.spec.transform.makes_tables:
            differences = tuple(_differing_files(published, made))
            found = replace(verification, files=len(made), differences=differences)
            return self._judged(found, ())
        schemas = _schemas(results, str(self._context.version.name))
        return self._compared_tables(schemas, published, made, datums)

    def _published(self, owners: set[str] | None) -> list[Entry]:
        return [
            entry
            for line in self._tree.scan(b"/")
            if not (entry := Entry.decode(line)).path.endswith("/" + TABLE_FILE)
            and (owners is None or entry.owner in owners)
        ]

    def _compared_tables(
        self,
        schemas: Mapping[str, Schema],
        published: Sequence[Entry],
        made: Sequence[Entry],
        datums: int,
    ) -> Verification:
        verification = Verification(self._commit.repo, self._commit.id, Verdict.EQUAL, "", datums)
        rows = sum(entry.rows or 0 for entry in made)
        differences, reasons = self._differing_tables(schemas, published, made)
        found = replace(verification, files=len(made), rows=rows, differences=differences)
        return self._judged(found, reasons)

    def _judged(self, found: Verification, reasons: Sequence[str]) -> Verification:
        if not found.differences:
            return found
        reason = "; ".join(dict.fromkeys([*reasons, *self._likely()]))
        return replace(found, verdict=Verdict.DIFFERENT, reason=reason)

    def _failed_before(self) -> set[str]:
        """Datums that had failed in the job too, where its pipeline lets some fail."""
        lines = self._index()
        return {datum_id(one.key) for one in lines if str(one.state) != "success"}

    def _index(self) -> Iterator[IndexLine]:
        job = self._job
        if job.index is not None:
            for line in self._core.manifests.read(job.index, job.index_hash).scan(b""):
                yield IndexLine.decode(line)

    # -- tables -----------------------------------------------------------------------------

    def _differing_tables(
        self, schemas: Mapping[str, Schema], published: Sequence[Entry], made: Sequence[Entry]
    ) -> tuple[tuple[Difference, ...], list[str]]:
        before, after = _by_table(published), _by_table(made)
        differences: list[Difference] = []
        reasons: list[str] = []
        for folder in sorted({*before, *after}):
            left, right = before.get(folder, []), after.get(folder, [])
            if _bytes_of(left) == _bytes_of(right):
                continue
            schema = schemas.get(self._table_of(folder).strip("/"))
            one, why = self._differing_table(folder, left, right, schema)
            if one is not None:
                differences.append(one)
                reasons += [why] if why else []
        return tuple(differences), reasons

    def _differing_table(
        self,
        folder: str,
        published: Sequence[Entry],
        made: Sequence[Entry],
        schema: Schema | None,
    ) -> tuple[Difference | None, str]:
        left = self._source(folder, published, None)
        right = self._source(folder, made, schema)
        if left is None or right is None:
            counts = [sum(one.rows or 0 for one in side) for side in (published, made)]
            return (Difference(folder, counts[0], counts[1]) if any(counts) else None), ""
        if changed := _changed_columns(left.schema, right.schema):
            counts = [source.rows or 0 for source in (left, right)]
            return Difference(folder, counts[0], counts[1]), f"its columns differ: {changed}"
        found = differing_rows(self._engine.session(), left, right, ROWS_LOOKED_AT)
        if found.none:
            return None, ""
        apart = rounding.largest(left.schema, found)
        if apart is not None:
            if apart <= self._tolerance:
                return None, ""
            return _shown(folder, left.schema, found), (
                f"only doubles differ, by up to {apart:.1e} of their size: sums of doubles depend "
                "on the order of the rows (use decimals, or allow it: --tolerance)"
            )
        return _shown(folder, left.schema, found), ""

    def _table_of(self, folder: str) -> str:
        """The folder of the table whose rows are there: those in quarantine have its columns."""
        if not folder.startswith(f"/{QUARANTINE}/"):
            return folder
        rule = folder.split("/")[2]
        rules = {one.name: one.table for one in self._context.spec.expectations}
        return f"/{rules.get(rule, '')}"

    def _source(
        self, folder: str, entries: Sequence[Entry], schema: Schema | None
    ) -> Source | None:
        if not entries:
            return None
        spec = recorded_spec(self._core, self._tree, self._table_of(folder))
        if schema is not None:
            partition_by = self._context.spec.transform.partition_by
            spec = TableSpec(Format.PARQUET, schema, partition_by, evolved=True)
        lines = [entry.encode() for entry in entries]
        name = f"{self._commit.repo}@{self._commit.id[:12]}"
        table = describe_lines(self._core, lines, folder, name, spec)
        return Source(table.scans, table.schema)

    # -- why --------------------------------------------------------------------------------

    def _likely(self) -> Iterator[str]:
        """What could make a result depend on more than its inputs and its code."""
        transform = self._context.spec.transform
        text = f"{transform.sql} {self._source_text()}".lower()
        for names, what in ((_CHANCE, "draws lots"), (_CLOCK, "asks the clock")):
            if called := [name for name in names if f"{name}(" in text]:
                yield f"it {what}: {called[0]}()"
        if "previous(" in text:
            yield "it reads its own last result: ctx.previous()"
        for leaf in self._context.leaves:
            if leaf.reference:
                yield f"changes of {leaf.name} alone compute nothing again (reference: true)"
        digests = self._digests()
        if others := sorted({one for one in digests.values() if one != self._job.digest}):
            kept = sum(digest in others for digest in digests.values())
            yield f"{kept} of its datums were computed by an earlier version and kept"
        if transform.mode is Mode.APPEND:
            yield "mode: append computes only what is added"

    def _digests(self) -> dict[bytes, str]:
        """By datum, the digest of the code that computed it."""
        known: dict[str, str] = {}
        found: dict[bytes, str] = {}
        with self._core.database.read() as session:
            for line in self._index():
                if line.job not in known:
                    job = jobs.find(session, self._repo, line.job)
                    known[line.job] = job.digest if job else self._job.digest
                found[line.key] = known[line.job]
        return found

    def _source_text(self) -> str:
        from trunkline.lake import files
        from trunkline.lake.versions import code_of

        version = self._context.version
        lines = code_of(self._core, version.name, version.code)
        sources = [Entry.decode(line) for line in lines]
        read = (files.read(self._core, one) for one in sources if one.path.endswith(".py"))
        return " ".join(b"".join(data).decode(errors="replace") for data in read)


def _is_result(entry: Entry) -> bool:
    """Whether rows are of a stream's result, and not of what it set aside on the way."""
    return not entry.path.startswith((f"/{LATE}/", f"/{MALFORMED}/"))


def _differing_files(published: Sequence[Entry], made: Sequence[Entry]) -> Iterator[Difference]:
    before = {entry.path: entry for entry in published}
    after = {entry.path: entry for entry in made}
    for path in sorted({*before, *after}):
        left, right = before.get(path), after.get(path)
        if left is None or right is None or left.hash != right.hash:
            sizes = [("-", left), ("+", right)]
            samples = tuple((side, f"{one.size:,} bytes") for side, one in sizes if one)
            yield Difference(path, int(left is not None), int(right is not None), samples)


def _by_table(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        folders = entry.path.split("/")[1:-1]
        while folders and is_hive(folders[-1]):
            folders.pop()
        found.setdefault("/" + "/".join(folders), []).append(entry)
    return found


def _bytes_of(entries: Iterable[Entry]) -> list[tuple[str, str]]:
    """What the files are, byte for byte, and what their folders say."""
    return sorted((one.path.rpartition("/")[0], one.byte_hash or one.hash) for one in entries)


def _schemas(results: Iterable[DatumResult], where: str) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for result in results:
        for table, columns in result.schemas.items():
            schema = Schema.from_list(columns)
            known = found.get(table)
            found[table] = schema if known in (None, schema) else united(known, schema, where)
    return found


def _changed_columns(left: Schema, right: Schema) -> str:
    """The first column whose name, place or type differs."""
    for one, other in zip(left, right, strict=False):
        if (one.name, one.type) != (other.name, other.type):
            return f"{one.name} {one.type} is {other.name} {other.type} from scratch"
    if len(left) != len(right):
        longer = left if len(left) > len(right) else right
        return f"{longer.columns[min(len(left), len(right))].name} is in one of them only"
    return ""


def _shown(folder: str, schema: Schema, found: RowDifferences) -> Difference:
    def text(row: Row) -> str:
        pairs = zip(schema.names, row, strict=True)
        return ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in pairs)

    left = [("-", text(row)) for row in sorted(found.left_rows, key=repr)[:SAMPLES]]
    right = [("+", text(row)) for row in sorted(found.right_rows, key=repr)[:SAMPLES]]
    return Difference(folder, found.left, found.right, (*left, *right))
