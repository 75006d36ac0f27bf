"""What each visitor did until five minutes without a click. `trunkline pipeline apply sessions.py`."""

from pyspark.sql import functions as f

import trunkline as tl


@tl.stream(input=tl.pfs("clicks", watermark=("ts", "1m")), interval="1s")
def sessions(clicks):
    bought = f.sum((f.col("event") == "purchase").cast("int"))
    visits = clicks.groupBy("shop", "visitor", f.session_window("ts", "5 minutes").alias("visit"))
    found = visits.agg(f.count("*").alias("clicks"), bought.alias("bought"), f.sum("cents").alias("cents"))
    return found.select("shop", "visitor", "visit.start", "visit.end", "clicks", "bought", "cents")
