"""What the micro-batches of a job came to, on the way into one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trunkline.engine.streaming.task import BatchResult
from trunkline.engine.transform import Lineage, TableResult
from trunkline.jobs.tableoutcome import TableOutcome, counted
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry
from trunkline.model.evolution import united
from trunkline.model.streams import LATE, MALFORMED
from trunkline.model.tables import QUARANTINE, TABLE_FILE, Format, Schema, TableSpec, Written
from trunkline.storage.objects.intake import Intake
from trunkline.tables.describe import recorded_spec
from trunkline.tables.writing.fingerprint import entries_of


@dataclass
class Results:
    """Files by the folder of their table, and the counts that a commit tells."""

    core: Core
    pipeline: str
    partition_by: tuple[str, ...]
    suffix: str
    entries: list[Entry] = field(default_factory=list)
    schemas: dict[str, Schema] = field(default_factory=dict)
    found: list[dict[str, TableResult]] = field(default_factory=list)
    rows_in: int = 0
    late: int = 0
    malformed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    watermark: int | None = None
    moved: bool = False
    state_rows: int = 0
    state_bytes: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)
    batches: int = 0

    def add(self, result: TableResult, rows_in: int | None) -> None:
        """A batch of a query without state."""
        self.batches += 1
        self.rows_in += rows_in or 0
        self.seconds += result.seconds
        self.found.append({"": result})
        self._take("/", result)

    def add_batch(self, result: BatchResult, rows_in: int | None, checkpoint: str) -> None:
        """A batch of a query with state."""
        self.add(replace(result.table, seconds=result.seconds), rows_in)
        for name, late in result.late.items():
            self._take(f"/{LATE}/{name}" if name else f"/{LATE}", late)
        self.late += result.late_rows
        self.watermark, self.moved = result.watermark, result.moved
        self.state_rows, self.state_bytes = result.state_rows, result.state_bytes
        self.state = {
            "checkpoint": checkpoint,
            "batch": result.batch,
            "generation": result.generation,
            "moved": result.moved,
        }

    def add_malformed(self, name: str, result: TableResult) -> None:
        """Rows of an input that could not be read."""
        self.malformed += result.report.rows
        self._take(f"/{MALFORMED}/{name}", result)

    @property
    def columns(self) -> Lineage:
        """From which columns of its inputs each column was made, by the newest batch."""
        return self.found[-1][""].lineage if self.found else {}

    @property
    def rows_out(self) -> int:
        return sum(one.report.rows for results in self.found for one in results.values())

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell: neither rows, nor that a rule has dropped some."""
        dropped = (sum(one.report.broken) for found in self.found for one in found.values())
        return not self.entries and not any(dropped)

    def outcome(self) -> TableOutcome:
        """As rules are checked on."""
        return TableOutcome.of([counted(self.found, self.rows_in)])

    def described(self, base: Tree, intake: Intake, folders: Iterable[str]) -> list[bytes]:
        """The files that describe the tables, where they are new or have grown."""
        lines = []
        for folder in folders:
            schema, path = self.schemas[folder], folder.rstrip("/")
            before = recorded_spec(self.core, base, folder)
            grown = united(before.schema, schema, f"{self.pipeline}:{folder}") if before else schema
            parts = self.partition_by if folder == "/" else ()
            evolved = before is not None and (before.evolved or before.schema != grown)
            spec = TableSpec(Format.PARQUET, grown, parts, evolved=evolved)
            if spec != before:
                lines.append(intake.add_bytes(f"{path}/{TABLE_FILE}", spec.encode()))
        return lines

    def _take(self, folder: str, result: TableResult) -> None:
        known = self.schemas.get(folder)
        where = f"{self.pipeline}:{folder}"
        # The output's columns are known without rows: a table that is empty so far is one too.
        if result.report.files or folder == "/":
            self.schemas[folder] = united(known, result.schema, where) if known else result.schema
        by_rule: dict[str, list[Written]] = {}
        for file in result.report.files:
            by_rule.setdefault(file.rule, []).append(file)
        suffix = f"{self.suffix}-{self.batches}"
        parts = self.partition_by if folder == "/" else ()
        for rule, files in by_rule.items():
            place = f"/{QUARANTINE}/{rule}" if rule else folder
            self.entries += entries_of(self.core, files, place, parts, result.schema, suffix)
