"""When each delivery of today arrives: the way that is left, at the speed of the last hour."""

from pyspark.sql import Window
from pyspark.sql import functions as f

import trunkline as tl

KM_LAT, KM_LON = 111.32, 67.84  # in a degree, at this latitude
DRIVES_PAST = 4  # minutes: who stays shorter has not delivered


@tl.pipeline(
    input=tl.cross(
        tl.pfs("pings", glob="/"),
        tl.pfs("stays", glob="/"),
        tl.pfs("plan", name="deliveries", glob="/deliveries"),
        tl.pfs("plan", name="sites", glob="/sites"),
    ),
    expectations=[
        tl.expect.unique("delivery", name="one_estimate_each"),
        tl.expect.not_null("arrives", name="has_an_estimate"),
    ],
    description="When each delivery came or will come, and whether that is in time",
)
def arrivals(pings, stays, deliveries, sites):
    now = pings.agg(f.max("ts").alias("now"))
    stops = with_visits(deliveries, stays, now).join(sites.select("site", "lat", "lon"), "site")
    stops = stops.join(positions(pings), "vehicle", "left").crossJoin(speeds(pings, now))
    return estimates(stops)


def with_visits(deliveries, stays, now):
    """Each delivery with the visit that made it, if there was one."""
    there = (f.coalesce("left_at", "now").cast("double") - f.col("arrived").cast("double")) / 60
    visits = stays.crossJoin(now).where(there >= DRIVES_PAST)
    visits = visits.groupBy("vehicle", "site").agg(
        f.min("arrived").alias("arrived"), f.min_by("left_at", "arrived").alias("left_at")
    )
    return deliveries.join(visits, ["vehicle", "site"], "left").crossJoin(now)


def positions(pings):
    last = f.max_by(f.struct("lat", "lon", "speed"), "ts").alias("last")
    return pings.groupBy("vehicle").agg(last)


def speeds(pings, now):
    """Kilometres per minute on each kind of road in the last hour, else today, else anywhere."""
    moving = pings.where("road != 'yard' AND speed > 3").crossJoin(now)
    recent = f.col("ts") > f.col("now") - f.expr("INTERVAL 1 HOUR")
    columns = []
    for road in ("town", "road", "motorway"):
        on_it = f.col("road") == road
        latest, today = (f.avg(f.when(found, f.col("speed"))) for found in (on_it & recent, on_it))
        columns.append((f.coalesce(latest, today, f.avg("speed")) / 60).alias(f"on_{road}"))
    return moving.agg(*columns)


def estimates(stops):
    """Add up, stop by stop: what is left of this way, then the others, with a halt at each."""
    route = Window.partitionBy("vehicle").orderBy("stop")
    so_far = route.rowsBetween(Window.unboundedPreceding, 0)
    is_open = f.col("arrived").isNull()
    is_next = is_open & (f.coalesce(f.max(f.when(~is_open, f.col("stop"))).over(
        Window.partitionBy("vehicle")), f.lit(0)) == f.col("stop") - 1)  # fmt: skip
    whole = f.col("town_km") + f.col("fast_km")
    straight = (
        f.abs(f.col("last.lat") - f.col("lat")) * KM_LAT
        + f.abs(f.col("last.lon") - f.col("lon")) * KM_LON
    )
    left = f.when(f.col("is_next"), f.least(straight, whole)).otherwise(whole)
    at_the_end = f.least("km_left", f.col("town_km") / 2)
    fast = f.least(f.col("km_left") - at_the_end, f.col("fast_km"))
    pace = f.when(f.col("road") == "motorway", f.col("on_motorway")).otherwise(f.col("on_road"))
    driving = (f.col("km_left") - fast) / f.col("on_town") + fast / pace
    waiting = f.when(
        f.col("is_next") & (f.col("last.speed") < 3) & f.lag("arrived").over(route).isNotNull(),
        f.greatest(f.lit(0), f.col("service_min") - minutes(f.lag("arrived").over(route), "now")),
    ).otherwise(0)
    halts = f.when(is_open, f.col("service_min")).otherwise(0)
    ahead = f.sum(f.when(is_open, f.col("driving") + f.col("waiting") + halts)).over(so_far) - halts
    found = (
        stops.withColumn("is_next", is_next)
        .withColumn("km_left", f.when(is_open, left))
        .withColumn("driving", driving)
        .withColumn("waiting", waiting)
        .withColumn("ahead", ahead)
        .withColumn("estimate", f.expr("timestampadd(MINUTE, int(round(ahead)), now)"))
        .withColumn("arrives", f.coalesce("arrived", "estimate"))
    )
    state = (
        f.when(f.col("left_at").isNotNull(), "delivered")
        .when(~is_open, "at the dock")
        .when(f.col("is_next"), "next")
        .otherwise("to come")
    )
    late = f.round(minutes("window_to", "arrives")).cast("int").alias("late_min")
    far = f.round("km_left", 1).alias("km_left")
    return found.select(
        "delivery",
        "vehicle",
        "stop",
        "site",
        state.alias("state"),
        far,
        "window_to",
        "arrives",
        late,
    )


def minutes(start, end):
    seconds = [(f.col(one) if isinstance(one, str) else one).cast("double") for one in (start, end)]
    return (seconds[1] - seconds[0]) / 60
