"""A gathered batch into one commit: rows, what is malformed, and the position behind it.

The fence is looked at in the commit's own transaction, and the position moves there too. So a
batch is in the lake once, whoever gathered it and however often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trunkline.errors import LeaseLost
from trunkline.ingests.ddl import declared_schema
from trunkline.ingests.feeds.base import (
    Gathered,
    Piece,
    Refused,
    Site,
    Stored,
    StoredEntry,
    StoredFile,
    Written,
)
from trunkline.ingests.rows import RowMaker
from trunkline.ingests.upserting import upserted
from trunkline.lake.changes import Changes
from trunkline.lake.drafts import Draft
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Origin, RepoKind
from trunkline.model.entries import line_path
from trunkline.model.paths import join
from trunkline.model.refs import Ref
from trunkline.model.streams import MALFORMED, Batch, Flow
from trunkline.model.tables import Column, Schema, WriteMode
from trunkline.storage.catalog import Session, flows
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.outside import outside_of
from trunkline.tables.describe import recorded_spec
from trunkline.tables.types import to_arrow
from trunkline.tables.writing.arrowwrite import write_batches
from trunkline.tables.writing.storing import suffix_of, table_name
from trunkline.tables.writing.writing import WritePlan, data_lines, moved, plan_write, stage

if TYPE_CHECKING:
    import pyarrow as pa

AUTHOR = "ingest"
_MALFORMED_ROWS = Schema(
    (
        Column("line", "string"),
        Column("reason", "string"),
        Column("source", "string"),
        Column("at", "timestamp"),
    )
)


@dataclass(frozen=True, slots=True)
class Hold:
    """An ingest in this process's hands."""

    repo: int
    branch: str
    fence: int

    def check(self, session: Session) -> Flow:
        """In the transaction: still ours."""
        found = flows.find(session, self.repo)
        if found is None or not flows.holds(session, self.repo, self.fence):
            raise LeaseLost("Another worker holds this ingest.", hint="Nothing was changed.")
        return found


class _Nothing(Exception):
    """There is nothing to commit."""


def commit(
    site: Site, hold: Hold, gathered: Gathered, facts: Mapping[str, Any], seconds: float
) -> Written:
    """Make a batch durable. Without anything in it only the position moves."""
    written = Written()
    try:
        with Transaction(site.core, AUTHOR) as transaction:
            target = Ref(site.name, hold.branch)
            draft = transaction.draft(target, origin=Origin.INGEST, kind=RepoKind.OUTPUT)
            _BatchWriter(site, transaction, draft, written, gathered).write()
            if not draft.changes:
                raise _Nothing
            draft.message = _message(written, gathered.origin())
            transaction.create(
                partial(_advance, hold, gathered, written, transaction.id, facts, seconds)
            )
            transaction.intake.close()
            crashpoint("ingest.written")
        written.commit = draft.result
    except _Nothing:
        with site.core.database.write() as session:
            flow = hold.check(session)
            if dict(flow.position) != dict(gathered.end):
                flows.advance(session, hold.repo, None, gathered.end, {**flow.facts, **facts})
    return written


def _advance(
    hold: Hold,
    gathered: Gathered,
    written: Written,
    commit_id: str,
    facts: Mapping[str, Any],
    seconds: float,
    session: Session,
) -> None:
    flow = hold.check(session)
    batch = Batch(
        commit_id,
        flow.epoch,
        flow.number + 1,
        flow.number + 1,
        flow.position,
        gathered.end,
        rows_in=written.rows_in,
        rows_out=written.rows,
        malformed=sum(written.malformed.values()),
        seconds=seconds,
    )
    rate = written.rows_in / seconds if seconds > 0 else 0.0
    told = {
        **facts,
        "rows_per_second": round(rate, 1),
        # Of all batches: who asks for the status must not have to add them up.
        "rows": flow.facts.get("rows", 0) + written.rows,
        "malformed": flow.facts.get("malformed", 0) + batch.malformed,
        "last": {"commit": commit_id, "at": session.now(), "rows": written.rows},
    }
    flows.advance(session, hold.repo, batch, gathered.end, told)


class _BatchWriter:
    """The pieces of a batch, one after the other, into the files of a draft."""

    def __init__(
        self,
        site: Site,
        transaction: Transaction,
        draft: Draft,
        written: Written,
        gathered: Gathered,
    ) -> None:
        self._site = site
        self._gathered = gathered
        self._transaction = transaction
        self._draft = draft
        self._written = written
        self._tree: Tree = site.core.tree(draft.base)
        self._folder = site.source.folder or "/"
        recorded = recorded_spec(site.core, self._tree, self._folder)
        declared = declared_schema(site.source.schema) if site.source.schema else None
        # Where all rows are replaced, columns are what the new ones say.
        known = recorded.schema if recorded and not gathered.replace else Schema()
        self._maker = RowMaker(known, declared)
        self._mode = WriteMode.OVERWRITE if gathered.replace else WriteMode.APPEND
        self._keyed: list[pa.Table] = []
        self._plan: WritePlan | None = None
        self._lines: list[bytes] = []
        self._malformed: list[Refused] = []
        self._files: list[tuple[str, Any]] = []
        self._entries: list[bytes] = []
        self._parts: dict[str, list[str]] = {}
        self._writes = 0

    def write(self) -> None:
        gathered = self._gathered
        with outside_of(self._site.core.objects).known.gathering():
            for piece in gathered.pieces:
                self._add(piece)
        staged = []
        if self._keyed:
            staged.append(self._upserted())
        elif self._plan is not None:
            staged.append(self._staged(self._plan, self._lines))
        if self._malformed:
            staged.append(self._staged(*self._malformed_rows()))
        own = Changes()
        for folder in gathered.cleared:
            own.remove(join(self._folder, folder).encode())
        own.put_all(self._transaction.intake.add_files(self._files))
        own.put_all(self._entries)
        if gathered.replace and self._plan is None:
            for line in data_lines(self._tree, self._folder):
                own.remove_file(line_path(line))
        if staged or own:
            # What it remembers is worth a commit only beside what it brought.
            intake = self._transaction.intake
            for folder in gathered.dropped:
                own.remove(folder.encode())
            for path in gathered.removed:
                own.remove_file(path.encode())
            stored = Stored(self._transaction.id, self._written.malformed, self._parts)
            noted = gathered.noted(stored)
            own.put_all([intake.add_bytes(path, data) for path, data in noted.items()])
            _join(self._draft, staged, own, gathered.removed)

    def _add(self, piece: Piece) -> None:
        if isinstance(piece, StoredFile):
            self._files.append((join(self._folder, piece.path), piece.local))
            self._written.files += 1
            return
        if isinstance(piece, StoredEntry):
            path = join(self._folder, piece.path)
            self._entries.append(piece.store(self._transaction.intake, path))
            self._written.files += 1
            return
        made = self._maker.make(piece)
        for refused in made.malformed:
            counts = self._written.malformed
            counts[refused.source] = counts.get(refused.source, 0) + 1
        self._malformed += made.malformed
        if made.table is None or not made.table.num_rows:
            return
        if self._gathered.key and not self._gathered.replace:
            self._keyed.append(made.table)
            self._written.rows += made.table.num_rows
            return
        self._plan = self._planned(made.schema)
        lines = self._stored(made.table, self._plan.schema, self._plan)
        self._lines += lines
        source = getattr(piece, "source", "") or next(iter(getattr(piece, "sources", ())), "")
        self._parts.setdefault(source, []).extend(line_path(line).decode() for line in lines)
        self._written.rows += made.table.num_rows

    def _planned(self, schema: Schema) -> WritePlan:
        parts = self._site.source.partition_by
        plan = plan_write(
            self._site.core,
            self._tree,
            self._folder,
            schema,
            name=table_name(self._draft.target, self._folder),
            mode=self._mode,
            partition_by=parts or None,
        )
        before = self._plan
        if before is not None and before.schema != plan.schema:
            # Files of this very batch lack what came later in it.
            plan = replace(plan, spec=replace(plan.spec, evolved=True))
        elif before is not None:
            plan = before
        return plan

    def _stored(self, table: pa.Table, schema: Schema, plan: WritePlan) -> list[bytes]:
        self._writes += 1
        suffix = suffix_of(self._transaction, plan.mode)
        if self._writes > 1:
            suffix = f"{suffix}-{self._writes}"
        return write_batches(
            self._transaction,
            table.to_batches(),
            schema,
            plan.spec.partition_by,
            plan.path,
            suffix=suffix,
        )

    def _upserted(self) -> Any:
        name = table_name(self._draft.target, self._folder)
        key, parts = tuple(self._gathered.key), self._site.source.partition_by
        rewrite = upserted(
            self._transaction, self._tree, self._folder, name, self._keyed, key, parts
        )
        return rewrite.changes(self._tree), rewrite.rework

    def _malformed_rows(self) -> tuple[WritePlan, list[bytes]]:
        import pyarrow as pa

        with self._site.core.database.read() as session:
            now = session.now()
        rows = [
            {"line": one.line, "reason": one.reason, "source": one.source}
            for one in self._malformed
        ]
        names = ("line", "reason", "source")
        table = pa.table({name: pa.array([r[name] for r in rows], pa.string()) for name in names})
        at = pa.array([now] * len(rows), pa.int64()).cast(pa.timestamp("us", "UTC"))
        table = table.append_column("at", at).cast(to_arrow(_MALFORMED_ROWS))
        folder = f"/{MALFORMED}"
        name = table_name(self._draft.target, folder)
        plan = plan_write(self._site.core, self._tree, folder, _MALFORMED_ROWS, name=name)
        return plan, self._stored(table, plan.schema, plan)

    def _staged(self, plan: WritePlan, lines: Sequence[bytes]) -> Any:
        stage(self._transaction, self._draft, plan, lines)
        assert self._draft.rework is not None
        return self._draft.changes, self._draft.rework


def _join(draft: Draft, staged: Sequence[Any], own: Changes, removed: Sequence[str]) -> None:
    """All of it as the changes of one draft, also on a head that it was not made for."""

    def rework(head: Tree) -> Changes:
        if gone := [path for path in removed if head.find(path.encode()) is None]:
            # Its rows lie elsewhere by now: they would be there twice.
            raise moved(str(draft.target.repo), gone[0])
        return joined([again(head) for again in reworks])

    def joined(parts: Sequence[Changes]) -> Changes:
        changes = Changes()
        for part in (*parts, own):
            changes.then(part)
        return changes

    draft.changes = joined([changes for changes, _ in staged])
    reworks = [rework for _, rework in staged]
    draft.rework = rework


def _message(written: Written, origin: str) -> str:
    """`ingest: 1,204 rows from 3 files, 2 malformed`."""
    parts = []
    if written.files:
        parts.append(_count(written.files, "file"))
    if written.rows or not parts:
        parts.append(_count(written.rows, "row"))
    if bad := sum(written.malformed.values()):
        parts.append(f"{bad:,} malformed")
    return f"ingest: {', '.join(parts)}{f' from {origin}' if origin else ''}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
