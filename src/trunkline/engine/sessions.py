"""SQL sessions of pipelines: one of its own for each, as views and settings must not leak.

Making one takes Spark longer than a small job does, so a pipeline's is kept for its next job.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trunkline.engine import sqlerrors
from trunkline.engine.statementparts import DENIED
from trunkline.errors import Precondition
from trunkline.model.best_effort import BestEffort
from trunkline.pipelines.sparksettings import OURS, is_foreign

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from trunkline.engine.session import Session

NO_SETTINGS: Mapping[str, str] = {}


@contextlib.contextmanager
def own_session(
    session: Session, version: str, conf: Mapping[str, str], *, judged: bool = False
) -> Iterator[SparkSession]:
    """The session of one version of a pipeline, for one call at a time; see `judged_session`."""
    version = f"{version}:{judged}:{sorted(conf.items())}"
    spark = session.spares.pop(version)
    if spark is None:
        spark = (judged_session if judged else new_session)(session, conf)
    else:
        settle(spark, conf)  # whatever the call before set in it
    # What a function finds by SparkSession.active() is this one, in this thread.
    if session.context is not None:
        jvm: Any = session.context._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    with releasing(session, spark):
        yield spark
    # After an error nobody knows what is in it.
    session.spares.put(version, spark)


@contextlib.contextmanager
def releasing(session: Session, spark: SparkSession) -> Iterator[None]:
    """Let go at the end of what was cached meanwhile in a session, and by this thread as RDDs."""
    if session.context is None:
        yield
        return
    from trunkline.engine.tables import classes

    caches = classes(session).Caches
    mark = caches.begin(spark._jsparkSession)
    try:
        yield
    finally:
        with BestEffort("Letting go of cached tables"):  # a Spark that is gone keeps nothing
            caches.release(spark._jsparkSession, mark)


def new_session(session: Session, conf: Mapping[str, str] = NO_SETTINGS) -> SparkSession:
    """A session whose settings are ours and `conf`, whoever's Spark it is in."""
    spark = session.spark.newSession()
    settle(spark, conf)
    return spark


def judged_session(session: Session, conf: Mapping[str, str] = NO_SETTINGS) -> SparkSession:
    """A new session for SQL that is judged, without the functions that no such SQL may call.

    None that was judged calls them: this is for what nobody has thought of.
    """
    spark = new_session(session, conf)
    if not session.is_connect:
        from trunkline.engine.tables import classes

        java = classes(session).Statement
        java.dropFunctions(spark._jsparkSession, " ".join(sorted(DENIED)))
    return spark


def settle(spark: SparkSession, conf: Mapping[str, str] = NO_SETTINGS) -> None:
    """Have every setting that decides results be ours, or that of `conf`."""
    for name in _told(spark):
        if is_foreign(name) and name not in OURS and name not in conf:
            spark.conf.unset(name)
    _set_all(spark, OURS)
    for name, value in conf.items():
        try:
            spark.conf.set(name, value)
        except Exception as error:
            raise Precondition(
                f"spark: {name} cannot be set for one pipeline ({sqlerrors.short(error)}).",
                hint="Set it for the whole of Spark: trunkline config set spark.conf.",
            ) from None


def _told(spark: SparkSession) -> list[str]:
    """The settings that somebody has set: for this session, or for the whole of its Spark."""
    inner: Any = getattr(spark, "_jsparkSession", None)
    if inner is None:  # Spark Connect
        return list(spark.conf.getAll)
    return str(inner.sessionState().conf().getAllConfs().keys().mkString("\n")).split("\n")


def _set_all(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """At once: one by one takes as many calls as there are."""
    inner: Any = getattr(spark, "_jsparkSession", None)
    if inner is None:
        for name, value in settings.items():
            spark.conf.set(name, value)
        return
    java: Any = spark._jvm.java  # type: ignore[union-attr]
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    properties = java.util.Properties()
    properties.load(java.io.StringReader(text))
    inner.sessionState().conf().setConf(properties)
