"""All of a lake's default project in Dagster, and a notice for whoever reads its report."""

import dagster as dg
from trunkline_dagster import lake_definitions

import trunkline as tl


@dg.asset(deps=[dg.AssetKey(["default", "report"])])
def notice() -> dg.MaterializeResult:
    """An asset of Dagster's own, made from one of the lake's."""
    with tl.open() as lake:
        commit = lake.commit_info("report@main").id
        rows = lake.sql(f'SELECT day, revenue FROM "report@{commit}" ORDER BY day').rows()
    return dg.MaterializeResult(metadata={"commit": commit, "days": len(rows)})


defs = dg.Definitions.merge(lake_definitions(), dg.Definitions(assets=[notice]))
