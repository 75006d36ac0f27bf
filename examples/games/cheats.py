"""Who plays like nobody can: far from all others, as the median and its deviation measure it."""

import json

import pyarrow.parquet as pq
from pyspark.sql import functions as f

import trunkline as tl

KILLS = 12  # of fewer, nobody can tell
FAR = 5.0
SIGNALS = ("headshots", "reaction", "speed")


@tl.pipeline(
    input=tl.pfs("telemetry", glob="/"),
    description="Players whose headshots, reactions or speed are not those of a person",
    expectations=[tl.expect.unique("player"), tl.expect("size(signals) > 0")],
)
def cheats(telemetry):
    players = telemetry.groupBy("player").agg(
        f.count("*").alias("kills"),
        f.avg(f.col("headshot").cast("int")).alias("headshots"),
        (-f.expr("percentile(reaction_ms, 0.5)")).alias("reaction"),
        f.expr("percentile(speed, 0.9)").alias("speed"),
    )
    judged = players.where(f.col("kills") >= KILLS)
    usual = judged.agg(*(f.expr(f"percentile({s}, 0.5)").alias(f"usual_{s}") for s in SIGNALS))
    apart = judged.crossJoin(usual)
    spreads = apart.agg(
        *(f.expr(f"percentile(abs({s} - usual_{s}), 0.5)").alias(f"spread_{s}") for s in SIGNALS)
    )
    # 1.4826 deviations of the median are one standard deviation, where all is normal.
    scored = apart.crossJoin(spreads).select(
        "player", "kills", f.round("headshots", 4).alias("headshots"),
        (-f.col("reaction")).alias("reaction_ms"), f.round("speed", 3).alias("speed"),
        *(
            f.round(f.expr(f"({s} - usual_{s}) / (1.4826 * spread_{s})"), 2).alias(f"z_{s}")
            for s in SIGNALS
        ),
    )  # fmt: skip
    named = [f.when(f.col(f"z_{s}") > FAR, f.lit(s)) for s in SIGNALS]
    found = scored.withColumn("signals", f.array_compact(f.array(*named)))
    return found.where(f.size("signals") > 0)


@tl.pipeline(input=tl.pfs("cheats", glob="/"), description="A case for each, for a person to judge")
def cases(datum):
    for file in datum.inputs["cheats"]:
        if file.name.endswith(".parquet"):
            for row in pq.read_table(file.local).to_pylist():
                datum.write(f"{row['player']}.json", json.dumps(row, indent=2) + "\n")
