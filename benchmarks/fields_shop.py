"""The online shop's six days at once, at a hundred times its size, against one PySpark script.

Ours is put, applied and run by commands. The script (`peers/spark_shop.py`) computes the same
tables from the same files, without versions, rules or lineage. Both start a Spark of their own.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

from benchmarks.fields import ROOT, rows_in, watched
from benchmarks.measure import Bench, Cost, command_line, remove
from benchmarks.report import Result, times_as_long

CLAIM = "fields_shop"
SHOP = ROOT / "examples" / "ecommerce"
SPECS = ("orders.yaml", "revenue.py", "page.py", "clicks.yaml", "sessions.py", "funnel.yaml")


def run(bench: Bench) -> Iterator[Result]:
    scale = int(bench.scale) or bench.size(100, 1)
    place = bench.make_lake("shop", "rates", "catalogue", "orders")
    incoming = place / "incoming"
    days = ("2026-03-02", str(incoming), "--days", "6", "--scale", str(scale))
    bench.process(sys.executable, SHOP / "shop.py", *days)
    rows = rows_in(incoming)
    shutil.copytree(SHOP, place / "ecommerce")
    ours = Cost(0, 0)
    for repo in ("rates", "catalogue", "orders"):
        put = ("put", "-r", f"{repo}@main", str(incoming / repo))
        ours += watched(bench, *command_line(), *put, cwd=place)
    specs = [f"ecommerce/{spec}" for spec in SPECS]
    ours += watched(bench, *command_line(), "pipeline", "apply", *specs, cwd=place)
    ours += watched(bench, *command_line(), "run", cwd=place)
    script = ROOT / "benchmarks" / "peers" / "spark_shop.py"
    arguments = (str(incoming), str(SHOP / "conversion.sql"), str(bench.folder / "out"))
    theirs = watched(bench, sys.executable, str(script), *arguments)
    peer = "a PySpark script"
    what = f"the shop's six days, {rows:,} rows"
    yield times_as_long(CLAIM, what, ours, peer, theirs)
    yield Result(
        CLAIM, f"{what}, memory", f"{ours.peak / 10**6:,.0f} MB", peer,
        f"{theirs.peak / 10**6:,.0f} MB", ours.peak / theirs.peak,
    )  # fmt: skip
    remove(place)
    remove(bench.folder / "out")
