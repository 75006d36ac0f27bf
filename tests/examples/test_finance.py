"""Finance: positions, profit and loss, alerts are what plain Python makes of the files."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections import defaultdict
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import trunkline as tl
from tests.examples.touring import EXAMPLES, Tour

YESTERDAY, TODAY = "2026-03-02", "2026-03-03"
Row = dict[str, str]
Key = tuple[str, str, str]


@pytest.fixture(scope="module")
def market() -> ModuleType:
    spec = importlib.util.spec_from_file_location("market", EXAMPLES / "finance" / "market.py")
    assert spec and spec.loader
    module = sys.modules["market"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hidden(market: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return market.write(tmp_path_factory.mktemp("again"))


# What plain Python makes of it -------------------------------------------------------------


class Floor:
    """The files that had arrived, read one by one."""

    def __init__(self, place: Path, *folders: str) -> None:
        self.folders = [place / "incoming" / name for name in ("reference", "morning", *folders)]

    def rows(self, table: str) -> list[tuple[str, Row]]:
        """Rows with their day. A file that came again takes the place of the one before."""
        files = {}
        for folder in self.folders:
            for file in sorted((folder / table).rglob("*.csv")):
                files[file.relative_to(folder)] = file
        found = []
        for name, file in files.items():
            day = name.parent.name.removeprefix("day=")
            found += [(day, row) for row in csv.DictReader(file.open())]
        return found

    def fills(self) -> dict[tuple[str, str], Row]:
        known = {row["instrument"] for _, row in self.rows("instruments")}
        rows = self.rows("trades")
        final = {(day, row["exec_id"]): row for day, row in rows if row["exec_type"] == "NEW"}
        for day, row in sorted(rows, key=lambda one: one[1]["ts"]):
            if row["exec_type"] == "CANCEL":
                final.pop((day, row["ref_exec_id"]), None)
            elif row["exec_type"] == "CORRECT" and (day, row["ref_exec_id"]) in final:
                old = final[day, row["ref_exec_id"]]
                final[day, row["ref_exec_id"]] = {
                    **old, "quantity": row["quantity"], "price": row["price"]
                }  # fmt: skip
        return {key: row for key, row in final.items() if row["instrument"] in known}

    def pnl(self) -> dict[Key, Decimal]:
        """In euros, by day, desk and instrument."""
        rates = {row["currency"]: Decimal(row["to_eur"]) for _, row in self.rows("currencies")}
        quoted = {row["instrument"]: row["currency"] for _, row in self.rows("instruments")}
        quantity: dict[Key, int] = defaultdict(int)
        cost: dict[Key, Decimal] = defaultdict(Decimal)
        for day, row in self.rows("prices/opening"):
            quantity[day, row["desk"], row["instrument"]] += int(row["quantity"])
            cost[day, row["desk"], row["instrument"]] += int(row["quantity"]) * Decimal(
                row["price"]
            )
        for (day, _), row in self.fills().items():
            signed = int(row["quantity"]) * (1 if row["side"] == "BUY" else -1)
            quantity[day, row["desk"], row["instrument"]] += signed
            cost[day, row["desk"], row["instrument"]] += signed * Decimal(row["price"])
        marks = {}
        for day, row in sorted(self.rows("quotes"), key=lambda one: one[1]["ts"]):
            marks[day, row["instrument"]] = (Decimal(row["bid"]) + Decimal(row["ask"])) / 2
        for day, row in self.rows("prices/closes"):
            marks[day, row["instrument"]] = Decimal(row["close"])
        return {
            (day, desk, name): cents(
                (quantity[day, desk, name] * marks[day, name] - cost[day, desk, name])
                * rates[quoted[name]]
            )
            for day, desk, name in quantity
        }


def cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def pnl(lake: tl.Lake, at: str) -> dict[Key, Decimal]:
    rows = lake.sql(f"SELECT day, desk, instrument, pnl_eur FROM pnl AT '{at}'").rows()
    return {(str(day), desk, name): found for day, desk, name, found in rows}


# Tests -------------------------------------------------------------------------------------


def test_its_readme_is_right(tour: Tour):
    assert not tour.difference, tour.difference


def test_its_picture(tour: Tour):
    tour.assert_pictured()


def test_what_we_knew_at_noon_can_be_asked_in_the_evening(lake: tl.Lake, place: Path):
    expected = Floor(place).pnl()
    assert len(expected) > 300
    assert pnl(lake, "noon") == expected


def test_profit_and_loss_of_the_evening(lake: tl.Lake, place: Path):
    assert pnl(lake, "main") == Floor(place, "restated", "afternoon").pnl()


def test_restated_prices_move_a_loss_from_one_day_to_the_other(lake: tl.Lake, place: Path):
    restated = lake.commits("pnl@main")[-2].id  # the commit after the one that noon is
    before, after = Floor(place).pnl(), pnl(lake, restated)
    assert after == Floor(place, "restated").pnl()
    changed = {key for key in before if before[key] != after[key]}
    assert len({name for _, _, name in changed}) == 3
    for _, desk, name in changed:
        was, now = (YESTERDAY, desk, name), (TODAY, desk, name)
        moved = (after[was] - before[was]) + (after[now] - before[now])
        assert abs(moved) <= Decimal("0.02")


def test_money_is_exact(lake: tl.Lake):
    types = {
        column: kind
        for name in ("fills", "marked", "positions", "pnl", "exposure")
        for column, kind, _ in lake.sql(f"DESCRIBE {name}").rows()
    }
    amounts = ("price", "bid", "ask", "mid", "slippage", "cost", "mark", "pnl", "pnl_eur")
    assert all(types[name].startswith("decimal") for name in (*amounts, "gross_eur", "net_eur"))
    assert "double" not in types.values()


def test_each_fill_has_the_last_quote_before_it(lake: tl.Lake, place: Path):
    ticks = defaultdict(list)
    for day, row in Floor(place, "afternoon").rows("quotes"):
        ticks[day, row["instrument"]].append((row["ts"], Decimal(row["bid"]), Decimal(row["ask"])))
    fills = Floor(place, "afternoon").fills()
    rows = lake.sql("SELECT day, exec_id, bid, ask FROM marked").rows()
    assert {(str(day), exec_id) for day, exec_id, _, _ in rows} == set(fills)
    for day, exec_id, bid, ask in rows:
        fill = fills[str(day), exec_id]
        last = max(tick for tick in ticks[str(day), fill["instrument"]] if tick[0] <= fill["ts"])
        assert (bid, ask) == last[1:], exec_id


def test_what_was_hidden_is_found(lake: tl.Lake, hidden: Any):
    rows = lake.sql("SELECT kind, exec_id, other FROM alerts").rows()
    assert {one for kind, one, _ in rows if kind == "off market"} == set(hidden.off_market)
    pairs = {frozenset(pair) for kind, *pair in rows if kind == "wash trade"}
    assert pairs == {frozenset(pair) for pair in hidden.wash}


def test_flaws_of_the_feed_do_not_reach_positions(lake: tl.Lake, hidden: Any):
    fills = {name for (name,) in lake.sql("SELECT exec_id FROM fills").rows()}
    assert not fills & {*hidden.unknown, *hidden.cancelled}
    assert set(hidden.twice) <= fills
    aside = lake.table("fills@main:/_quarantine/known_instrument").arrow().to_pylist()
    assert {row["exec_id"] for row in aside} == set(hidden.unknown)


def test_limits_warn(lake: tl.Lake, place: Path):
    over = lake.sql("SELECT DISTINCT desk FROM exposure WHERE over_gross").rows()
    assert ("delta one",) in over
    limits = {row["desk"]: Decimal(row["max_gross_eur"]) for _, row in Floor(place).rows("desks")}
    for desk, gross, is_over in lake.sql("SELECT desk, gross_eur, over_gross FROM exposure").rows():
        assert is_over == (gross > limits[desk])
    (check,) = lake.checks("exposure")
    broken = lake.sql("SELECT count(*) FROM exposure WHERE over_gross OR over_loss").rows()
    assert (check.result.state, check.result.broken) == ("warned", broken[0][0])


def test_the_note_of_a_day(lake: tl.Lake):
    found = lake.read(f"note@main:/{TODAY}.txt").decode()
    (count,) = lake.sql(f"SELECT count(*) FROM alerts WHERE day = '{TODAY}'").rows()[0]
    assert found.startswith(f"{TODAY}: {count} alerts\n")
    assert len(found.splitlines()) == count + 1


def test_the_same_seed_is_the_same_floor(market: ModuleType, tmp_path: Path):
    for name, seed in (("one", 7), ("two", 7), ("other", 8)):
        market.write(tmp_path / name, scale=0.1, seed=seed)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert content(tmp_path / "one").keys() == content(tmp_path / "other").keys()
    assert content(tmp_path / "one") != content(tmp_path / "other")
    assert date.fromisoformat(market.TODAY) > date.fromisoformat(market.YESTERDAY)


def content(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}
