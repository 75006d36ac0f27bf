"""Days of an online shop, as they arrive from elsewhere: orders, rates, a catalogue, and clicks.

    python shop.py 2026-03-02 incoming --days 4

writes

    incoming/orders/day=2026-03-02/orders.csv    a row for each line of an order
    incoming/rates/day=2026-03-02/rates.csv      what a currency is worth in euros
    incoming/catalogue/items.csv                 items with all their prices so far
    incoming/clicks/2026-03-02-00.jsonl …        what arrived in six hours each, a line for a click

The same day and seed give the same bytes, and a visit that goes on over midnight goes on in the
next day's files. `--scale 10` has ten times the visitors.

Nothing comes quite as it should. Some clicks arrive hours late, some twice, one line is cut off,
robots look at hundreds of items. An order has an item that is in no catalogue, another a negative
quantity. And on 2026-03-06 the links of the newsletter are broken, while the payments of those
who came by app are held in a queue until the next morning.

It knows nothing of Trunkline.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

VISITS, CUSTOMERS, ITEMS, ROBOTS = 3000, 2500, 60, 4  # at scale 1, for each day
ROBOT_VIEWS = 200
OPENED = datetime.date(2026, 3, 2)  # nobody came before
INCIDENT = datetime.date(2026, 3, 6)
CATEGORIES = ("audio", "books", "coffee", "garden", "kitchen", "lamps", "toys", "travel")
# Share of visits, and how much likelier than others its visitors buy.
CAMPAIGNS = {
    "app": (0.20, 1.2), "direct": (0.25, 1.1), "newsletter": (0.20, 1.2),
    "search": (0.20, 1.0), "social": (0.10, 0.7), "affiliate": (0.05, 0.8),
}  # fmt: skip
DEVICES = {"desktop": (0.38, 1.2), "mobile": (0.55, 0.9), "tablet": (0.07, 1.0)}
COUNTRIES = {
    "DE": (0.34, "EUR"), "FR": (0.20, "EUR"), "GB": (0.18, "GBP"),
    "US": (0.15, "USD"), "PT": (0.08, "EUR"), "JP": (0.05, "JPY"),
}  # fmt: skip
RATES = {"EUR": 1.0, "GBP": 1.17, "USD": 0.92, "JPY": 0.0061}
BUSY_HOURS = (3, 2, 1, 1, 1, 2, 4, 6, 8, 9, 9, 9, 10, 9, 8, 8, 9, 10, 12, 14, 15, 13, 9, 5)
BUSY_DAYS = (1.0, 0.95, 0.95, 1.0, 1.1, 1.25, 1.3)  # Monday first
ORDER_COLUMNS = (
    "order_id line ordered_at customer country currency item quantity unit_price discount state"
)
STEPS = ("view", "cart", "checkout", "pay")
DAY_SECONDS = 86_400.0
LATE_UNTIL = 20 * 3600.0  # what happened later in the day is not on its way over midnight


@dataclass
class Clicks:
    """Columns of clicks. Times are seconds since the day began."""

    visit: np.ndarray
    number: np.ndarray
    at: np.ndarray
    arrives: np.ndarray
    step: np.ndarray
    item: np.ndarray
    customer: np.ndarray
    campaign: np.ndarray
    device: np.ndarray
    robot: np.ndarray

    def where(self, mask: np.ndarray) -> Clicks:
        return Clicks(**{one.name: getattr(self, one.name)[mask] for one in fields(self)})


class Shop:
    """One shop: its catalogue and customers follow from the seed, its days from seed and day."""

    def __init__(self, scale: int = 1, seed: int = 1) -> None:
        self.scale, self.seed = scale, seed
        chance = self.chance("shop")
        self.items = int(ITEMS * scale**0.5)
        self.customers = CUSTOMERS * scale
        self.category = np.arange(self.items) % len(CATEGORIES)
        self.price = np.round(np.exp(1.6 + 2.4 * chance.random(self.items)), 1) - 0.05
        self.companion = (np.arange(self.items) + len(CATEGORIES)) % self.items  # same category
        self.country = pick(chance.random(self.customers), [s for s, _ in COUNTRIES.values()])
        self.favourite = (chance.random(self.customers) * len(CATEGORIES)).astype(int)

    def chance(self, *about: Any) -> np.random.Generator:
        return np.random.default_rng([self.seed, *"/".join(map(str, about)).encode()])

    def prices(self, day: datetime.date) -> list[tuple[datetime.date, np.ndarray]]:
        """All prices until a day, with the first day of each: some change every third day."""
        found, now, since = [(OPENED, self.price)], self.price, OPENED
        while (since := since + datetime.timedelta(days=3)) <= day:
            chance = self.chance("prices", since)
            moved = chance.random(self.items) < 0.15
            factor = np.where(chance.random(self.items) < 0.5, 0.9, 1.1)
            now = np.where(moved, np.round(now * factor, 2), now)
            found.append((since, np.where(moved, now, np.nan)))
        return found

    def price_on(self, day: datetime.date) -> np.ndarray:
        now = self.price
        for _, changed in self.prices(day)[1:]:
            now = np.where(np.isnan(changed), now, changed)
        return now

    def rates(self, day: datetime.date) -> dict[str, float]:
        moves = self.chance("rates", day).random(len(RATES)) * 0.02 - 0.01
        return {
            name: rate if name == "EUR" else round(rate * (1 + move), 6)
            for (name, rate), move in zip(RATES.items(), moves, strict=True)
        }

    # -- clicks ------------------------------------------------------------------------------

    def begun_on(self, day: datetime.date) -> Clicks:
        """The clicks of all visits that begin on a day."""
        chance = self.chance("visits", day)
        people = int(VISITS * self.scale * BUSY_DAYS[day.weekday()])
        visits = people + ROBOTS * self.scale
        robot = np.arange(visits) >= people
        customer = (chance.random(visits) ** 1.5 * self.customers).astype(int)
        campaign = pick(chance.random(visits), [s for s, _ in CAMPAIGNS.values()])
        device = pick(chance.random(visits), [s for s, _ in DEVICES.values()])
        bought = self._furthest_step(chance, day, campaign, device)
        views = 1 + np.floor(np.log1p(-chance.random(visits)) / np.log(0.75)).astype(int)
        views, bought = np.where(robot, ROBOT_VIEWS, views), np.where(robot, 0, bought)
        length = views + bought
        visit = np.repeat(np.arange(visits), length)
        number = np.arange(len(visit)) - np.repeat(np.cumsum(length) - length, length)
        step = np.maximum(number - np.repeat(views, length) + 1, 0)
        at = self._moments(chance, visits, visit, length, robot)
        clicks = Clicks(
            visit, number, at, at, step, self._items(chance, visit, number, step, customer),
            customer[visit], campaign[visit], device[visit], robot[visit],
        )  # fmt: skip
        clicks.arrives = self._arrivals(chance, day, clicks)
        return clicks

    def _furthest_step(
        self, chance: np.random.Generator, day: datetime.date, campaign: Any, device: Any
    ) -> np.ndarray:
        """0 who only looks, 1 to the cart, 2 to the checkout, 3 who pays."""
        keen = np.array([k for _, k in CAMPAIGNS.values()])[campaign]
        keen = keen * np.array([k for _, k in DEVICES.values()])[device]
        cart, checkout, pay = (chance.random(len(keen)) for _ in range(3))
        if day == INCIDENT:
            keen = np.where(campaign == list(CAMPAIGNS).index("newsletter"), keen * 0.25, keen)
        carts = cart < 0.11 * keen
        checks = carts & (checkout < 0.55)
        return carts.astype(int) + checks + (checks & (pay < 0.55))

    def _moments(
        self, chance: np.random.Generator, visits: int, visit: Any, length: Any, robot: Any
    ) -> np.ndarray:
        hour = pick(chance.random(visits), np.array(BUSY_HOURS) / sum(BUSY_HOURS))
        start = (hour + chance.random(visits)) * 3600
        pause = np.minimum(-np.log1p(-chance.random(len(visit))) * 30, 240) + 0.5
        pause = np.where(robot[visit], 1.0 + pause / 200, pause)
        total = np.cumsum(pause)
        first = np.repeat(total[np.cumsum(length) - length], length)
        return np.round(np.repeat(start, length) + total - first, 3)

    def _items(
        self, chance: np.random.Generator, visit: Any, number: Any, step: Any, customer: Any
    ) -> np.ndarray:
        """Few items are seen by most. Half of the time people look at what they like."""
        rank = (self.items ** chance.random(len(visit))).astype(int) - 1  # as Zipf has it
        liked = self.favourite[customer[visit]]
        near = rank // len(CATEGORIES) * len(CATEGORIES) + liked
        item = np.where((chance.random(len(visit)) < 0.5) & (near < self.items), near, rank)
        # What is put into the cart and paid is what was looked at last.
        last_view = np.maximum.accumulate(np.where(step == 0, np.arange(len(visit)), 0))
        return item[last_view]

    def _arrivals(
        self, chance: np.random.Generator, day: datetime.date, clicks: Clicks
    ) -> np.ndarray:
        slow, hours = chance.random(len(clicks.at)) < 0.01, 1 + 11 * chance.random(len(clicks.at))
        delay = np.where(slow, np.round(hours * 3600), 0)
        over_midnight = (clicks.at < DAY_SECONDS) & (clicks.at + delay >= DAY_SECONDS)
        delay = np.where(over_midnight & (clicks.at >= LATE_UNTIL), 0, delay)
        if day == INCIDENT:
            by_app = clicks.campaign == list(CAMPAIGNS).index("app")
            held = by_app & (clicks.step == 3) & (clicks.at < LATE_UNTIL)
            delay = np.where(held, DAY_SECONDS + 6 * 3600 - clicks.at, delay)
        return clicks.at + delay

    def delivered_on(self, day: datetime.date) -> Iterator[tuple[datetime.date, Clicks]]:
        """What arrives on a day, by the day on which its visits began."""
        for since in _began(day):
            shift = (day - since).days * DAY_SECONDS
            clicks = self.begun_on(since)
            today = (clicks.arrives >= shift) & (clicks.arrives < shift + DAY_SECONDS)
            yield since, clicks.where(today)

    def write_clicks(self, folder: Path, day: datetime.date) -> int:
        lines: list[str] = []
        arrives: list[float] = []
        for since, clicks in self.delivered_on(day):
            lines += _lines(since, clicks)
            arrives += (clicks.arrives - (day - since).days * DAY_SECONDS).tolist()
        order = np.argsort(arrives, kind="stable")
        again = self.chance("twice", day).random(len(lines)) < 0.005
        quarter = (np.array(arrives)[order] // (DAY_SECONDS / 4)).astype(int)
        written = 0
        for part in range(4):
            here = order[quarter == part]
            found = [lines[n] for n in here]
            found += [lines[n] for n in here[again[here]]]  # sent again, a little later
            if part == 2:
                found.append(found[0][:70])
            _write(folder / f"{day}-{part * 6:02}.jsonl", found)
            written += len(found)
        return written

    # -- orders ------------------------------------------------------------------------------

    def orders(self, day: datetime.date) -> list[list[Any]]:
        """The lines of all orders that were paid on a day."""
        price, rates = self.price_on(day), self.rates(day)
        codes = list(COUNTRIES)
        rows: list[list[Any]] = []
        for since in _began(day):
            clicks = self.begun_on(since)
            shift = (day - since).days * DAY_SECONDS
            paid = clicks.where(
                (clicks.step == 3) & (clicks.at >= shift) & (clicks.at < shift + DAY_SECONDS)
            )
            chance = self.chance("orders", since)
            for n in range(len(paid.visit)):
                basket = self._basket(chance, int(paid.item[n]))
                country = codes[self.country[paid.customer[n]]]
                currency = COUNTRIES[country][1]
                discount = 0.1 if chance.random() < 0.25 else 0
                state = "returned" if chance.random() < 0.06 else "paid"
                number = f"o{since:%y%m%d}-{paid.visit[n]:06}"
                at = _moment(since, paid.at[n])
                for line, (item, quantity) in enumerate(basket, 1):
                    unit = round(float(price[item]) / rates[currency], 2)
                    rows.append(
                        [number, line, at, f"c{paid.customer[n]:06}", country, currency,
                         f"i{item:04}", quantity, f"{unit:.2f}", discount, state]
                    )  # fmt: skip
        rows.sort(key=lambda row: (row[2], row[0], row[1]))
        if len(rows) > 20:
            rows[7][7] = -rows[7][7]
            rows[15][6] = "i9999"
        return rows

    def _basket(self, chance: np.random.Generator, item: int) -> list[tuple[int, int]]:
        basket = {item: 1 + (chance.random() < 0.2)}
        if chance.random() < 0.45:
            basket.setdefault(int(self.companion[item]), 1)
        if chance.random() < 0.30:
            basket.setdefault(int(self.items ** chance.random()) - 1, 1)
        return list(basket.items())

    def write_day(self, folder: Path, day: datetime.date) -> tuple[int, int]:
        """Write all that arrives on a day; how many lines of orders, and of clicks."""
        orders = self.orders(day)
        _write_csv(folder / "orders" / f"day={day}" / "orders.csv", ORDER_COLUMNS, orders)
        _write_csv(
            folder / "rates" / f"day={day}" / "rates.csv", "currency euros", self.rates(day).items()
        )
        items = [
            [f"i{n:04}", CATEGORIES[self.category[n]], since, f"{changed[n]:.2f}"]
            for since, changed in self.prices(day)
            for n in range(self.items)
            if not np.isnan(changed[n])
        ]
        _write_csv(folder / "catalogue" / "items.csv", "item category since price", items)
        return len(orders), self.write_clicks(folder / "clicks", day)


def pick(chances: np.ndarray, shares: Any) -> np.ndarray:
    """For each chance the number of the share it falls into."""
    return np.minimum(np.searchsorted(np.cumsum(shares), chances, side="right"), len(shares) - 1)


def _began(day: datetime.date) -> list[datetime.date]:
    """The days on which a visit of this day may have begun."""
    return [since for since in (day - datetime.timedelta(days=1), day) if since >= OPENED]


def _lines(since: datetime.date, clicks: Clicks) -> list[str]:
    moments = np.datetime64(since, "ms") + (clicks.at * 1000).round().astype("timedelta64[ms]")
    campaigns, devices = list(CAMPAIGNS), list(DEVICES)
    return [
        f'{{"event_id": "{since:%y%m%d}-{visit:06}-{number:03}", "ts": "{ts}Z", '
        f'"visitor": "{"b" if robot else "c"}{customer:06}", "device": "{devices[device]}", '
        f'"campaign": "{campaigns[campaign]}", "step": "{STEPS[step]}", "item": "i{item:04}"}}'
        for ts, visit, number, robot, customer, device, campaign, step, item in zip(
            np.datetime_as_string(moments).tolist(), clicks.visit.tolist(),
            clicks.number.tolist(), clicks.robot.tolist(), clicks.customer.tolist(),
            clicks.device.tolist(), clicks.campaign.tolist(), clicks.step.tolist(),
            clicks.item.tolist(), strict=True,
        )
    ]  # fmt: skip


def _moment(since: datetime.date, seconds: float) -> str:
    start = datetime.datetime.combine(since, datetime.time(), datetime.UTC)
    at = start + datetime.timedelta(seconds=float(seconds))
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _write_csv(file: Path, head: str, rows: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(head.split())
        writer.writerows(rows)


def _write(file: Path, lines: list[str]) -> None:
    """First under another name: whoever watches the folder sees a whole file, or none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}")
    unfinished.write_text("".join(f"{line}\n" for line in lines))
    os.replace(unfinished, file)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write days of an online shop.")
    parser.add_argument("day", type=datetime.date.fromisoformat, help="as 2026-03-02")
    parser.add_argument("folder", type=Path, help="where to write them")
    parser.add_argument("--days", type=int, default=1, help="so many, from that day on")
    parser.add_argument("--scale", type=int, default=1, help="so many times the visitors")
    parser.add_argument("--seed", type=int, default=1, help="another shop (default: 1)")
    asked = parser.parse_args()
    if asked.day < OPENED:
        parser.error(f"the shop opened on {OPENED}")
    shop = Shop(asked.scale, asked.seed)
    for day in (asked.day + datetime.timedelta(days=n) for n in range(asked.days)):
        orders, clicks = shop.write_day(asked.folder, day)
        print(f"{day}: {orders:,} lines of orders, {clicks:,} clicks")


if __name__ == "__main__":
    main()
