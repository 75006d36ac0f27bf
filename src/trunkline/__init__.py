"""Trunkline: a versioned data lake whose pipelines run when the data changes.

    import trunkline as tl

    lake = tl.open()
    with lake.commit("orders@main", message="day 1") as commit:
        commit.put("/day=2026-01-01/a.csv", b"id,amount\n1,9.50\n")

Importing this package loads nothing heavy: the interface comes when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trunkline.errors import TrunklineError

if TYPE_CHECKING:
    from trunkline.ingests.feeds.offered import Offered
    from trunkline.model.inputs import Trigger
    from trunkline.model.shape import as_json
    from trunkline.pipelines.dsl import (
        Pipeline,
        cron,
        cross,
        group,
        join,
        pfs,
        pipeline,
        to,
        union,
    )
    from trunkline.pipelines.dsl_flows import (
        api,
        database,
        delta,
        folder,
        http,
        iceberg,
        ingest,
        kafka,
        objects,
        rate,
        stream,
    )
    from trunkline.pipelines.expect import expect
    from trunkline.sdk import Diff, Lake, adopt, init, migrate, open

__version__ = "0.1.0"

__all__ = [
    "Diff",
    "Lake",
    "Offered",
    "Pipeline",
    "Trigger",
    "TrunklineError",
    "__version__",
    "adopt",
    "api",
    "as_json",
    "cron",
    "cross",
    "database",
    "delta",
    "expect",
    "folder",
    "group",
    "http",
    "iceberg",
    "ingest",
    "init",
    "join",
    "kafka",
    "migrate",
    "objects",
    "open",
    "pfs",
    "pipeline",
    "rate",
    "stream",
    "to",
    "union",
]
_DECLARING = {"Pipeline", "cron", "cross", "group", "join", "pfs", "pipeline", "to", "union"}
_FLOWING = {
    "api",
    "database",
    "delta",
    "folder",
    "http",
    "iceberg",
    "ingest",
    "kafka",
    "objects",
    "rate",
    "stream",
}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext trunkline`."""
    import_module("trunkline.notebook").load(shell)


def __getattr__(name: str) -> Any:
    if name == "Trigger":
        return import_module("trunkline.model.inputs").Trigger
    if name == "Offered":
        return import_module("trunkline.ingests.feeds.offered").Offered
    if name == "as_json":
        return import_module("trunkline.model.shape").as_json
    if name == "expect":
        return import_module("trunkline.pipelines.expect").expect
    if name in _DECLARING:
        return getattr(import_module("trunkline.pipelines.dsl"), name)
    if name in _FLOWING:
        return getattr(import_module("trunkline.pipelines.dsl_flows"), name)
    if name in __all__:
        return getattr(import_module("trunkline.sdk"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
