"""What each shop earned on each day. `trunkline pipeline apply revenue.py` makes it a pipeline."""

from pyspark.sql import functions as f

import trunkline as tl


@tl.pipeline(input=tl.pfs("clean", glob="/day=*/"), partition_by=["day"])
def revenue(clean):
    euros = f.round(f.sum("amount"), 2).alias("euros")
    return clean.groupBy("day", "shop").agg(euros, f.count("*").alias("orders"))
