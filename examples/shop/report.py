"""The invoices of a day and its visits in, one line of figures out."""

import csv
import json
from pathlib import Path

(day,) = Path("pfs/invoices").iterdir()
invoices = [json.loads(file.read_text()) for file in day.iterdir()]
with open(f"pfs/visits/{day.name}.csv") as file:
    visitors = int(next(csv.DictReader(file))["visitors"])

euros = sum(invoice["gross"] for invoice in invoices) / 100
with open(f"pfs/out/{day.name}.csv", "w") as out:
    out.write("day,orders,euros,visitors,cents per visitor\n")
    name = day.name.removeprefix("day=")
    out.write(f"{name},{len(invoices)},{euros:.2f},{visitors},{100 * euros / visitors:.2f}\n")
