"""Rows into tables, through a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2

from trunkline.errors import CommitUnknown, Unavailable
from trunkline.model.commits import Commit
from trunkline.model.refs import Ref
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.tables import of_table
from trunkline.sdk.tablewriting import TableWriting, as_mode, as_names
from trunkline.sdk.wire.arrow import stream_bytes
from trunkline.sdk.wire.tables import Merge, NewCompaction, RowsDeletion, RowsUpdate, names_text
from trunkline.sdk.wire.values import ARROW, decode, encode
from trunkline.tables.changing.compacting import Compaction
from trunkline.tables.changing.rewriting import RowChange
from trunkline.tables.writing.sources import batches_of, is_spark

if TYPE_CHECKING:
    import pyarrow as pa


# All was sent, and no answer came.
_LOST = (httpx2.ReadError, httpx2.ReadTimeout, httpx2.RemoteProtocolError)


class RemoteTableWriting(RemoteBase, TableWriting):
    def write_table(
        self,
        ref: str,
        data: Any,
        *,
        mode: str = "append",
        partition_by: str | Sequence[str] | None = None,
        message: str = "",
        key: str | None = None,
        evolve: bool = True,
    ) -> Commit:
        target = self._ref(ref)
        options = {
            "mode": as_mode(mode).value,
            "partition_by": names_text(as_names(partition_by)),
            "message": message,
            "key": key or uuid4().hex,
            "evolve": evolve,
        }
        made: Commit = decode(Commit, self._send_rows(target, "rows", data, options))
        return made

    def merge_table(
        self,
        ref: str,
        source: Any,
        *,
        on: str | Sequence[str],
        delete_when: str | None = None,
        update: Sequence[str] | None = None,
        insert: bool = True,
        message: str = "",
    ) -> RowChange:
        rule = Merge(as_names(on) or [], delete_when, as_names(update), insert, message)
        options = {"rule": encode(Merge, rule).decode()}
        target = self._ref(ref)
        found: RowChange = decode(RowChange, self._send_rows(target, "merge", source, options))
        return found

    def delete_from(self, ref: str, where: str, *, message: str = "") -> RowChange:
        changed: RowChange = self._change(ref, "delete", RowsDeletion(where, message), RowChange)
        return changed

    def update_table(
        self, ref: str, set: Mapping[str, str], where: str | None = None, *, message: str = ""
    ) -> RowChange:
        body = RowsUpdate(dict(set), where, message)
        changed: RowChange = self._change(ref, "update", body, RowChange)
        return changed

    def compact(
        self,
        ref: str,
        *,
        target_size: int = 128 << 20,
        partitions: str | Sequence[str] | None = None,
        message: str = "",
    ) -> Compaction:
        body = NewCompaction(target_size, as_names(partitions), message)
        found: Compaction = self._change(ref, "compact", body, Compaction)
        return found

    def _change(self, ref: str, verb: str, body: Any, kind: Any) -> Any:
        target = self._ref(ref)
        place = f"{self._repo_path(target.repo)}/table/{verb}"
        return self._client.send("POST", place, body, kind=kind, **of_table(target))

    def _send_rows(self, target: Ref, verb: str, data: Any, options: dict[str, Any]) -> bytes:
        """Rows as they are read. What has no rows at all is refused before anything is sent."""
        place = self._repo_path(target.repo)
        reader = _reader(data)
        params = {**of_table(target), **options}
        headers = {"Content-Type": ARROW}
        try:
            answer = self._client.upload(
                "POST", f"{place}/table/{verb}", stream_bytes(reader), headers=headers, **params
            )
        except Unavailable as error:
            # A server that refuses before all is sent just hangs up: what it has to say is asked.
            self._client.get(dict[str, Any], place)
            if isinstance(error.__cause__, _LOST):
                raise _unknown(options.get("key")) from error
            raise
        return answer.content


def _unknown(key: str | None) -> CommitUnknown:
    again = f"write again with key={key!r}: what is there already is not written twice"
    return CommitUnknown(
        "The connection broke before the server had answered: the rows may be written, or not.",
        hint=f"Look, or {again}." if key else "Look before you try again.",
    )


def _reader(data: Any) -> pa.RecordBatchReader:
    return batches_of(data.toArrow() if is_spark(data) else data)
