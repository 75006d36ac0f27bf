"""Exports through a server: who may send what from it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import trunkline as tl
from tests.egress.worlds import there
from tests.notices.receivers import receiving
from tests.server.people import Server, a_server
from tests.serving import serving
from tests.waiting import until
from trunkline.errors import NotAllowed, NotFound, Precondition
from trunkline.model.egress import DeliveryState
from trunkline.model.jobs import RunEvent


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Server]:
    with a_server(tmp_path) as found:
        with found.lake.commit("shop/orders") as commit:
            commit.put("/a", b"1")
        yield found


def test_who_may_export(team: Server, tmp_path: Path):
    mia = team.user("mia", shop__orders="maintainer")
    rob = team.user("rob", shop__orders="reader")
    sue = team.user("sue", shop__items="admin")
    out = tmp_path / "out"
    with receiving() as receiver:
        mia.export("shop/orders", receiver.url)
        assert receiver.next().headers["x-trunkline-commit"]
        with pytest.raises(NotAllowed, match="rob may not maintain"):
            rob.export("shop/orders", receiver.url)
        with pytest.raises(NotFound, match='There is no repo "shop/orders"'):
            sue.export("shop/orders", receiver.url)
        assert receiver.came.empty()
    for target in (str(out), f"delta:{out}", f"sqlite:///{out}/a.db#t"):
        with pytest.raises(
            NotAllowed, match=r"server's machine: \w+\.(path|url) is a file"
        ) as caught:
            mia.export("shop/orders", target)
        assert caught.value.hint == "trunkline get writes to your own computer."
    assert not out.exists()
    team.as_("ada").export("shop/orders", str(out))
    assert there(out) == {"a": "1"}


def test_a_maintainer_may_apply_what_is_of_the_machine(team: Server, tmp_path: Path):
    """As code of theirs, which reaches it too; where code is confined nobody may."""
    mia = team.user("mia", shop="maintainer")
    drops = tmp_path / "drops"
    drops.mkdir()
    mia.apply({"ingest": {"name": "in", "project": "shop"}, "source": {"folder": str(drops)}})
    with pytest.raises(Precondition, match="a lake keeps its own files"):
        mia.apply({"ingest": {"name": "own", "project": "shop"},
                   "source": {"folder": str(team.lake._folder)}})  # fmt: skip


@pytest.mark.slow
def test_a_run_waits_for_what_its_jobs_send(tmp_path: Path):
    folder, out = tmp_path / "lake", tmp_path / "out"
    with tl.init(folder) as lake:
        lake.create_repo("words")
        lake.apply(
            {
                "pipeline": {"name": "loud"},
                "input": {"pfs": {"repo": "words", "glob": "/*"}},
                "transform": {"cmd": ["sh"], "stdin": ["tr a-z A-Z < $words > pfs/out/a"]},
                "egress": [
                    {"name": "there", "folder": {"path": str(out)}},
                    {"name": "nowhere", "webhook": {"url": "http://127.0.0.1:9/"}, "tries": 2,
                     "backoff": "100ms"},
                    {"name": "ledger", "sql": {"url": "sqlite:////dev/null/no.db", "table": "t",
                     "mode": "append"}, "tries": 1},
                ],
            }
        )  # fmt: skip
        with lake.commit("words@main") as commit:
            commit.put("/a", b"hello")
    events: list[RunEvent] = []
    with serving(folder, "--workers", "1") as server, tl.open(server.url) as remote:
        report = remote.run(listener=events.append)
        with remote.commit("words@main") as commit:
            commit.put("/a", b"again")
        then = remote.run(listener=events.append)
    failed, done = DeliveryState.FAILED, DeliveryState.DONE
    found = {one.target: one.state for one in report.deliveries}
    assert found == {"there": done, "nowhere": failed, "ledger": failed}
    assert report.failed == 2
    said = [event.text for event in events if event.kind == "delivery"]
    assert sorted(text.partition(": ")[0] for text in said[:3]) == [
        "loud → ledger", "loud → nowhere", "loud → there",
    ]  # fmt: skip
    # What waits for a person is not waited for: versions of the ledger go out in order.
    assert {one.target for one in then.deliveries} == {"there", "nowhere"}
    (blocked,) = [text for text in said[3:] if text.startswith("loud → ledger")]
    assert "failed and must go first" in blocked
    assert there(out) == {"a": "AGAIN"}


@pytest.mark.slow
def test_a_run_does_not_wait_for_a_paused_pipeline(tmp_path: Path):
    """Paused while what its job made is still to be sent, it sends nothing until it is resumed."""
    with tl.init(tmp_path) as lake:
        lake.create_repo("words")
        nowhere = {"url": "http://127.0.0.1:9/"}
        lake.apply(
            {
                "pipeline": {"name": "loud"},
                "input": {"pfs": {"repo": "words", "glob": "/none"}},
                "transform": {"cmd": ["true"]},
                "egress": {"webhook": nowhere, "tries": 9, "backoff": "1h"},
            }
        )
        with lake.commit("words@main") as commit:
            commit.put("/a", b"hello")
    events: list[RunEvent] = []
    with (
        serving(tmp_path, "--workers", "1") as server,
        tl.open(server.url) as remote,
        ThreadPoolExecutor() as pool,
    ):
        report = pool.submit(remote.run, listener=events.append)
        until(lambda: any(one.next_try for one in remote.deliveries()), "the first try")
        assert not report.done()
        remote.pause_pipeline("loud")
        assert report.result(60).deliveries == ()
    (said,) = [event.text for event in events if event.kind == "delivery"]
    assert said == "loud → webhook: waits: the pipeline is paused"
