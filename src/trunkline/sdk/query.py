"""SQL over the tables of the lake."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from trunkline.sdk.base import LakeBase

if TYPE_CHECKING:
    from trunkline.query.kept import Kept
    from trunkline.query.result import Result, Stop
    from trunkline.query.rights import Allowed

_making = Lock()


class Queries(LakeBase):
    """Tables by name, at any version, read only."""

    _kept: Kept | None = None

    def sql(
        self,
        text: str,
        *,
        engine: str = "duckdb",
        at: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Result:
        """Ask the lake: `FROM orders`, `FROM orders AT 'main~1'`, `FROM "orders@v1"`.

        Tables that name no version are read at main, or all as of the commit set `at`.
        `params` are the values of `$name` in the text.
        """
        return self._query(self._asked(), text, engine=engine, at=at, params=params)

    def _query(
        self,
        kept: Kept,
        text: str,
        *,
        engine: str = "duckdb",
        at: str | None = None,
        params: Mapping[str, Any] | None = None,
        allowed: Allowed | None = None,
        places: bool = True,
        stop: Stop | None = None,
    ) -> Result:
        """The same for somebody who may read only what is `allowed`, as a server asks it."""
        from trunkline.query.ask import query

        return query(
            self._core,
            kept,
            text,
            engine=engine,
            project=self.project,
            at=at,
            params=params,
            session=self._spark_session,
            write=self._write_result,
            allowed=allowed,
            places=places,
            stop=stop,
        )

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
        super().close()

    def _asked(self) -> Kept:
        """What earlier queries have left for the next."""
        from trunkline.query.kept import Kept

        with _making:
            if self._kept is None:
                self._kept = Kept(self._core)
            return self._kept

    def _write_result(self, result: Result, target: str, mode: str) -> Any:
        writer: Any = self
        return writer.write_table(target, result.batches(), mode=mode, message=result.provenance)
