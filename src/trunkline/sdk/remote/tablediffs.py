"""Tables compared, through a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.laketable import arrow_stream
from trunkline.sdk.tablediff import Names, TableDiffs, as_list
from trunkline.sdk.wire.arrow import facts_of
from trunkline.sdk.wire.tables import names_text
from trunkline.tables.comparing.changes import Changes
from trunkline.tables.comparing.diffsql import CHANGES
from trunkline.tables.comparing.matching import SchemaChange
from trunkline.tables.comparing.rowdiff import RowDiff
from trunkline.tables.profiles.profiling import Profile

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class RemoteTableDiffs(RemoteBase, TableDiffs):
    def table_diff(
        self,
        old: str,
        new: str | None = None,
        *,
        key: Names = None,
        columns: Names = None,
        tolerance: float | None = None,
        one_sided: bool = False,
    ) -> RowDiff:
        rows = arrow_stream(
            self._client,
            "/tables/diff",
            **self._both(old, new),
            key=names_text(as_list(key)),
            columns=names_text(as_list(columns)),
            tolerance=tolerance,
            one_sided=one_sided,
        )
        told, _ = facts_of(rows.schema)
        return RowDiff(
            told["old"],
            told["new"],
            tuple(told["key"]),
            told["added"],
            told["removed"],
            told["changed"],
            told["unchanged"],
            told["rows"],
            told["columns"],
            tuple(SchemaChange(**one) for one in told["schema"]),
            (told["duplicate_keys"]["old"], told["duplicate_keys"]["new"]),
            told["files"]["read"],
            told["files"]["shared"],
            _loaded(rows),
            self._rows_to_spark,
        )

    def table_changes(
        self, old: str, new: str | None = None, *, key: Names = None, per_commit: bool = False
    ) -> Changes:
        rows = arrow_stream(
            self._client,
            "/tables/changes",
            **self._both(old, new),
            key=names_text(as_list(key)),
            per_commit=per_commit,
        )
        told, schema = facts_of(rows.schema)
        return Changes(
            told["old"],
            told["new"],
            tuple(told["key"]),
            told["inserted"],
            told["deleted"],
            told["updated"],
            rows.read_all().replace_schema_metadata(schema.metadata),
            self._rows_to_spark,
        )

    def profile(self, ref: str, columns: Names = None) -> Profile:
        found: Profile = self._client.get(
            Profile, "/tables/profile", ref=self._whole(ref), columns=names_text(as_list(columns))
        )
        return found

    def _both(self, old: str, new: str | None) -> dict[str, Any]:
        return {"old": self._whole(old), "new": None if new is None else self._whole(new)}


def _loaded(rows: Any) -> DuckDBPyConnection:
    """The rows that differ in a DuckDB of this process, where the diff reads them."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("arrived", rows)
    connection.execute(f"CREATE TEMP TABLE {CHANGES} AS FROM arrived")
    connection.unregister("arrived")
    return connection
