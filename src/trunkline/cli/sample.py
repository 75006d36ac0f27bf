"""Sample data: days of a small shop, the same bytes every time."""

from __future__ import annotations

import json
import random
from pathlib import Path

ORDERS = 240
CLICKS = 150_000
GOODS = ("apples", "bread", "coffee", "dates", "eggs", "flour", "grapes", "honey")
PAGES = ("/", "/search", "/cart", "/checkout", *(f"/goods/{name}" for name in GOODS))


def write_day(folder: Path, day: str) -> None:
    """One day: an order in a file each, the shops' takings, and one large file of clicks."""
    chance = random.Random(day)
    orders = folder / "orders"
    orders.mkdir(parents=True, exist_ok=True)
    takings = dict.fromkeys(("berlin", "lisbon", "osaka"), 0)
    for number in range(1, ORDERS + 1):
        shop, order = _order(chance, day, number)
        takings[shop] += int(str(order["cents"]))
        (orders / f"{number:04}.json").write_text(json.dumps(order) + "\n")
    rows = (f"{day},{shop},{cents / 100:.2f}" for shop, cents in takings.items())
    (folder / "takings.csv").write_text("day,shop,euros\n" + "\n".join(rows) + "\n")
    with open(folder / "clicks.csv", "w") as file:
        file.write("second,visitor,page\n")
        for second in sorted(chance.randrange(86_400) for _ in range(CLICKS)):
            file.write(f"{second},{chance.randrange(5_000)},{chance.choice(PAGES)}\n")


def _order(chance: random.Random, day: str, number: int) -> tuple[str, dict[str, object]]:
    shop = chance.choice(("berlin", "lisbon", "osaka"))
    goods = chance.sample(GOODS, chance.randint(1, 3))
    order = {"order": f"{day}-{number:04}", "shop": shop, "goods": goods}
    return shop, {**order, "cents": chance.randrange(250, 9_900)}
