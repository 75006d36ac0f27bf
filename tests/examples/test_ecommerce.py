"""The online shop: what its pipelines found is what plain Python finds in the same files."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.examples.touring import EXAMPLES, Tour

# The days that each run of the tour found: a micro-batch of the stream.
DELIVERIES = [
    ["2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"],
    ["2026-03-06"],
    ["2026-03-07"],
]
DAYS = [day for delivery in DELIVERIES for day in delivery]
GAP, PATIENCE = timedelta(minutes=30), timedelta(hours=2)
FRIDAY = date(2026, 3, 6)

Row = dict[str, Any]


@pytest.fixture(scope="module")
def incoming(lake: tl.Lake, place: Path) -> Path:
    """What the tour's generator wrote."""
    return place / "incoming"


def rows(lake: tl.Lake, query: str) -> list[Row]:
    found = lake.sql(query)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows()]


# What there is, in plain Python ---------------------------------------------------------------


@pytest.fixture(scope="module")
def clicks(incoming: Path) -> list[list[Row]]:
    """The lines that are whole, by delivery."""
    return [
        [click for day in delivery for click in _read_clicks(incoming, day)]
        for delivery in DELIVERIES
    ]


def _read_clicks(incoming: Path, day: str) -> Iterator[Row]:
    for file in sorted((incoming / "clicks").glob(f"{day}-*.jsonl")):
        for line in file.read_text().splitlines():
            try:
                click = json.loads(line)
            except ValueError:
                continue
            yield {**click, "ts": datetime.fromisoformat(click["ts"])}


@pytest.fixture(scope="module")
def in_time(clicks: list[list[Row]]) -> tuple[list[Row], list[Row], datetime]:
    """Each click once, without those behind the watermark; those; and the last watermark."""
    watermark = datetime.min.replace(tzinfo=UTC)
    seen, good, late = set[str](), list[Row](), list[Row]()
    for delivery in clicks:
        for click in delivery:
            if click["ts"] < watermark:
                late.append(click)
            elif click["event_id"] not in seen:
                seen.add(click["event_id"])
                good.append(click)
        watermark = max(watermark, max(click["ts"] for click in delivery) - PATIENCE)
    return good, late, watermark


@pytest.fixture(scope="module")
def visits(in_time: tuple[list[Row], list[Row], datetime]) -> list[Row]:
    """Clicks of one visitor without a pause of half an hour, if that was over at the end."""
    good, _, watermark = in_time
    by_visitor = defaultdict[tuple[str, str, str], list[Row]](list)
    for click in good:
        by_visitor[click["visitor"], click["device"], click["campaign"]].append(click)
    found = []
    for (visitor, device, campaign), made in by_visitor.items():
        made.sort(key=lambda click: click["ts"])
        starts = [n for n, c in enumerate(made) if n == 0 or c["ts"] - made[n - 1]["ts"] >= GAP]
        for first, after in zip(starts, [*starts[1:], len(made)], strict=True):
            steps = Counter(click["step"] for click in made[first:after])
            start, end = made[first]["ts"], made[after - 1]["ts"] + GAP
            if end <= watermark:
                found.append({
                    "visitor": visitor, "device": device, "campaign": campaign,
                    "start": start, "end": end,
                    **{f"{step}s": steps[step] for step in ("view", "cart", "checkout", "pay")},
                })  # fmt: skip
    return found


@pytest.fixture(scope="module")
def orders(incoming: Path) -> list[Row]:
    found = []
    for day in DAYS:
        rates = {r["currency"]: Decimal(r["euros"]) for r in _csv(incoming / "rates", day)}
        for row in _csv(incoming / "orders", day):
            price = Decimal(row["unit_price"]) * (1 - Decimal(row["discount"]))
            exact = int(row["quantity"]) * price * rates[row["currency"]]
            amount = exact.quantize(Decimal("0.01"), ROUND_HALF_UP)
            found.append({**row, "day": day, "amount": amount, "quantity": int(row["quantity"])})
    return found


def _csv(folder: Path, day: str) -> list[Row]:
    (file,) = (folder / f"day={day}").iterdir()
    with file.open() as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def good_orders(orders: list[Row], incoming: Path) -> list[Row]:
    with (incoming / "catalogue" / "items.csv").open() as lines:
        category = {row["item"]: row["category"] for row in csv.DictReader(lines)}
    return [
        {**row, "category": category[row["item"]]}
        for row in orders
        if row["quantity"] > 0 and row["item"] in category
    ]


# What the pipelines found ----------------------------------------------------------------------


def test_its_readme_is_right(tour: Tour):
    assert not tour.difference, tour.difference


def test_its_picture(tour: Tour):
    tour.assert_pictured()


def test_every_whole_click_arrived(lake: tl.Lake, clicks: list[list[Row]]):
    wanted = Counter(click["event_id"] for delivery in clicks for click in delivery)
    assert Counter(row[0] for row in lake.sql("SELECT event_id FROM clicks").rows()) == wanted
    assert max(wanted.values()) == 2  # some were sent twice
    cut = lake.sql('SELECT source FROM "clicks@main:/_malformed" ORDER BY source').rows()
    assert [row[0] for row in cut] == [f"{day}-12.jsonl" for day in DAYS]


def test_visits_have_each_click_once(lake: tl.Lake, visits: list[Row]):
    found = rows(lake, "FROM sessions")
    assert len(found) > 10_000
    assert sorted(map(_key, found)) == sorted(map(_key, visits))


def _key(visit: Row) -> tuple[Any, ...]:
    names = ("visitor", "device", "campaign", "start", "end", "views", "carts", "checkouts", "pays")
    return tuple(visit[name] for name in names)


def test_late_clicks_are_kept(lake: tl.Lake, in_time: tuple[list[Row], list[Row], datetime]):
    late = in_time[1]
    found = rows(lake, 'SELECT event_id, campaign, step FROM "sessions@main:/_late/clicks"')
    assert Counter(row["event_id"] for row in found) == Counter(row["event_id"] for row in late)
    assert {row["campaign"] for row in found if row["step"] == "pay"} == {"app"}


def test_the_funnel(lake: tl.Lake, visits: list[Row]):
    wanted = defaultdict[tuple[date, str], Counter[str]](Counter)
    for visit in visits:
        if visit["views"] < 100:
            reached = {step: visit[f"{step}s"] > 0 for step in ("cart", "checkout", "pay")}
            wanted[visit["start"].date(), visit["device"]].update({"visit": 1, **reached})
    found = {
        (row["day"], row["device"]): tuple(row[n] for n in ("visits", "carts", "checkouts", "paid"))
        for row in rows(lake, "FROM funnel")
    }
    assert found == {
        key: (n["visit"], n["cart"], n["checkout"], n["pay"]) for key, n in wanted.items()
    }
    total, paid = (sum(n[what] for n in wanted.values()) for what in ("visit", "pay"))
    assert 0.02 < paid / total < 0.04


def test_the_answer(lake: tl.Lake, visits: list[Row], clicks: list[list[Row]]):
    payments = defaultdict[tuple[str, str, str], list[datetime]](list)
    for click in (click for delivery in clicks for click in delivery):
        if click["step"] == "pay":
            payments[click["visitor"], click["device"], click["campaign"]].append(click["ts"])
    daily = defaultdict[tuple[date, str], Counter[str]](Counter)
    for v in visits:
        if v["views"] < 100:
            paid = payments[v["visitor"], v["device"], v["campaign"]]
            after_all = any(v["start"] <= at <= v["end"] for at in paid)
            counted = {"visits": 1, "paid": v["pays"] > 0, "paid_after_all": after_all}
            daily[v["start"].date(), v["campaign"]].update(counted)
    found = {(row["day"], row["campaign"]): row for row in rows(lake, "FROM conversion")}
    assert found.keys() == daily.keys()
    for (day, campaign), row in found.items():
        n = daily[day, campaign]
        assert {name: row[name] for name in n} == dict(n)
        before = [b for (other, c), b in daily.items() if c == campaign and other < day]
        if not before:
            assert (row["usual"], row["verdict"]) == (None, "as usual")
            continue
        usual = sum(b["paid_after_all"] for b in before) / sum(b["visits"] for b in before)
        spread = math.sqrt(usual * (1 - usual) / n["visits"])
        z, after = ((n[name] / n["visits"] - usual) / spread for name in ("paid", "paid_after_all"))
        assert (row["z"], row["z_after_all"]) == pytest.approx((z, after), abs=0.006)
        assert row["verdict"] == (
            "as usual" if z > -2.5 else "late data" if after > -2.5 else "fewer paid"
        )
    unusual = {key: row["verdict"] for key, row in found.items() if row["verdict"] != "as usual"}
    assert unusual == {(FRIDAY, "app"): "late data", (FRIDAY, "newsletter"): "fewer paid"}


def test_what_was_said_on_friday_can_still_be_read(lake: tl.Lake):
    found = lake.sql(
        "SELECT campaign, verdict FROM conversion AT 'main~1' WHERE verdict <> 'as usual'"
    )
    assert sorted(found.rows()) == [("app", "fewer paid"), ("newsletter", "fewer paid")]


def test_wrong_orders_are_set_aside(lake: tl.Lake, orders: list[Row], good_orders: list[Row]):
    lines = {(row["order_id"], int(row["line"])) for row in good_orders}
    assert set(lake.sql("SELECT order_id, line FROM clean_orders").rows()) == lines
    for rule, is_wrong in (
        ("one_or_more", lambda row: row["quantity"] < 1),
        ("in_catalogue", lambda row: row["item"] == "i9999"),
    ):
        aside = lake.sql(f'SELECT order_id, line FROM "clean_orders@main:/_quarantine/{rule}"')
        wanted = {(row["order_id"], int(row["line"])) for row in orders if is_wrong(row)}
        assert set(aside.rows()) == wanted
        assert len(wanted) == len(DAYS)


def test_revenue(lake: tl.Lake, good_orders: list[Row]):
    wanted = defaultdict[tuple[str, str, str], Decimal](Decimal)
    for row in good_orders:
        if row["state"] == "paid":
            wanted[row["day"], row["country"], row["category"]] += row["amount"]
    found = {
        (str(row["day"]), row["country"], row["category"]): row["euros"]
        for row in rows(lake, "FROM revenue")
    }
    assert found == wanted


def test_each_day_was_computed_once(lake: tl.Lake):
    for name in ("clean_orders", "revenue", "picking", "page"):
        ran = [job.counts.processed for job in lake.jobs(pipeline=name)]
        assert ran[::-1] == [4, 1, 1], name


def test_what_is_bought_together(lake: tl.Lake, good_orders: list[Row]):
    baskets = defaultdict[str, set[str]](set)
    for row in good_orders:
        baskets[row["order_id"]].add(row["item"])
    sold = Counter(item for basket in baskets.values() for item in basket)
    pairs = Counter(pair for basket in baskets.values() for pair in permutations(basket, 2))
    wanted = defaultdict[str, list[tuple[float, int, str]]](list)
    for (item, other), together in pairs.items():
        lift = round(together * len(baskets) / (sold[item] * sold[other]), 3)
        if together >= 3 and lift > 1:
            wanted[item].append((-lift, -together, other))
    found = defaultdict[str, list[tuple[float, int, str]]](list)
    for row in rows(lake, "FROM recommendations ORDER BY item, place"):
        found[row["item"]].append((-row["lift"], -row["together"], row["other"]))
    assert found == {item: sorted(some)[:5] for item, some in wanted.items()}
    # Baskets were filled with what goes with it: the item eight further on.
    best = {item: some[0][2] for item, some in found.items()}
    assert (best["i0000"], best["i0001"]) == ("i0008", "i0009")


def test_the_warehouse_and_the_pages(lake: tl.Lake, orders: list[Row]):
    wanted = Counter[tuple[str, str]]()
    for row in orders:
        if row["state"] == "paid" and row["quantity"] > 0:
            wanted[row["day"], row["item"]] += row["quantity"]
    found = rows(lake, "FROM picking")
    assert {(str(row["day"]), row["item"]): row["pieces"] for row in found} == wanted
    for day, euros in lake.sql("SELECT day, sum(euros) FROM revenue GROUP BY day").rows():
        page = lake.read(f"page@main:/day={day}/index.html").decode()
        assert f"<h1>Revenue, {day}: {euros:,.2f} €</h1>" in page


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path):
    def written(name: str, *options: str) -> dict[str, bytes]:
        script = str(EXAMPLES / "ecommerce" / "shop.py")
        command = [sys.executable, script, "2026-03-06", str(tmp_path / name), *options]
        subprocess.run(command, check=True, capture_output=True)
        files = (file for file in (tmp_path / name).rglob("*") if file.is_file())
        return {str(file.relative_to(tmp_path / name)): file.read_bytes() for file in files}

    first = written("one")
    assert len(first) == 7
    assert written("two") == first
    other = written("three", "--seed", "2")
    assert other.keys() == first.keys()
    assert all(other[name] != data for name, data in first.items())
