"""Two days of a trading floor as files: the same bytes for the same seed and scale, every time.

    python market.py incoming

writes, as they would arrive:

    incoming/reference/…            instruments, currencies, desks with their limits
    incoming/morning/trades/…       executions of yesterday, and of today until noon
    incoming/morning/quotes/…       bid and ask ticks
    incoming/morning/prices/…       opening positions of each day, closing prices of yesterday
    incoming/afternoon/…            what is traded and quoted today after noon
    incoming/restated/prices/…      yesterday's closing prices, corrected by the vendor

Executions come as they do from an order system: orders filled in parts, some cancelled or
corrected later, some sent twice, some of an instrument that nobody knows. A few were done far from
the market, and a few are wash trades: bought and sold again at once, to the same counterparty.

NumPy and the standard library. It knows nothing of Trunkline: this is what arrives from elsewhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

YESTERDAY, TODAY = "2026-03-02", "2026-03-03"
DAYS = (YESTERDAY, TODAY)
OPEN, NOON, CLOSE = 8 * 3600_000, 12 * 3600_000, 16 * 3600_000 + 1800_000  # milliseconds of the day

DESKS = ("europe flow", "us flow", "delta one", "tech")
TRADERS = tuple(f"{desk[:2].upper()}{number}" for desk in DESKS for number in (1, 2, 3))
CURRENCIES = {"EUR": 1_000_000, "USD": 923_400, "GBP": 1_187_250, "CHF": 1_041_100}  # millionths
COUNTERPARTIES = tuple(f"CP{number:03}" for number in range(1, 41))
INSTRUMENTS = 40
UNKNOWN = "ZZ9999"
RESTATED = (3, 14, 28)  # numbers of the instruments whose closing price was wrong
FARTHEST = 4_000  # quotes before the open are none of our business

Columns = dict[str, np.ndarray[Any, Any]]


@dataclass
class Seeded:
    """What was hidden in the data on purpose, by execution: what a good alert must find."""

    off_market: list[str] = field(default_factory=list)
    wash: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    corrected: list[str] = field(default_factory=list)


def write(folder: Path, scale: float = 1.0, seed: int = 7) -> Seeded:
    """Write all of it below `folder`, and say what was hidden in it."""
    chance = np.random.default_rng(seed)
    base = chance.integers(1_500, 40_000, INSTRUMENTS)  # cents
    _write_reference(folder / "reference", chance)
    quantity = chance.integers(-60, 60, (len(DESKS), INSTRUMENTS)) * 100
    _write_desks(folder / "reference", quantity, base)
    hidden = Seeded()
    previous = base.copy()
    for number, day in enumerate(DAYS):
        opening = _opening_rows(quantity, previous)
        prices = folder / "morning" / "prices"
        _write(prices / "opening" / f"day={day}" / "opening.csv", OPENING, opening)
        quotes = _quotes(chance, previous, int(20_000 * scale) + 400)
        trades = _fills(chance, quotes, number, scale, hidden)
        _write_ticks(folder, day, quotes)
        _write_trades(folder, day, trades)
        closes = _last_mids(quotes)
        quantity = quantity + _net(trades)
        if day != TODAY:
            wrong = closes.copy()
            wrong[list(RESTATED)] = wrong[list(RESTATED)] * 103 // 100
            below = f"day={day}/closes.csv"
            _write(prices / "closes" / below, CLOSES, _close_rows(wrong))
            restated = folder / "restated" / "prices"
            _write(restated / "closes" / below, CLOSES, _close_rows(closes))
            below = f"day={TODAY}/opening.csv"
            _write(restated / "opening" / below, OPENING, _opening_rows(quantity, closes))
            previous = wrong
    return hidden


# Reference data -----------------------------------------------------------------------------


def instrument(number: int) -> str:
    return f"{'ABCDEFGH'[number % 8]}{'KLMNP'[number % 5]}{1000 + number}"


def currency(number: int) -> str:
    return tuple(CURRENCIES)[number % len(CURRENCIES)]


def _write_reference(folder: Path, chance: np.random.Generator) -> None:
    isins = chance.integers(10**9, 10**10, INSTRUMENTS)
    rows = (
        (instrument(n), f"XS{isins[n]}", f"Company {n + 1}", currency(n))
        for n in range(INSTRUMENTS)
    )
    _write(folder / "instruments" / "instruments.csv", "instrument,isin,name,currency", rows)
    rates = ((name, f"{rate / 1_000_000:.6f}") for name, rate in CURRENCIES.items())
    _write(folder / "currencies" / "currencies.csv", "currency,to_eur", rates)


def _write_desks(folder: Path, quantity: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> None:
    """Limits that the desks keep, but for one: delta one is over its own from the start."""
    gross = (np.abs(quantity) * base).sum(axis=1) // 100
    rows = []
    for number, desk in enumerate(DESKS):
        share = 100 if desk == "delta one" else 250
        limit = int(gross[number]) * share // 100 // 10_000 * 10_000
        rows.append((desk, f"{limit}.00", f"{max(limit // 100, 1000)}.00"))
    _write(folder / "desks" / "desks.csv", "desk,max_gross_eur,max_loss_eur", rows)


# Positions and prices -----------------------------------------------------------------------

OPENING = "desk,instrument,quantity,price"
CLOSES = "instrument,close"


def _opening_rows(quantity: np.ndarray[Any, Any], price: np.ndarray[Any, Any]) -> list[Any]:
    return [
        (desk, instrument(n), int(quantity[d, n]), _euros(int(price[n])))
        for d, desk in enumerate(DESKS)
        for n in range(INSTRUMENTS)
        if quantity[d, n]
    ]


def _close_rows(closes: np.ndarray[Any, Any]) -> list[Any]:
    return [(instrument(n), _euros(int(closes[n]))) for n in range(INSTRUMENTS)]


def _last_mids(quotes: Columns) -> np.ndarray[Any, Any]:
    """The middle of each instrument's last bid and ask, rounded down to a cent."""
    last = np.zeros(INSTRUMENTS, dtype=np.int64)
    last[quotes["instrument"]] = (quotes["bid"] + quotes["ask"]) // 2
    return last


# Quotes -------------------------------------------------------------------------------------


def _quotes(chance: np.random.Generator, start: np.ndarray[Any, Any], count: int) -> Columns:
    """Ticks in the order of their times. Each instrument has one at the open, before any trade."""
    count = max(count, 2 * INSTRUMENTS)
    number = chance.integers(0, INSTRUMENTS, count)
    number[:INSTRUMENTS] = np.arange(INSTRUMENTS)
    at = np.sort(chance.integers(OPEN + FARTHEST, CLOSE, count))
    at[:INSTRUMENTS] = OPEN + np.arange(INSTRUMENTS)
    mid = np.zeros(count, dtype=np.int64)
    for n in range(INSTRUMENTS):
        mine = np.flatnonzero(number == n)
        step = max(1.0, start[n] * 0.02 / np.sqrt(len(mine)))
        walk = np.cumsum(chance.normal(0, step, len(mine)))
        mid[mine] = np.maximum(start[n] + np.round(walk), 100)
    half = np.maximum(1, mid // 5_000)
    sizes = chance.integers(1, 50, (2, count)) * 100
    return {
        "at": at, "instrument": number, "bid": mid - half, "ask": mid + half,
        "bid_size": sizes[0], "ask_size": sizes[1],
    }  # fmt: skip


def _write_ticks(folder: Path, day: str, quotes: Columns) -> None:
    names = np.array([instrument(n) for n in range(INSTRUMENTS)])
    head = "ts,instrument,bid,ask,bid_size,ask_size"
    for part, chosen in _halves(day, quotes["at"]):
        rows = zip(
            _moments(day, quotes["at"][chosen]),
            names[quotes["instrument"][chosen]].tolist(),
            map(_euros, quotes["bid"][chosen].tolist()),
            map(_euros, quotes["ask"][chosen].tolist()),
            quotes["bid_size"][chosen].tolist(),
            quotes["ask_size"][chosen].tolist(),
            strict=True,
        )
        _write(folder / part / "quotes" / f"day={day}" / f"{part}.csv", head, rows)


# Trades -------------------------------------------------------------------------------------

TRADES = (
    "exec_id,order_id,exec_type,ref_exec_id,ts,instrument,side,quantity,price,desk,trader,"
    "counterparty"
)


@dataclass
class Fill:
    exec_id: str
    order_id: str
    at: int
    instrument: int
    side: int
    quantity: int
    price: int
    trader: int
    counterparty: int
    kind: str = "NEW"
    ref: str = ""

    @property
    def desk(self) -> int:
        return self.trader // 3


def _fills(
    chance: np.random.Generator, quotes: Columns, day: int, scale: float, hidden: Seeded
) -> list[Fill]:
    """Executions of a day, with all that goes wrong. More of them are smaller ones."""
    count, lot = int(2_000 * scale) + 100, max(1, round(20 / scale**0.5))
    at = np.sort(chance.integers(OPEN + 300_000, CLOSE - 60_000, count))
    order = np.cumsum(chance.random(count) < 0.4)  # two or three fills to an order
    orders = int(order[-1]) + 1
    number = chance.integers(0, INSTRUMENTS, orders)[order]
    side = chance.choice([-1, 1], orders)[order]
    trader = chance.integers(0, len(TRADERS), orders)[order]
    counterparty = chance.integers(0, len(COUNTERPARTIES), count)
    quantity = chance.integers(1, 60, count) * lot
    mid = _mid_at(quotes, number, at)
    price = np.maximum(mid + np.round(chance.normal(0, 0.0003, count) * mid).astype(int), 1)
    found = [
        Fill(f"E{day + 1}-{k + 1:07}", f"O{day + 1}-{order[k] + 1:06}", int(at[k]), int(number[k]),
             int(side[k]), int(quantity[k]), int(price[k]), int(trader[k]), int(counterparty[k]))
        for k in range(count)
    ]  # fmt: skip
    return sorted(_with_flaws(chance, found, day, hidden), key=lambda fill: fill.at)


def _with_flaws(
    chance: np.random.Generator, fills: list[Fill], day: int, hidden: Seeded
) -> list[Fill]:
    few = max(2, len(fills) // 400)
    picked = iter(chance.choice(len(fills), 7 * few, replace=False).tolist())
    next_id = (f"E{day + 1}-9{k:06}" for k in range(10 * few))
    added: list[Fill] = []
    for _ in range(few):
        fill = fills[next(picked)]
        fill.price = fill.price * (106 if chance.random() < 0.5 else 94) // 100
        hidden.off_market.append(fill.exec_id)
    for _ in range(few):
        fill = fills[next(picked)]
        back = Fill(**{**vars(fill), "exec_id": next(next_id), "order_id": f"W{fill.order_id}"})
        back.side, back.at = -fill.side, fill.at + int(chance.integers(5_000, 40_000))
        added.append(back)
        hidden.wash.append((fill.exec_id, back.exec_id))
    for _ in range(few):
        fill = fills[next(picked)]
        fill.instrument = INSTRUMENTS
        hidden.unknown.append(fill.exec_id)
    for _ in range(few):
        fill = fills[next(picked)]
        added.append(Fill(**vars(fill)))
        hidden.twice.append(fill.exec_id)
    for kind, said in (("CANCEL", hidden.cancelled), ("CORRECT", hidden.corrected)):
        for _ in range(few):
            fill = fills[next(picked)]
            changed = Fill(**{**vars(fill), "exec_id": next(next_id), "kind": kind})
            changed.ref = fill.exec_id
            changed.at = min(fill.at + int(chance.integers(60_000, 7_200_000)), CLOSE)
            changed.quantity = fill.quantity if kind == "CANCEL" else fill.quantity * 2
            added.append(changed)
            said.append(fill.exec_id)
    return fills + added


def _mid_at(
    quotes: Columns, number: np.ndarray[Any, Any], at: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """The middle of the last quote before each time."""
    found = np.zeros(len(at), dtype=np.int64)
    mids = (quotes["bid"] + quotes["ask"]) // 2
    for n in range(INSTRUMENTS):
        ticks = np.flatnonzero(quotes["instrument"] == n)
        mine = np.flatnonzero(number == n)
        place = np.searchsorted(quotes["at"][ticks], at[mine], side="right") - 1
        found[mine] = mids[ticks[place]]
    return found


def _net(fills: Iterable[Fill]) -> np.ndarray[Any, Any]:
    """What the day changed of each desk's positions: what counts in the end, once each."""
    final: dict[str, Fill] = {}
    for fill in fills:
        if fill.kind == "NEW":
            final.setdefault(fill.exec_id, fill)
    for fill in fills:
        if fill.kind == "CANCEL":
            final.pop(fill.ref, None)
        if fill.kind == "CORRECT":
            final[fill.ref] = fill
    net = np.zeros((len(DESKS), INSTRUMENTS), dtype=np.int64)
    for fill in final.values():
        if fill.instrument < INSTRUMENTS:
            net[fill.desk, fill.instrument] += fill.side * fill.quantity
    return net


def _write_trades(folder: Path, day: str, fills: list[Fill]) -> None:
    at = np.array([fill.at for fill in fills])
    for part, chosen in _halves(day, at):
        picked = [fills[k] for k in np.flatnonzero(chosen)]
        moments = _moments(day, at[chosen])
        rows = (
            (fill.exec_id, fill.order_id, fill.kind, fill.ref, moment,
             instrument(fill.instrument) if fill.instrument < INSTRUMENTS else UNKNOWN,
             "BUY" if fill.side > 0 else "SELL", fill.quantity, _euros(fill.price),
             DESKS[fill.desk], TRADERS[fill.trader], COUNTERPARTIES[fill.counterparty])
            for fill, moment in zip(picked, moments, strict=True)
        )  # fmt: skip
        _write(folder / part / "trades" / f"day={day}" / f"{part}.csv", TRADES, rows)


# Files --------------------------------------------------------------------------------------


def _halves(day: str, at: np.ndarray[Any, Any]) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """What arrives before noon of today, and what arrives after."""
    if day != TODAY:
        return [("morning", at >= 0)]
    return [("morning", at < NOON), ("afternoon", at >= NOON)]


def _moments(day: str, at: np.ndarray[Any, Any]) -> list[str]:
    moments = np.datetime64(day, "ms") + at.astype("timedelta64[ms]")
    return [f"{moment}Z" for moment in np.datetime_as_string(moments, unit="ms").tolist()]


def _euros(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _write(file: Path, head: str, rows: Iterable[Sequence[object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(map(str, row)) for row in rows]
    file.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write two days of a trading floor.")
    parser.add_argument("folder", type=Path, help="where to write them")
    parser.add_argument("--scale", type=float, default=1.0, help="100 is 400,000 trades")
    parser.add_argument("--seed", type=int, default=7, help="another one gives other days")
    asked = parser.parse_args()
    write(asked.folder, asked.scale, asked.seed)
    files = list(asked.folder.rglob("*.csv"))
    size = sum(file.stat().st_size for file in files) / 1e6
    print(f"{len(files)} files in {asked.folder}, {size:.1f} MB")


if __name__ == "__main__":
    main()
