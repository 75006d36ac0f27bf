"""What output tables record of themselves: grown from what they were, with each result."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trunkline.engine.runner.task import DatumResult
from trunkline.errors import SchemaClash
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.entries import line_path
from trunkline.model.evolution import united
from trunkline.model.tables import TABLE_FILE, Format, Schema, TableSpec
from trunkline.storage.objects.intake import Intake
from trunkline.tables.describe import recorded_spec
from trunkline.tables.layout import is_data


class TableSpecs:
    """The schemas of a job's results, by output table; those taken over count as well."""

    def __init__(self, pipeline: str, partition_by: tuple[str, ...]) -> None:
        self._pipeline = pipeline
        self._partition_by = partition_by
        self._found: dict[str, list[Schema]] = {}

    def add(self, result: DatumResult) -> None:
        for table, columns in result.schemas.items():
            schema, known = Schema.from_list(columns), self._found.setdefault(table, [])
            if schema not in known:
                known.append(schema)

    def lines(
        self, core: Core, base: Tree, intake: Intake, kept: Callable[[str], Iterator[bytes]]
    ) -> Iterator[bytes]:
        """The files that describe the tables, where they are new. `kept` has a table's rows
        of before that stay.
        """
        for table, schemas in self._found.items():
            before = recorded_spec(core, base, f"/{table}")
            below = f"/{table}".rstrip("/") + "/"
            paths = (line_path(line)[len(below) :].decode() for line in kept(table))
            spec = self._spec(table, schemas, before, any(map(is_data, paths)))
            if spec != before:
                yield intake.add_bytes(f"{below}{TABLE_FILE}", spec.encode())

    def _spec(
        self, table: str, schemas: list[Schema], before: TableSpec | None, has_kept: bool
    ) -> TableSpec:
        where = f"{self._pipeline}{f' ({table})' if table else ''}"
        all_of = [*([before.schema] if before and has_kept else []), *schemas]
        schema = all_of[0]
        try:
            for other in all_of[1:]:
                schema = united(schema, other, where)
        except SchemaClash as clash:
            raise SchemaClash(
                clash.message, hint="Run all of it again: apply it with --reprocess."
            ) from None
        evolved = bool(before and has_kept and before.evolved) or any(
            other != schema for other in all_of
        )
        return TableSpec(Format.PARQUET, schema, self._partition_by, evolved=evolved)
