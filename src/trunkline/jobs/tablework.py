"""A job whose transform makes tables: which calls it takes, and whose the rows are.

What was computed ends up as results of datums, as with commands, so that skipping, taking over
and dropping are one mechanism. An output partition whose rows are those of before keeps its
files: for whoever reads it nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import zstandard

from trunkline.engine.runner.task import DatumResult, SetReport
from trunkline.engine.transform import Source, TableResult, TableTask
from trunkline.errors import ChecksFailed, Precondition, TransformFailed
from trunkline.jobs import calls
from trunkline.jobs.assembly import Assembly
from trunkline.jobs.candidate import Candidate, below, folder_of
from trunkline.jobs.claims import Claim
from trunkline.jobs.context import Context, types_stayed
from trunkline.jobs.expectations import failure_text
from trunkline.jobs.ledger import Parts
from trunkline.jobs.planning import Decision
from trunkline.jobs.tableinputs import TableInputs, Values, by_partition, normal
from trunkline.jobs.tableoutcome import Said, TableOutcome, counted
from trunkline.lake.core import Core
from trunkline.lake.differences import differences
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry
from trunkline.model.expectations import CheckKind, CheckResult
from trunkline.model.pipelines import Mode, OnChange
from trunkline.model.tables import QUARANTINE, TABLE_FILE, Schema, TableSpec, Written
from trunkline.pipelines.datums import datum_id, described
from trunkline.pipelines.datums_lines import IndexLine
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import KeyMaker
from trunkline.tables.describe import describe_lines, recorded_spec
from trunkline.tables.physical import check_references
from trunkline.tables.writing.fingerprint import entries_of, same_rows

Runs = Callable[[Sequence[TableTask]], tuple[list[dict[str, TableResult]], tuple[int, ...]]]
"""Calls a transform once for each task; what each gave, and Spark's numbers of the jobs."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of the transform, and the datums that it is for."""

    decisions: tuple[Decision, ...]
    sources: Mapping[str, Source]
    keeps: tuple[Entry, ...] = ()
    """Output of before that stays whatever the call gives (append)."""


class Broken(ChecksFailed):
    """With what became of each rule."""

    def __init__(self, why: str, checks: tuple[CheckResult, ...]) -> None:
        super().__init__(why)
        self.checks = checks


class TableWork:
    """The part of a job that differs from running commands."""

    def __init__(
        self,
        core: Core,
        claim: Claim,
        context: Context,
        keys: KeyMaker,
        parts: Parts,
        assembly: Assembly,
        code: Callable[[], str],
        env: Callable[[], Mapping[str, str]],
        earlier: Sequence[Said] = (),
    ) -> None:
        self._core = core
        self._claim = claim
        self._context = context
        self._keys = keys
        self._parts = parts
        self._assembly = assembly
        self._code = code
        self._env = env
        self._earlier = earlier
        self._inputs = TableInputs(core, context)
        self._base = core.tree(context.base.commit)
        self._candidate = Candidate(core, context, assembly)

    def run(
        self,
        decisions: Iterable[Decision],
        run: Runs,
        trees_before: Callable[[], tuple[Tree, ...] | None],
    ) -> TableOutcome:
        """Do what must be done. Raises TrunklineError, with nothing published."""
        held = list(decisions)
        if not held:
            # What was dropped, or the hour, may break a rule about the table all the same.
            return self._passed(TableOutcome.of(self._earlier), {})
        calls.check_requirements(self._context)
        made = self._calls(held, trees_before)
        found, spark_jobs = run([self._task(call) for call in made])
        self._inputs.check_again()
        said = counted(found, _rows(made))
        outcome = TableOutcome.of([*self._earlier, said])
        outcome.spark_jobs = spark_jobs
        outputs = self._outputs(made, found)
        # Before anything is kept: what failed a check must not be taken over by the next try.
        self._passed(outcome, outputs)
        seconds = sum(one.seconds for result in found for one in result.values())
        crashpoint("job.tables_written")
        outcome.reports = [self._report(made, found, held, outputs, seconds / len(held), said)]
        return outcome

    # -- before -----------------------------------------------------------------------------

    def _calls(
        self, held: list[Decision], trees_before: Callable[[], tuple[Tree, ...] | None]
    ) -> list[_Call]:
        mode = self._context.spec.transform.mode
        if mode is Mode.EACH:
            return [
                _Call((one,), self._inputs.of([one.datum]))
                for one in held
                if one.datum is not None and self._inputs.has_rows(one.datum)
            ]
        if mode is Mode.APPEND:
            if addition := self._addition(held, trees_before()):
                return [addition]
        elif mode is Mode.TOGETHER:
            # Refused before anything runs, if the datums cannot be told apart.
            by_partition(held, self._context.spec.transform.partition_by)
        if mode is not Mode.TOGETHER and len(held) > 1:
            names = f"{described(held[0].datum.key)} and {len(held) - 1} more"  # type: ignore[union-attr]
            raise Precondition(
                f"mode: {mode} works on one datum, and there are {len(held)}: {names}.",
                hint="Use glob: / to read a repo as a whole, or another mode.",
            )
        return [_Call(tuple(held), self._inputs.of([one.datum for one in held if one.datum]))]

    def _addition(self, held: list[Decision], before: tuple[Tree, ...] | None) -> _Call | None:
        """The call for what was added since the last good job; None if all must be read."""
        context, (one, *_) = self._context, held
        if one.before is None or before is None or context.base.job is None:
            return None
        if context.base.job.digest != context.version.digest:
            return None
        if not types_stayed(self._core, context, before):
            if context.spec.transform.on_change is OnChange.REFRESH:
                return None
            raise Precondition(
                "Files that were read before are read with other types now, and mode: append only "
                "takes what is added.",
                hint="Set on_change: refresh, or run it once with --reprocess. Types that new "
                "files tell can be recorded: trunkline table set.",
            )
        added: dict[int, list[bytes]] = {}
        for number, leaf in enumerate(context.leaves):
            if leaf.reference:
                continue
            added[number] = []
            for change in differences(before[number], context.trees[number]):
                if change.path.endswith(b"/" + TABLE_FILE.encode()):
                    continue
                if change.old is None and change.new is not None:
                    added[number].append(change.new)
                elif context.spec.transform.on_change is OnChange.REFRESH:
                    return None
                else:
                    what = "removed" if change.new is None else "changed"
                    raise Precondition(
                        f"{change.path.decode()} of {leaf.repo} was {what}, and mode: append only "
                        "takes what is added.",
                        hint="Set on_change: refresh, or run it once with --reprocess.",
                    )
        assert one.datum is not None
        sources = {
            leaf.name: self._inputs.source(number, added[number])
            if number in added
            else self._inputs.whole(number)
            for number, leaf in enumerate(context.leaves)
        }
        return _Call((one,), sources, tuple(self._old_outputs(one)))

    def _task(self, call: _Call) -> TableTask:
        return replace(
            calls.call(self._context, self._claim, self._code, self._env()),
            inputs=call.sources,
            stem=calls.stem(self._core, self._keys),
            previous=self.previous,
            kept=self._kept(call),
        )

    def previous(self, table: str) -> Source | None:
        """What the last good job left in an output table."""
        spec = recorded_spec(self._core, self._base, folder_of(table))
        if spec is None:
            return None
        lines = list(self._base.scan(below(table).encode()))
        return self._source(table, lines, spec)

    def _kept(self, call: _Call) -> dict[str, Source]:
        """What stays beside what a call makes; only asked for where uniqueness depends on it."""
        if not any(one.kind is CheckKind.UNIQUE for one in self._context.spec.expectations):
            return {}
        found = {}
        for table in dict.fromkeys(one.table for one in self._context.spec.expectations):
            spec = recorded_spec(self._core, self._base, folder_of(table))
            lines = list(self._candidate.lines(table))
            lines += [entry.encode() for entry in call.keeps if entry.path.startswith(below(table))]
            if spec is not None and lines:
                found[table] = self._source(table, lines, spec)
        return found

    def _source(self, table: str, lines: Sequence[bytes], spec: TableSpec) -> Source:
        folder = folder_of(table)
        name = f"{self._context.version.name}@{self._context.branch}"
        described = describe_lines(self._core, lines, folder, name, spec)
        check_references(self._core, described.entries)
        return Source(described.scans, described.schema)

    # -- after ------------------------------------------------------------------------------

    def _outputs(
        self,
        calls: Sequence[_Call],
        found: Sequence[dict[str, TableResult]],
    ) -> dict[bytes, list[Entry]]:
        """The files of each datum, by its key."""
        outputs: dict[bytes, list[Entry]] = {}
        for call, results in zip(calls, found, strict=True):
            for table, result in results.items():
                if self._context.spec.transform.mode is Mode.TOGETHER:
                    self._share_out(call, table, result, outputs)
                else:
                    (one,) = call.decisions
                    assert one.datum is not None
                    suffix = self._suffix(one.datum.key, bool(call.keeps))
                    entries = self._entries(table, result.report.files, result.schema, suffix)
                    outputs.setdefault(one.datum.key, []).extend(entries)
            if call.keeps:
                assert call.decisions[0].datum is not None
                outputs.setdefault(call.decisions[0].datum.key, []).extend(call.keeps)
        return outputs

    def _suffix(self, key: bytes, adds: bool) -> str:
        """What keeps names of files apart, where equal rows would have equal names."""
        if adds:
            return self._claim.txn[-12:]
        return "" if self._context.spec.transform.mode is Mode.WHOLE else datum_id(key)[:12]

    def _share_out(
        self,
        call: _Call,
        table: str,
        result: TableResult,
        outputs: dict[bytes, list[Entry]],
    ) -> None:
        """Give each file to the datum whose partition it is; others break the promise."""
        columns = self._context.spec.transform.partition_by
        owners = by_partition(call.decisions, columns)
        mine: dict[Values, list[Written]] = {}
        for file in result.report.files:
            mine.setdefault(tuple(normal(value) for value in file.folder), []).append(file)
        for values, files in mine.items():
            if values not in owners:
                rows = sum(file.rows for file in files)
                shown = ", ".join(f"{c}={v}" for c, v in zip(columns, values, strict=True))
                raise TransformFailed(
                    f"{rows} row{'s' if rows > 1 else ''} of the output "
                    f"{table + ' ' if table else ''}{'have' if rows > 1 else 'has'} {shown}, "
                    "which none of the datums that ran has.",
                    hint="With mode: together each row belongs to one datum, told by partition_by. "
                    "Use mode: whole if it does not.",
                )
        shared: dict[Values, list[Entry]] = {}
        entries = self._entries(table, result.report.files, result.schema, "")
        for file, entry in zip(result.report.files, entries, strict=True):
            shared.setdefault(tuple(normal(value) for value in file.folder), []).append(entry)
        for values, one in owners.items():
            assert one.datum is not None
            outputs.setdefault(one.datum.key, []).extend(shared.get(values, []))

    def _entries(
        self, table: str, files: Sequence[Written], schema: Schema, suffix: str
    ) -> list[Entry]:
        """The entries of files, in their order. All at once: what is synced is synced together."""
        columns = self._context.spec.transform.partition_by
        found: dict[str, Entry] = {}
        for rule in dict.fromkeys(file.rule for file in files):
            held = [file for file in files if file.rule == rule]
            folder = f"/{QUARANTINE}/{rule}" if rule else folder_of(table)
            entries = entries_of(self._core, held, folder, columns, schema, suffix)
            found.update(zip((file.uri for file in held), entries, strict=True))
        return [found[file.uri] for file in files]

    def _passed(
        self, outcome: TableOutcome, outputs: Mapping[bytes, Sequence[Entry]]
    ) -> TableOutcome:
        written = (entry for entries in outputs.values() for entry in entries)
        outcome.checks = self._candidate.checked(outcome, written)
        if why := failure_text(outcome.checks):
            raise Broken(why, outcome.checks)
        return outcome

    def _report(
        self,
        calls: Sequence[_Call],
        found: Sequence[dict[str, TableResult]],
        held: list[Decision],
        outputs: Mapping[bytes, list[Entry]],
        each: float,
        said: Said,
    ) -> SetReport:
        """The results of all datums, stored: should this job get no further, the next has them."""
        report = SetReport(0)
        schemas = {
            one.datum.key: {table: result.schema.to_list() for table, result in results.items()}
            for call, results in zip(calls, found, strict=True)
            for one in call.decisions
            if one.datum is not None
        }
        columns = {
            one.datum.key: _columns(results)
            for call, results in zip(calls, found, strict=True)
            for one in call.decisions
            if one.datum is not None
        }
        lines: list[str] = []
        for one in held:
            assert one.datum is not None
            owner = datum_id(one.datum.key)
            entries = self._cut_off(one, outputs.get(one.datum.key, []))
            result = DatumResult(
                one.datum.key.decode(),
                one.datum.content.decode(),
                owner,
                "success",
                one.reason,
                outputs=[replace(entry, owner=owner).encode().decode() for entry in entries],
                bytes_out=sum(entry.size for entry in entries),
                process=each,
                schemas=schemas.get(one.datum.key, {}),
                columns=columns.get(one.datum.key, {}),
                counted={} if lines else dict(said),
            )
            report.count(result)
            lines.append(result.encode())
        key = f"{self._claim.parts}{self._claim.txn}-t{self._keys.branch().prefix}0.part"
        text = "\n".join(lines).encode() + b"\n"
        compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
        self._core.objects.put(key, compressor.compress(text))
        report.parts.append(key)
        return report

    def _cut_off(self, one: Decision, entries: list[Entry]) -> list[Entry]:
        """The same, but folders whose rows have not changed keep the files they had."""
        before = _by_folder(self._old_outputs(one))
        kept = []
        for folder, new in _by_folder(entries).items():
            old = before.get(folder)
            kept += old if old is not None and same_rows(old, new) else new
        return kept

    def _old_outputs(self, one: Decision) -> list[Entry]:
        line = IndexLine.decode(one.before) if one.before is not None else None
        if line is None or not line.is_good:
            return []
        outputs = self._parts.at(line.pointer).outputs
        return [Entry.decode(line.encode()) for line in outputs]


def _columns(results: Mapping[str, TableResult]) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """By table, from which columns its columns were made, as far as that is known."""
    return {
        table: {column: list(pairs) for column, pairs in result.lineage.items()}
        for table, result in results.items()
        if result.lineage
    }


def _by_folder(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.path.rpartition("/")[0], []).append(entry)
    return found


def _rows(calls: Sequence[_Call]) -> int | None:
    counts = [source.rows for call in calls for source in call.sources.values()]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
