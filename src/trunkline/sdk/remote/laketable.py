"""A table behind a server, as the interface hands it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.sdk.laketable import LakeTable, TableInfo
from trunkline.sdk.remote.client import Client
from trunkline.sdk.wire.arrow import PIECE, read_stream
from trunkline.sdk.wire.tables import names_text, where_text
from trunkline.sdk.wire.values import ARROW

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyRelation

    from trunkline.engine.session import Session
    from trunkline.tables.reading.conditions import Condition


class RemoteTable(LakeTable):
    """A table at a commit, whose rows come from a server; Spark and DuckDB run here."""

    def __init__(
        self, client: Client, place: str, commit: str, info: TableInfo, start: Callable[[], Session]
    ) -> None:
        self._client = client
        self._place = place
        self._commit = commit
        self._info = info
        self._start = start
        self._frame: Any = None

    @property
    def info(self) -> TableInfo:
        return self._info

    def spark(self) -> Any:
        """A Spark DataFrame of its rows, in a session of this computer."""
        if self._frame is None:
            self._frame = self._start().spark.createDataFrame(self.arrow())
        return self._frame

    def _named(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """As it is: its rows came from the server, so Spark knows no files of the lake."""
        return method

    def batches(
        self, columns: Sequence[str] | None = None, where: Sequence[Condition] | None = None
    ) -> pa.RecordBatchReader:
        return self._rows(columns=names_text(columns), where=where_text(where))

    def peek(self, count: int = 10, columns: Sequence[str] | None = None) -> pa.Table:
        return self._rows(columns=names_text(columns), limit=count).read_all()

    def malformed(self, count: int | None = None) -> pa.Table:
        return self._rows(limit=count, malformed=True).read_all()

    def duckdb(self) -> DuckDBPyRelation:
        """Its rows, fetched, as a relation of DuckDB."""
        import duckdb

        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        return connection.from_arrow(self.arrow())

    def _rows(self, **options: Any) -> pa.RecordBatchReader:
        path = None if self._info.path == "/" else self._info.path
        place = f"{self._place}/table/rows"
        return arrow_stream(self._client, place, at=self._commit, path=path, **options)


def arrow_stream(client: Client, path: str, /, **params: Any) -> pa.RecordBatchReader:
    """The rows that a server answers with, read as they come."""

    def pieces() -> Iterator[bytes]:
        with client.stream("GET", path, headers={"Accept": ARROW}, **params) as answer:
            yield from answer.iter_bytes(PIECE)

    return read_stream(pieces())
