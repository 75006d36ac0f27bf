"""A page for each day, to send around: revenue by category as bars."""

import html
from collections import defaultdict
from decimal import Decimal

import pyarrow.parquet as pq

import trunkline as tl


@tl.pipeline(input=tl.pfs("revenue", glob="/day=*/"), description="A page of HTML for each day")
def page(datum):
    euros = defaultdict[str, Decimal](Decimal)
    files = [file for file in datum.inputs["revenue"] if file.name.endswith(".parquet")]
    for file in files:
        for row in pq.read_table(file.local, partitioning=None).to_pylist():
            euros[row["category"]] += row["euros"]
    day = files[0].path.split("/")[1]
    most = max(euros.values())
    bars = "".join(
        f"<tr><th>{html.escape(name)}<td>{amount:,.2f} €"
        f'<td><meter max="{most:.2f}" value="{amount:.2f}"></meter>\n'
        for name, amount in sorted(euros.items(), key=lambda one: (-one[1], one[0]))
    )
    title = f"Revenue, {day.removeprefix('day=')}: {sum(euros.values()):,.2f} €"
    head = f"<!doctype html><title>{title}</title>\n<h1>{title}</h1>"
    datum.write(f"{day}/index.html", f"{head}\n<table>\n{bars}</table>\n")
