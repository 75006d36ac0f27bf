"""SQL sessions of pipelines: one of its own for each, as views and settings must not leak.

Making one takes Spark longer than a small job does, so a pipeline's is kept for its next job.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trunkline.engine import sqlerrors
from trunkline.errors import Precondition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from trunkline.engine.session import Session

_MOST_KEPT = 64
_lock = threading.Lock()


@contextlib.contextmanager
def own_session(session: Session, version: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """The session of one version of a pipeline, for one call at a time."""
    with _lock:
        spark = session.spares.pop(version, None)
    if spark is None:
        spark = session.spark.newSession()
        configure(spark, conf)
    # What a function finds by SparkSession.active() is this one, in this thread.
    if session.context is not None:
        jvm: Any = session.context._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    yield spark
    # After an error nobody knows what is in it.
    with _lock:
        session.spares[version] = spark
        while len(session.spares) > _MOST_KEPT:
            session.spares.pop(next(iter(session.spares)))


def configure(spark: SparkSession, conf: Mapping[str, str]) -> None:
    for name, value in conf.items():
        try:
            spark.conf.set(name, value)
        except Exception as error:
            raise Precondition(
                f"spark: {name} cannot be set for one pipeline ({sqlerrors.short(error)}).",
                hint="Set it for the whole of Spark: trunkline config set spark.conf.",
            ) from None
