"""Events are what their numbers say, however many are made at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.nexmark.draws import BLOCK
from benchmarks.nexmark.generator import (
    BASE,
    FIRST_MILLION,
    SCHEMAS,
    Generator,
    digest,
)

pytestmark = pytest.mark.slow

GENERATORS = st.builds(
    Generator,
    seed=st.integers(0, 2**64 - 1),
    rate=st.integers(1, 100_000),
    group=st.sampled_from([1, 2, 50, 1000, 1001]),
)


def test_the_first_million_events_never_change():
    assert digest(Generator().blocks(1_000_000)) == FIRST_MILLION


@pytest.mark.parametrize(
    "other", [Generator(seed=1), Generator(rate=5_000), Generator(group=1000)], ids=str
)
def test_the_digest_tells_other_events(other):
    assert digest(other.blocks(2_000)) != digest(Generator().blocks(2_000))


@settings(max_examples=25, deadline=None)
@given(
    GENERATORS, st.integers(0, 10 * BLOCK), st.lists(st.integers(0, 300), min_size=1, max_size=4)
)
def test_parts_of_a_range_are_the_whole(generator, start, sizes):
    ends = np.cumsum([start, *sizes])
    parts = [generator.events(a, b) for a, b in pairwise(ends)]
    assert pa.concat_tables(parts).combine_chunks() == generator.events(start, ends[-1])


@pytest.mark.parametrize("group", [50, 1000])
def test_out_of_order_are_the_same_events_block_by_block(group):
    ordered, mixed = Generator(rate=500), Generator(rate=500, group=group)
    for start in range(0, 4 * group, group):
        here = ordered.events(start, start + group)
        there = mixed.events(start, start + group)
        assert there != here
        assert there.sort_by("n").combine_chunks() == here


def test_a_group_that_would_repeat_events_is_refused():
    with pytest.raises(ValueError, match="no multiple of 953"):
        Generator(group=2 * 953)


@settings(max_examples=25, deadline=None)
@given(GENERATORS, st.integers(0, 10 * BLOCK))
def test_the_views_are_the_events_by_kind(generator, start):
    events = generator.events(start, start + 200)
    for kind, view in generator.views(start, start + 200).tables().items():
        mine = events.filter(pa.compute.equal(events["kind"], kind))
        assert view.schema == SCHEMAS[kind]
        assert mine[kind].to_pylist() == view.to_pylist()
        assert mine["ts"].to_pylist() == [row["ts"] for row in view.to_pylist()]
        assert all(events.filter(pa.compute.not_equal(events["kind"], kind))[kind].is_null())


def test_of_fifty_events_one_is_a_person_three_are_auctions():
    kinds = Generator().events(0, 100)["kind"].to_pylist()
    assert kinds == (["person"] + ["auction"] * 3 + ["bid"] * 46) * 2


def test_ids_count_up_and_times_go_by_the_rate():
    views = Generator(rate=300).views(0, 5_000)
    assert views.person["id"].to_pylist() == list(range(1000, 1100))
    assert views.auction["id"].to_pylist() == list(range(1000, 1300))
    # Person 7 is event 350, at 350 / 300 seconds.
    assert views.person["ts"].cast(pa.int64())[7].as_py() == (BASE + 1166) * 1000


@pytest.fixture(scope="module")
def many():
    return Generator().views(0, 500_000)


def _at(table: pa.Table) -> Any:
    """How many persons had come at the time of each row: a second is 200 of them."""
    return (table["ts"].cast(pa.int64()).to_numpy() // 1000 - BASE) * 10 // 50


def test_half_the_bids_are_on_the_hot_auction_and_none_is_far_away(many):
    last = _at(many.bid) * 3 + 2
    behind = last - (many.bid["auction"].to_numpy() - 1000)
    # Times are of milliseconds, each of ten events, which one new round of auctions may be in.
    assert -13 <= behind.min() < -8
    assert 98 < behind.max() <= 100
    hot = many.bid["auction"].to_numpy() % 100 == 0
    assert 0.5 < hot.mean() < 0.51


def test_three_of_four_bidders_and_sellers_are_hot(many):
    for who, place in ((many.bid["bidder"], 1), (many.auction["seller"], 0)):
        assert 0.75 < (who.to_numpy() % 100 == place).mean() < 0.76
    newest = _at(many.bid)[100_000:] - (many.bid["bidder"].to_numpy()[100_000:] - 1000)
    assert -11 <= newest.min() < -8
    assert 990 < newest.max() < 1000


def test_prices_are_spread_evenly_over_six_powers_of_ten(many):
    price = many.bid["price"].to_numpy()
    assert price.min() >= 100 and price.max() <= 100_000_000
    powers = np.histogram(np.log10(price), bins=6, range=(2, 8))[0] / len(price)
    assert np.abs(powers - 1 / 6).max() < 0.003
    assert (
        many.auction["reserve"].to_numpy() >= many.auction["initial_bid"].to_numpy() + 100
    ).all()


def test_auctions_live_up_to_the_longest_life(many):
    opened, expires = (many.auction[name].cast(pa.int64()).to_numpy() for name in ("ts", "expires"))
    life = (expires - opened) // 1000
    longest = Generator().longest_life
    assert (life.min(), life.max(), longest) == (1, 333, 333)
    assert abs(life.mean() - longest / 2) < 2


def test_rows_are_about_as_large_as_the_benchmark_says(many):
    sizes = {name: table.nbytes / table.num_rows for name, table in many.tables().items()}
    assert sizes == {
        "person": pytest.approx(200, rel=0.15),
        "auction": pytest.approx(500, rel=0.15),
        "bid": pytest.approx(100, rel=0.15),
    }
