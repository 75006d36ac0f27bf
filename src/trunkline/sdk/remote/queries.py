"""SQL, through a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trunkline.model.commits import Commit
from trunkline.query.result import Result
from trunkline.sdk.query import Queries
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.results import RemoteAnswer
from trunkline.sdk.wire.arrow import value_to_json
from trunkline.sdk.wire.sql import Into, NewQuery


class RemoteQueries(RemoteBase, Queries):
    def sql(
        self,
        text: str,
        *,
        engine: str = "duckdb",
        at: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Result:
        given = {name: value_to_json(one) for name, one in params.items()} if params else None
        asked = NewQuery(text, engine, at, given, self.project, wait=1.0)
        answer = RemoteAnswer(self._client, asked)
        return Result(answer, text, answer.sources, self._write_result)

    def _write_result(self, result: Result, target: str, mode: str) -> Any:
        """On the server: the rows do not travel."""
        answer = result._answer
        assert isinstance(answer, RemoteAnswer)
        body = Into(self._whole(target), mode)
        made: Commit = self._client.send("POST", f"/sql/{answer.id}/into", body, kind=Commit)
        return made
