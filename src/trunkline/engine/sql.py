"""People's SQL on Spark: in a session of its own, where nothing but the given tables is seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trunkline.engine import statements, tables
from trunkline.engine.failures import hush
from trunkline.engine.session import Session
from trunkline.engine.sessions import judged_session
from trunkline.errors import Precondition
from trunkline.model.best_effort import BestEffort
from trunkline.model.recent import Recent
from trunkline.model.tables import Scan, Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame


class View(NamedTuple):
    """A table under its name in a query. Equal versions have equal rows."""

    version: Hashable
    scans: Sequence[Scan]
    schema: Schema


_MOST_FRAMES = 64


class Desk:
    """A session that queries share: to make one takes Spark longer than many a query.

    Each query sees the views that it is given and no others.
    """

    def __init__(self, session: Session) -> None:
        if session.is_connect:
            raise Precondition(
                "Queries on Spark need a session in this process, not Spark Connect.",
                hint="Unset spark.remote, or use --engine duckdb.",
            )
        hush()
        self._session = session
        self._spark = judged_session(session)
        self._java = tables.classes(session).Statement
        self._frames: Recent[Hashable, DataFrame] = Recent(_MOST_FRAMES)
        self._shown: dict[str, Hashable] = {}
        self._handed_out = False
        self.since = time.monotonic()
        self._lock = threading.Lock()

    def ask(
        self,
        text: str,
        views: Mapping[str, View],
        params: Mapping[str, Any] | None,
        places: bool = False,
    ) -> DataFrame:
        """The DataFrame of a query over all of the views, and nothing else; see `statements.run`.

        Only with `places` are plans shown that tell where files are.
        """
        with self._lock:
            self._show(views)
            return statements.run(self._spark, self._java, text, params or {}, views, places)

    def usable(self) -> bool:
        return not self._handed_out and self._session.alive()

    def end(self) -> bool:
        """Kill its JVM: whatever runs on it meets its end as an error. False if it is not ours."""
        jvm = self._session.jvm
        if jvm is None or not jvm.alive():
            return False
        jvm.kill()
        return True

    def hand_out(self) -> None:
        """Somebody has a DataFrame of it, and with that may change its views and settings."""
        self._handed_out = True

    def _show(self, views: Mapping[str, View]) -> None:
        for name in self._shown.keys() - views.keys():
            # To drop, unlike to create, takes the name as it is.
            self._spark.catalog.dropTempView(name)
            del self._shown[name]
        for name, view in views.items():
            if self._shown.get(name) == view.version:
                continue
            # Through Spark's own parser the name would need quotes, which it then keeps.
            self._frame(name, view).createOrReplaceTempView(_quoted(name))
            self._shown[name] = view.version

    def _frame(self, name: str, view: View) -> DataFrame:
        return self._frames.get(
            (name, view.version),
            lambda: tables.read(self._session, view.scans, view.schema, self._spark),
        )


def columns(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]


def to_arrow(frame: DataFrame, limit: int | None = None, group: str = "") -> pa.Table:
    """All rows. Under the name of a `group` it can be cancelled from another thread."""
    context = frame.sparkSession.sparkContext
    if group:
        context.setJobGroup(group, "A query", interruptOnCancel=False)
    try:
        return (frame if limit is None else frame.limit(limit)).toArrow()
    finally:
        if group:
            for name in ("spark.jobGroup.id", "spark.job.description"):
                context.setLocalProperty(name, None)  # type: ignore[arg-type]


def cancel(frame: DataFrame, group: str) -> None:
    frame.sparkSession.sparkContext.cancelJobGroup(group)


def errors() -> tuple[type[BaseException], ...]:
    """What a query may end in: Spark's own errors, and those of the bridge to its JVM."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, ConnectionError


def is_gone(error: BaseException) -> bool:
    """Whether nothing is at the other end of the bridge any more."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, ConnectionError | Py4JNetworkError)


def is_analysis(error: BaseException) -> bool:
    """Whether the text of the query is at fault."""
    from pyspark.errors import AnalysisException, ParseException

    return isinstance(error, AnalysisException | ParseException)


def place(error: PySparkException) -> tuple[int, int] | None:
    """Where in the text it is: first and last character, if Spark says so."""
    # A context of a DataFrame has no place in a text.
    with BestEffort("Asking where an error is"):
        for context in error.getQueryContext():
            start, stop = int(context.startIndex()), int(context.stopIndex())
            if stop >= start >= 0:
                return start, stop
    return None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
