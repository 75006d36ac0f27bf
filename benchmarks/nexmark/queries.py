"""The queries of Nexmark in Structured Streaming, all of them in append mode.

Inputs come with their watermark, `ts` less four seconds: from the spec of a stream pipeline, or
by `withWatermark`. Times of windows come out as `starts` and `ends`. This file needs nothing but
PySpark, so that it can be the code of a pipeline as it is.

With W the watermark of a batch, rows come out
  q0, q1, q2  at once;
  q3          as soon as both sides are there;
  q5, q7, q8  when the window ends at W or before;
  q11         when the session, with its gap, ends at W or before;
  q4          when the window ends before W less the longest life of an auction;
  q6          when the auction expires before W less the longest life.
W is that of the slowest input, where there is more than one. The join of q4 and q6 holds its
watermark back by the longest life and a millisecond: hence "before", and not "at".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

MOST_TIES = 16
"""So many bids may be the highest of a window together; q7 fails rather than lose one."""
LAST_CLOSED = 10


@dataclass(frozen=True)
class Sizes:
    """Lengths of time in milliseconds. `life` is the longest that an auction may be open."""

    life: int
    window: int = 10_000
    slide: int = 2_000
    gap: int = 10_000
    bound: int = 10_000
    """Of q3: an auction counts if it was opened so soon after its seller registered."""


def q0(bid: DataFrame, sizes: Sizes) -> DataFrame:
    """Bids as they are: the cost of source and sink."""
    return bid


def q1(bid: DataFrame, sizes: Sizes) -> DataFrame:
    """Prices in euro."""
    return bid.select("auction", "bidder", (F.col("price") * F.lit(0.908)).alias("euro"), "ts")


def q2(bid: DataFrame, sizes: Sizes) -> DataFrame:
    """Bids on every 123rd auction."""
    return bid.where("auction % 123 = 0").select("auction", "price")


def q3(person: DataFrame, auction: DataFrame, sizes: Sizes) -> DataFrame:
    """Who of three states sells in category 10, and what; soon after they registered."""
    seller = person.where(F.col("state").isin("OR", "ID", "CA")).alias("p")
    offer = auction.where("category = 10").alias("a")
    soon = F.col("a.ts").between(F.col("p.ts"), F.col("p.ts") + _interval(sizes.bound))
    both = seller.join(offer, (F.col("a.seller") == F.col("p.id")) & soon)
    return both.select("p.name", "p.city", "p.state", F.col("a.id").alias("auction"))


def q4(auction: DataFrame, bid: DataFrame, sizes: Sizes) -> DataFrame:
    """Per category, the mean winning bid of the auctions opened in a window."""
    window = F.window("opened", _millis(sizes.window))
    won = (
        _bids_in_time(auction, bid, sizes)
        .groupBy(window, "id", "category")
        .agg(F.max("price").alias("price"))
    )
    mean = won.groupBy("window", "category").agg(F.avg("price").alias("mean"))
    return mean.select(*_bounds(), "category", "mean")


def q5(bid: DataFrame, sizes: Sizes) -> DataFrame:
    """The auctions with most bids in the last window, at every slide. Ties are kept."""
    window = F.window("ts", _millis(sizes.window), _millis(sizes.slide))
    counts = bid.groupBy(window, "auction").agg(F.count("*").alias("bids"))
    most = counts.groupBy("window").agg(
        F.max("bids").alias("most"), F.collect_list(F.struct("auction", "bids")).alias("all")
    )
    top = most.select(*_bounds(), "most", F.explode("all").alias("one")).where("one.bids = most")
    return top.select("starts", "ends", "one.auction", "one.bids")


def q6(auction: DataFrame, bid: DataFrame, sizes: Sizes) -> DataFrame:
    """Per seller, at each auction that closes, the mean price of the last ten that did."""
    won = (
        _bids_in_time(auction, bid, sizes)
        .groupBy("opened", "id", "seller", "expires")
        .agg(F.max("price").alias("price"))
    )
    # Python would have to know the zone of a timestamp, so it gets the microseconds.
    micros = F.unix_micros("expires").alias("micros")
    means = (
        won.select("seller", "id", micros, "price", "opened")
        .groupBy("seller")
        .transformWithState(
            statefulProcessor=_closing()(),
            outputStructType="seller long, auction long, micros long, mean double",
            outputMode="append",
            timeMode="eventTime",
        )
    )
    expires = F.timestamp_micros("micros").alias("expires")
    return means.select("seller", "auction", expires, "mean")


def q7(bid: DataFrame, sizes: Sizes) -> DataFrame:
    """The highest bids of each window, ties kept: as few rows of state as there are windows.

    The `MOST_TIES` highest are held; if all of them are equal there may be more, and it fails.
    """
    highest = F.max_by(F.struct("price", "auction", "bidder", "ts"), "price", MOST_TIES)
    top = bid.groupBy(F.window("ts", _millis(sizes.window))).agg(highest.alias("top"))
    equal = F.filter("top", lambda one: one.price == F.col("top")[0].price)
    checked = F.when(F.size(equal) < MOST_TIES, equal).otherwise(
        F.raise_error(F.lit(f"{MOST_TIES} bids or more are the highest of a window together"))
    )
    found = top.select(*_bounds(), F.explode(checked).alias("bid"))
    return found.select("starts", "ends", "bid.auction", "bid.bidder", "bid.price", "bid.ts")


def q8(person: DataFrame, auction: DataFrame, sizes: Sizes) -> DataFrame:
    """Who registered and opened an auction in the same window."""
    window = F.window("ts", _millis(sizes.window))
    new = person.groupBy(window, "id", "name").agg(F.count("*").alias("times")).alias("p")
    sold = auction.groupBy(window, "seller").agg(F.count("*").alias("auctions")).alias("a")
    same = (F.col("p.window") == F.col("a.window")) & (F.col("p.id") == F.col("a.seller"))
    both = new.join(sold, same)
    return both.select(*_bounds("p.window"), "p.id", "p.name", "a.auctions")


def q11(bid: DataFrame, sizes: Sizes) -> DataFrame:
    """How many bids a user makes before a pause."""
    session = F.session_window("ts", _millis(sizes.gap))
    counts = bid.groupBy(session, "bidder").agg(F.count("*").alias("bids"))
    return counts.select("bidder", *_bounds("session_window"), "bids")


QUERIES: dict[str, Callable[..., DataFrame]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q11)
}
INPUTS: dict[str, tuple[str, ...]] = {
    "q0": ("bid",),
    "q1": ("bid",),
    "q2": ("bid",),
    "q3": ("person", "auction"),
    "q4": ("auction", "bid"),
    "q5": ("bid",),
    "q6": ("auction", "bid"),
    "q7": ("bid",),
    "q8": ("person", "auction"),
    "q11": ("bid",),
}


def _bids_in_time(auction: DataFrame, bid: DataFrame, sizes: Sizes) -> DataFrame:
    """Each bid that came while its auction was open; the time of an event is when that opened.

    `expires` is no bound that Spark can clear its state by; the longest life is one.
    """
    offer = auction.select("id", "seller", "category", "expires", "ts").alias("a")
    offered = bid.select("auction", "price", "ts").alias("b")
    opened, at = F.col("a.ts"), F.col("b.ts")
    alive = at.between(opened, opened + _interval(sizes.life))
    both = offer.join(
        offered,
        (F.col("a.id") == F.col("b.auction")) & alive & (at <= F.col("a.expires")),
    )
    return both.select(
        "a.id", "a.seller", "a.category", "a.expires", opened.alias("opened"), "b.price"
    )


def _closing() -> type[Any]:
    """What q6 does for a seller. Made in a function, it reaches the workers by value.

    Auctions come by when they opened, and count by when they expire, and then by their ids. So
    each waits for the watermark to reach its end: what comes later also ends later.
    """
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Closing(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.open = handle.getMapState("open", "micros long, auction long", "price long")
            self.last = handle.getListState("last", "price long")

        def handleInputRows(  # noqa: N802
            self,
            key: Any,
            rows: Iterator[Row],
            timerValues: Any,  # noqa: N803
        ) -> Iterator[Row]:
            for row in rows:
                self.open.updateValue((row.micros, row.id), (row.price,))
                self.handle.registerTimer(row.micros // 1000)
            return iter(())

        def handleExpiredTimer(  # noqa: N802
            self,
            key: Any,
            timerValues: Any,  # noqa: N803
            expiredTimerInfo: Any,  # noqa: N803
        ) -> Iterator[Row]:
            now = expiredTimerInfo.getExpiryTimeInMs() * 1000
            closed = sorted(one for one in self.open.iterator() if one[0][0] <= now)
            last = [price for (price,) in self.last.get()]
            for (micros, auction), (price,) in closed:
                last = [*last, price][-LAST_CLOSED:]
                self.open.removeKey((micros, auction))
                mean = sum(last) / len(last)
                yield Row(seller=key[0], auction=auction, micros=micros, mean=mean)
            if closed:
                self.last.put([(price,) for price in last])

        def close(self) -> None:
            pass

    return Closing


def _bounds(window: str = "window") -> tuple[Column, Column]:
    return F.col(f"{window}.start").alias("starts"), F.col(f"{window}.end").alias("ends")


def _millis(millis: int) -> str:
    return f"{millis} milliseconds"


def _interval(millis: int) -> Column:
    return F.expr(f"INTERVAL {millis} MILLISECONDS")
