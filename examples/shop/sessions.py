"""Visits: what each visitor did, until there was no click for five minutes."""

from pyspark.sql import functions as f

import trunkline as tl


@tl.stream(input=tl.pfs("clicks", watermark=("ts", "1m")), interval="1s")
def sessions(clicks):
    visit = f.session_window("ts", "5 minutes").alias("visit")
    bought = f.count_if(f.col("event") == "purchase").alias("bought")
    found = clicks.groupBy("shop", "visitor", visit).agg(f.count("*").alias("clicks"), bought)
    return found.select("shop", "visitor", "visit.start", "visit.end", "clicks", "bought")
