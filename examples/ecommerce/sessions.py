"""Visits: what each visitor did until there was no click for half an hour.

A click that is sent twice counts once. One that comes when its visit was written already goes to
/_late/, in the same commit.
"""

from pyspark.sql import functions as f

import trunkline as tl

STEPS = ("view", "cart", "checkout", "pay")


@tl.stream(
    input=tl.pfs("clicks", watermark=("ts", "2h")),
    description="Visits, each click once; clicks that came too late are beside them",
)
def sessions(clicks):
    once = clicks.dropDuplicatesWithinWatermark(["event_id"])
    visit = f.session_window("ts", "30 minutes").alias("visit")
    steps = [f.count_if(f.col("step") == step).alias(f"{step}s") for step in STEPS]
    found = once.groupBy("visitor", "device", "campaign", visit).agg(*steps)
    return found.select(
        "visitor", "device", "campaign", "visit.start", "visit.end",
        "views", "carts", "checkouts", "pays",
    )  # fmt: skip
