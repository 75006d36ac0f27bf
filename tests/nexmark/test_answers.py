"""What Nexmark's queries are compared with is itself right: small cases worked out by hand."""

from __future__ import annotations

import datetime
import inspect

import pyarrow as pa
import pytest

from benchmarks.nexmark import pipelines
from benchmarks.nexmark.answers import answer, differences, final_watermark
from benchmarks.nexmark.generator import AUCTION, BID, PERSON, Generator, Views
from benchmarks.nexmark.queries import INPUTS, QUERIES, Sizes
from trunkline.engine.driver import load_function

pytestmark = pytest.mark.slow

SIZES = Sizes(life=1000, window=100, slide=50, gap=100, bound=100)
TEXT = dict.fromkeys(("item", "description", "email", "credit_card", "city", "extra"), "")


def at(millis: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(millis / 1000, datetime.UTC)


def bid(ts: int, auction: int, price: int = 1, bidder: int = 1):
    texts = {"channel": "", "url": "", "extra": ""}
    return {"auction": auction, "bidder": bidder, "price": price, "ts": at(ts), **texts}


def opened(ts: int, number: int, seller: int, expires: int = 0, category: int = 10):
    known = {"id": number, "seller": seller, "category": category, "ts": at(ts)}
    return {**TEXT, **known, "expires": at(expires or ts + 100), "initial_bid": 1, "reserve": 2}


def person(ts: int, number: int, state: str = "OR"):
    return {**TEXT, "id": number, "name": f"p{number}", "state": state, "ts": at(ts)}


def ask(query: str, watermark: int, persons=(), auctions=(), bids=()):
    views = Views(
        pa.Table.from_pylist(list(persons), PERSON),
        pa.Table.from_pylist(list(auctions), AUCTION),
        pa.Table.from_pylist(list(bids), BID),
    )
    found = answer(query, views, watermark, SIZES).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_q1_and_q2_give_each_bid_at_once():
    bids = [bid(1, 123, 1000), bid(2, 124, 1000)]
    assert ask("q1", 0, bids=bids) == [(123, 1, 908.0, at(1)), (124, 1, 908.0, at(2))]
    assert ask("q2", 0, bids=bids) == [(123, 1000)]


def test_q3_has_sellers_of_three_states_soon_after_they_came():
    persons = [person(1000, 1), person(1000, 2, "WA")]
    auctions = [
        opened(999, 5, seller=1),
        opened(1000, 6, seller=1),
        opened(1100, 7, seller=1),
        opened(1101, 8, seller=1),
        opened(1050, 9, seller=1, category=11),
        opened(1050, 10, seller=2),
    ]
    assert ask("q3", 0, persons, auctions) == [("p1", "", "OR", 6), ("p1", "", "OR", 7)]


def test_q4_means_what_won_in_windows_that_ended_a_life_ago():
    auctions = [opened(0, 1, 1, 90), opened(10, 2, 1, 90), opened(120, 3, 1, 190)]
    bids = [bid(90, 1, 10), bid(91, 1, 99), bid(20, 1, 4), bid(10, 2, 20), bid(130, 3, 7)]
    assert ask("q4", 1101, (), auctions, bids) == [(0, 100, 10, 15.0)]
    assert ask("q4", 1100, (), auctions, bids) == []


def test_q5_keeps_ties_in_windows_that_slide():
    bids = [bid(110, 1), bid(120, 2), bid(160, 2)]
    first, second = (50, 150), (100, 200)
    assert ask("q5", 200, bids=bids) == [(*first, 1, 1), (*first, 2, 1), (*second, 2, 2)]
    assert ask("q5", 199, bids=bids) == [(*first, 1, 1), (*first, 2, 1)]


def test_q6_goes_by_when_auctions_expire():
    auctions = [opened(n, n, 1, expires=100 - n) for n in range(12)]
    bids = [bid(20, n, price=n) for n in range(12)]
    found = {row[1]: row[3] for row in ask("q6", 1101, (), auctions, bids)}
    assert found[11] == 11.0
    assert found[2] == sum(range(2, 12)) / 10
    assert found[0] == sum(range(10)) / 10
    assert 0 not in {row[1] for row in ask("q6", 1100, (), auctions, bids)}


def test_q7_keeps_ties():
    bids = [bid(10, 1, 5), bid(99, 2, 5), bid(50, 3, 4), bid(100, 4, 9)]
    assert ask("q7", 100, bids=bids) == [(0, 100, 1, 1, 5, at(10)), (0, 100, 2, 1, 5, at(99))]


def test_q8_wants_both_in_one_window():
    persons = [person(10, 1), person(20, 2), person(110, 3)]
    auctions = [opened(90, 5, 1), opened(91, 6, 1), opened(100, 7, 2), opened(120, 8, 3)]
    assert ask("q8", 199, persons, auctions) == [(0, 100, 1, "p1", 2)]


def test_q11_ends_a_session_after_a_pause_and_not_at_it():
    bids = [bid(0, 1), bid(100, 1), bid(201, 1), bid(50, 1, bidder=2)]
    assert ask("q11", 200, bids=bids) == [(1, 0, 200, 2), (2, 50, 150, 1)]
    assert ask("q11", 301, bids=bids) == [(1, 0, 200, 2), (1, 201, 301, 1), (2, 50, 150, 1)]


def test_the_final_watermark_is_that_of_the_slowest_input():
    # Of events 0 to 99 the last person is 50, the last auction 53, the last bid 99.
    views = Generator(rate=1).views(0, 100)
    start = final_watermark("q3", views, delay=50_000)
    assert final_watermark("q4", views, delay=50_000) - start == 3_000
    assert final_watermark("q7", views, delay=50_000) - start == 49_000


def test_differences_count_rows_and_forgive_digits():
    rows = pa.table({"a": [1, 1, 2], "b": [0.1 + 0.2, 0.3, 5.0]})
    same = pa.table({"b": [5.0, 0.3, 0.3], "a": pa.array([2, 1, 1], pa.int32())})
    assert differences(rows, same) == ([], [])
    once = pa.table({"a": [1, 2], "b": [0.3, 5.0]})
    assert differences(rows, once) == ([], [(1, 0.3)])
    assert differences(once, rows) == ([(1, 0.3)], [])
    with pytest.raises(ValueError, match="columns"):
        differences(rows, rows.select(["a"]))


def test_times_are_compared_as_what_they_are():
    stamps = pa.table({"t": pa.array([1_000], pa.timestamp("us", "UTC"))})
    assert differences(stamps, pa.table({"t": [1]})) == ([], [])


@pytest.mark.parametrize("query", QUERIES)
def test_a_pipeline_takes_the_inputs_of_its_query(query, tmp_path):
    pipelines.write_code(tmp_path, SIZES)
    function = load_function(str(tmp_path), f"pipelines.py:{query}")
    assert tuple(inspect.signature(function).parameters) == INPUTS[query]
    assert function.__globals__["_sizes"]() == function.__globals__["queries"].Sizes(
        **{name: getattr(SIZES, name) for name in ("life", "window", "slide", "gap", "bound")}
    )
    assert [one["pfs"]["repo"] for one in _pfs(pipelines.spec(query))] == [*INPUTS[query]]


def _pfs(spec):
    return spec["input"].get("cross", [spec["input"]])
