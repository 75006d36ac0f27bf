"""The nine nodes of the sample lake as Dagster's assets, for its webserver to draw.

Nothing of it runs: only how soon the page is there is measured.
"""

from __future__ import annotations

from typing import Any

import dagster

READS = {
    "orders": [],
    "clicks": [],
    "clean": ["orders"],
    "revenue": ["clean"],
    "goods": ["orders"],
    "report": ["revenue", "goods"],
    "sessions": ["clicks"],
    "live_revenue": ["clicks"],
    "visits": ["sessions"],
}


def _asset(name: str, reads: list[str]) -> Any:
    @dagster.asset(name=name, deps=reads)
    def made() -> None: ...

    return made


defs = dagster.Definitions(assets=[_asset(name, reads) for name, reads in READS.items()])
