"""A warm Spark session, as a worker has one: jobs that run in this process use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trunkline.engine.options import SparkOptions
from trunkline.engine.session import Session, start


@contextmanager
def warm_session() -> Iterator[Session]:
    session = start(SparkOptions())
    try:
        context = session.context
        assert context is not None
        for _ in range(3):
            context.parallelize(range(session.cores), session.cores).map(str).collect()
        yield session
    finally:
        session.stop()
