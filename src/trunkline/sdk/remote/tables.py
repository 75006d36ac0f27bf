"""Tables, through a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.errors import Usage
from trunkline.model.commits import Commit
from trunkline.model.refs import Ref
from trunkline.model.tables import Schema
from trunkline.sdk.laketable import TableInfo
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.laketable import RemoteTable
from trunkline.sdk.tablehistory import TableVersion
from trunkline.sdk.tables import Tables
from trunkline.sdk.wire.tables import COMMIT, TableSetting
from trunkline.sdk.wire.values import decode

if TYPE_CHECKING:
    from trunkline.engine.session import Session
    from trunkline.tables.writing.setting import SchemaLike


class RemoteTables(RemoteBase, Tables):
    def table(self, ref: str) -> RemoteTable:
        place = self._repo_path(self._ref(ref).repo)
        info, commit = self._described_at(ref)
        return RemoteTable(self._client, place, commit, info, self._spark_session)

    def describe_table(self, ref: str) -> TableInfo:
        return self._described_at(ref)[0]

    def _described_at(self, ref: str) -> tuple[TableInfo, str]:
        target = self._ref(ref)
        place = f"{self._repo_path(target.repo)}/table"
        with self._client.stream("GET", place, **of_table(target)) as answer:
            found: TableInfo = decode(TableInfo, answer.read())
            return found, answer.headers.get(COMMIT, target.ref)

    def tables(self, ref: str | None = None, *, at: str | None = None) -> list[TableInfo]:
        if ref is None:
            found = self._client.pages(TableInfo, "/tables", project=self.project, at=at)
            return list(found)
        if at is not None:
            raise Usage("A ref says already at which commit.", hint="Leave one of them out.")
        target = self._ref(ref)
        place = f"{self._repo_path(target.repo)}/tables"
        return list(self._client.pages(TableInfo, place, **of_table(target)))

    def table_history(self, ref: str, *, limit: int | None = None) -> Iterator[TableVersion]:
        target = self._ref(ref)
        place = f"{self._repo_path(target.repo)}/table/history"
        return self._client.pages(TableVersion, place, limit=limit, **of_table(target))

    def set_table(
        self,
        ref: str,
        *,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        schema: SchemaLike | None = None,
        key: Sequence[str] | None = None,
        message: str = "",
    ) -> Commit:
        target = self._ref(ref)
        body = TableSetting(
            format,
            None if options is None else {name: str(told) for name, told in options.items()},
            _plain(schema),
            [key] if isinstance(key, str) else None if key is None else list(key),
            message,
        )
        place = f"{self._repo_path(target.repo)}/table"
        made: Commit = self._client.send("PUT", place, body, kind=Commit, **of_table(target))
        return made

    def _spark_session(self) -> Session:
        """A Spark of this process, which knows nothing of the lake's store."""
        from trunkline.engine.options import SparkOptions
        from trunkline.engine.session import start

        return start(SparkOptions.of(self._settings))


def of_table(target: Ref) -> dict[str, Any]:
    """The revision and folder of a table as parameters of a request."""
    return {"at": target.ref, "path": target.path}


def _plain(schema: SchemaLike | None) -> Any:
    if schema is None or isinstance(schema, str):
        return schema
    if isinstance(schema, Schema):
        return schema.to_list()
    return dict(schema) if isinstance(schema, Mapping) else [dict(one) for one in schema]
