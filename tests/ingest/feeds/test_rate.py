"""The loop itself, on the source that needs nothing: positions, leases and what a commit says."""

from __future__ import annotations

from functools import partial

import pytest

from tests.ingest.feeds.lakes import Ingests
from tests.waiting import until
from trunkline.errors import LeaseLost
from trunkline.ingests.committing import Hold, commit
from trunkline.ingests.feeds.base import Gathered, Records
from trunkline.model.commits import Origin
from trunkline.model.streams import FlowState
from trunkline.storage.catalog import flows


def more_than(lake: Ingests, count: int) -> bool:
    return len(lake.commits("ticks")) > count


def values(lake: Ingests, name: str = "ticks") -> list[int]:
    return [row["value"] for row in lake.rows(name, "value")]


def test_each_row_once_and_the_position_moves_with_it(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 200})
    lake.start()
    until(lambda: len(lake.commits("ticks")) >= 3)
    lake.stop()
    found = values(lake)
    assert found == list(range(len(found))) and found
    batches = lake.batches("ticks")
    assert [batch.number for batch in batches] == list(range(1, len(batches) + 1))
    assert sum(batch.rows_out for batch in batches) == len(found)
    assert [b.start for b in batches[1:]] == [b.end for b in batches[:-1]]
    newest = lake.commits("ticks")[0]
    assert newest.origin is Origin.INGEST and newest.message.startswith("ingest: ")
    flow = lake.flow("ticks")
    assert flow.position["value"] == len(found) and flow.state is FlowState.IDLE
    assert flow.facts["last"]["commit"] == newest.id


def test_another_keeper_goes_on_where_the_first_stopped(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 500})
    for _ in range(3):
        before = len(lake.commits("ticks"))
        lake.start()
        until(partial(more_than, lake, before))
        lake.stop()
    found = lake.rows("ticks", "value")
    assert [row["value"] for row in found] == list(range(len(found)))
    # When a row is due follows from its value alone.
    start = found[0]["timestamp"]
    assert all((row["timestamp"] - start).total_seconds() == row["value"] / 500 for row in found)


def test_two_keepers_never_hold_the_same_ingest(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 300})
    one, two = lake.start(), lake.start()
    until(lambda: len(lake.commits("ticks")) >= 4)
    assert len(one.holding()) + len(two.holding()) == 1
    first = one if one.holding() else two
    first.stop()
    count = len(lake.commits("ticks"))
    until(lambda: len(lake.commits("ticks")) > count + 1)
    lake.stop()
    found = values(lake)
    assert found == list(range(len(found)))


def test_what_is_gathered_under_a_lost_lease_is_not_committed(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 1000})
    keeper = lake.start()
    until(lambda: lake.commits("ticks"))
    key = lake.key("ticks")
    with lake.core.database.write() as session:
        # As if its lease had run out and another had taken it.
        session.execute("UPDATE flows SET expires = 0")
        fence = flows.take(session, key, "another", 60_000_000)
    count = len(lake.commits("ticks"))
    until(lambda: not keeper.holding())
    assert len(lake.commits("ticks")) == count
    with lake.core.database.read() as session:
        assert fence is not None and flows.holds(session, key, fence)


def test_the_fence_is_looked_at_in_the_commit_itself(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 1})
    keeper = lake.keeper()
    with lake.core.database.read() as session:
        (row,) = [r for r in _pipelines(session) if r.name.repo == "ticks"]
    held = keeper._take(row)
    assert held is not None
    site = keeper._gathering(held).site
    batch = Gathered([Records([{"n": 1}], "test")], {"n": 1})
    old = Hold(held.hold.repo, "main", held.hold.fence - 1)
    with pytest.raises(LeaseLost):
        commit(site, old, batch, {}, 1.0)
    assert lake.commits("ticks") == []
    done = commit(site, held.hold, Gathered([Records([{"n": 1}], "test")], {"n": 1}), {}, 1.0)
    assert done.rows == 1 and lake.flow("ticks").position == {"n": 1}


def _pipelines(session: object) -> list:
    from trunkline.storage.catalog import pipelines

    return pipelines.all_pipelines(session)  # type: ignore[arg-type]


def test_a_paused_ingest_is_let_go_and_taken_up_again(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 100})
    keeper = lake.start()
    until(lambda: lake.commits("ticks"))
    lake.lake.pause_pipeline("ticks")
    until(lambda: not keeper.holding())
    count = len(lake.commits("ticks"))
    assert lake.flow("ticks").holder is None
    lake.lake.resume_pipeline("ticks")
    until(lambda: len(lake.commits("ticks")) > count)


def test_nothing_is_drained_from_a_rate(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 100})
    (done,) = lake.drain()
    assert done.commits == 0 and lake.commits("ticks") == []


def test_another_pace_counts_on(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 100})
    keeper = lake.start()
    until(lambda: lake.commits("ticks"))
    lake.declare("ticks", "rate", {"rows_per_second": 1000})
    until(lambda: lake.flow("ticks").position.get("rows_per_second") == 1000)
    until(lambda: len(values(lake)) > 500)
    keeper.stop()
    found = values(lake)
    assert found == list(range(len(found)))


def test_a_million_rows_a_second_come_in_batches_of_the_limit(lake: Ingests) -> None:
    lake.declare("ticks", "rate", {"rows_per_second": 1_000_000}, rows=50_000)
    lake.start()
    until(lambda: len(lake.commits("ticks")) >= 3)
    lake.stop()
    assert max(batch.rows_out for batch in lake.batches("ticks")) == 50_000
