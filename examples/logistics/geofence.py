# ruff: noqa: N802, N803 - the names are those of Spark
"""Who came to which site and left it, while the trucks drive: a stream with a state for each truck.

Positions come out of order. So each truck's wait until the watermark says that nothing older will
come; then they are looked at in the order of their times. The state of a truck is what waits, and
the site it is at.
"""

import pandas as pd
from pyspark.sql import functions as f
from pyspark.sql.streaming import StatefulProcessor

import trunkline as tl

CELL = 0.02  # degrees: sites are looked for in the cell of a position only
POSITION = "ts TIMESTAMP, site STRING"
EVENT = "vehicle STRING, site STRING, event STRING, ts TIMESTAMP"


@tl.stream(
    input=tl.cross(
        tl.pfs("pings", watermark=("ts", "10m")),
        tl.pfs("plan", name="sites", glob="/sites", static=True),
    ),
    description="Each arrival at a site, and each departure",
)
def geofence_events(pings, sites):
    here = (lat_cell() == f.col("cell_lat")) & (lon_cell() == f.col("cell_lon")) & f.expr(INSIDE)
    placed = pings.join(f.broadcast(cells(sites)), here, "left").select("vehicle", "ts", "site")
    return placed.groupBy("vehicle").transformWithStateInPandas(
        Truck(), EVENT, "Append", "EventTime"
    )


# A ray from the position to the east crosses the fence an odd number of times.
INSIDE = """
    size(filter(edges, e -> (e.lat1 > lat) != (e.lat2 > lat)
      AND lon < (e.lon2 - e.lon1) * (lat - e.lat1) / (e.lat2 - e.lat1) + e.lon1)) % 2 = 1
"""


def lat_cell():
    return f.floor(f.col("lat") / CELL)


def lon_cell():
    return f.floor(f.col("lon") / CELL)


def cells(sites):
    """Each site once for each cell that its fence touches, with the fence as a list of edges."""
    corners = f.expr("transform(split(fence, ' '), c -> split(c, ',')::array<double>)")
    edges = f.expr("""
        transform(corners, (c, i) -> named_struct(
            'lat1', c[0], 'lat2', corners[(i + 1) % size(corners)][0],
            'lon1', c[1], 'lon2', corners[(i + 1) % size(corners)][1]))
    """)
    fenced = sites.withColumn("corners", corners).withColumn("edges", edges)
    lats = f.expr(f"explode(array_distinct(transform(corners, c -> floor(c[0] / {CELL}))))")
    lons = f.expr(f"explode(array_distinct(transform(corners, c -> floor(c[1] / {CELL}))))")
    return (
        fenced.withColumn("cell_lat", lats)
        .withColumn("cell_lon", lons)
        .select("site", "edges", "cell_lat", "cell_lon")
    )


class Truck(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.waiting = handle.getListState("waiting", POSITION)
        self.at = handle.getValueState("at", "site STRING")

    def handleInputRows(self, key, rows, timerValues):
        for some in rows:
            positions = some[["ts", "site"]]
            self.waiting.appendList(
                [
                    (ts.to_pydatetime(), site or None)
                    for ts, site in positions.itertuples(index=False)
                ]
            )
            self.handle.registerTimer(int(positions.ts.min().timestamp() * 1000))
        yield from ()

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        safe = timerValues.getCurrentWatermarkInMs()
        ordered = sorted(self.waiting.get(), key=lambda position: position[0])
        ready = [one for one in ordered if one[0].timestamp() * 1000 <= safe]
        later = ordered[len(ready) :]
        self.waiting.clear()
        if later:
            self.waiting.put(later)
            self.handle.registerTimer(int(later[0][0].timestamp() * 1000))
        site = self.at.get()[0] if self.at.exists() else None
        found = []
        for ts, now in ready:
            if now != site:
                found += [(key[0], site, "leave", ts)] if site else []
                found += [(key[0], now, "enter", ts)] if now else []
                site = now
        self.at.update((site,))
        if found:
            yield pd.DataFrame(found, columns=["vehicle", "site", "event", "ts"])

    def close(self):
        pass
