"""Tables compared: rows that differ, change rows, and what the columns hold."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import StreamingResponse
from starlette.responses import JSONResponse, Response

from trunkline.model.access import Permission
from trunkline.sdk.wire.arrow import stream_bytes
from trunkline.sdk.wire.tables import names_of
from trunkline.sdk.wire.values import ARROW
from trunkline.server.calls import Caller, Needs, On, Routes
from trunkline.tables.comparing.diffsql import CHANGES
from trunkline.tables.profiles.profiling import Profile

routes = Routes(tags=["tables"])

Names = Annotated[str | None, Query(description="Names with commas between, or a JSON list.")]
_BOTH = Needs(On.REFS, Permission.READ, ("old", "new"))
_ONE = Needs(On.REFS, Permission.READ, ("ref",))
_FACTS: dict[int | str, dict[str, Any]] = {
    200: {"model": dict[str, Any], "content": {ARROW: {}}, "description": "What differs."}
}


@routes.GET("/tables/diff", _BOTH, response_class=JSONResponse, responses=_FACTS)
def diff_tables(
    call: Caller,
    request: Request,
    old: str,
    new: str | None = None,
    key: Names = None,
    columns: Names = None,
    tolerance: float | None = None,
    one_sided: bool = False,
    samples: Annotated[int, Query(ge=0, le=1000)] = 20,
) -> Response:
    """Which rows differ between two tables: numbers and samples, or as Arrow all such rows."""
    found = call.lake.table_diff(
        old,
        new,
        key=names_of(key),
        columns=names_of(columns),
        tolerance=tolerance,
        one_sided=one_sided,
    )
    if ARROW not in request.headers.get("accept", ""):
        return JSONResponse(found.to_dict(samples))
    facts = found.to_dict(0)
    rows = found._connection.sql(f"FROM {CHANGES}").to_arrow_reader()
    return StreamingResponse(stream_bytes(rows, facts), media_type=ARROW)


@routes.GET("/tables/changes", _BOTH, response_class=JSONResponse, responses=_FACTS)
def table_changes(
    call: Caller,
    request: Request,
    old: str,
    new: str | None = None,
    key: Names = None,
    per_commit: bool = False,
) -> Response:
    """What to do to the old rows to get the new ones: in numbers, or as Arrow row by row."""
    found = call.lake.table_changes(old, new, key=names_of(key), per_commit=per_commit)
    if ARROW not in request.headers.get("accept", ""):
        return JSONResponse(found.to_dict())
    rows = stream_bytes(found.arrow().to_reader(), found.to_dict())
    return StreamingResponse(rows, media_type=ARROW)


@routes.GET("/tables/profile", _ONE)
def profile(call: Caller, ref: str, columns: Names = None) -> Profile:
    """What the columns of a table hold: nulls, distinct values, bounds, quantiles, histograms."""
    return call.lake.profile(ref, names_of(columns))
