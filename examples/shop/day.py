"""A day of a small shop, as files: the same bytes for the same day, every time.

    python day.py 2026-01-01 incoming

writes

    incoming/day=2026-01-01/orders/0001.json …   one small file per order
    incoming/day=2026-01-01/sales.csv            what each shop sold
    incoming/day=2026-01-01/clicks.csv           one larger file

and with --table instead

    incoming/day=2026-01-01/orders.csv           the same orders as rows

A day does not always come as it should: --flaw negative gives one order an amount below zero,
--flaw twice has every row twice.

Standard library only. It knows nothing of Trunkline: this is what arrives from elsewhere.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
from pathlib import Path
from typing import Any

SHOPS = ("berlin", "lisbon", "osaka")
GOODS = {"apples": 320, "bread": 410, "coffee": 890, "dates": 560, "eggs": 380, "honey": 720}
PAGES = ("/", "/search", "/cart", "/checkout", *(f"/goods/{name}" for name in GOODS))


def write_day(folder: Path, day: datetime.date, orders: int = 120, clicks: int = 60_000) -> Path:
    """Write one day below `folder`, and return the folder of the day."""
    chance = random.Random(f"shop {day}")
    target = folder / f"day={day}"
    (target / "orders").mkdir(parents=True, exist_ok=True)
    sold = dict.fromkeys(SHOPS, 0)
    for number in range(1, orders + 1):
        order = _order(chance, f"{day}-{number:04}")
        sold[order["shop"]] += order["cents"]
        (target / "orders" / f"{number:04}.json").write_text(json.dumps(order) + "\n")
    rows = [f"{day},{shop},{cents / 100:.2f}\n" for shop, cents in sold.items()]
    (target / "sales.csv").write_text("day,shop,euros\n" + "".join(rows))
    seconds = sorted(chance.randrange(86_400) for _ in range(clicks))
    lines = [f"{s},{chance.randrange(20_000)},{chance.choice(PAGES)}\n" for s in seconds]
    (target / "clicks.csv").write_text("second,visitor,page\n" + "".join(lines))
    return target


def write_table(folder: Path, day: datetime.date, orders: int = 120, flaw: str = "") -> Path:
    """Write the orders of one day as a table, a row for each, and return the folder of the day."""
    chance = random.Random(f"shop {day}")
    target = folder / f"day={day}"
    target.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(1, orders + 1):
        order = _order(chance, f"{day}-{number:04}")
        sign = "-" if flaw == "negative" and number == orders else ""
        euros = f"{sign}{order['cents'] / 100:.2f}"
        rows.append(f"{order['order']},{order['shop']},{' '.join(order['goods'])},{euros}\n")
    if flaw == "twice":
        rows *= 2
    (target / "orders.csv").write_text("id,shop,goods,amount\n" + "".join(rows))
    return target


def _order(chance: random.Random, name: str) -> dict[str, Any]:
    goods = chance.sample(sorted(GOODS), chance.randint(1, 3))
    return {
        "order": name,
        "shop": chance.choice(SHOPS),
        "goods": goods,
        "cents": sum(GOODS[item] * chance.randint(1, 4) for item in goods),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write one day of a small shop.")
    parser.add_argument("day", type=datetime.date.fromisoformat, help="as 2026-01-01")
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--orders", type=int, default=120, help="how many (default: 120)")
    parser.add_argument("--clicks", type=int, default=60_000, help="how many (default: 60000)")
    parser.add_argument("--table", action="store_true", help="only the orders, as one table")
    parser.add_argument("--flaw", choices=["negative", "twice"], help="what is wrong with it")
    asked = parser.parse_args()
    if asked.table:
        target = write_table(asked.folder, asked.day, asked.orders, asked.flaw)
    else:
        target = write_day(asked.folder, asked.day, asked.orders, asked.clicks)
    files = [file for file in target.rglob("*") if file.is_file()]
    print(f"{len(files)} file{'s' if len(files) > 1 else ''} in {target}")


if __name__ == "__main__":
    main()
