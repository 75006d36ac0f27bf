"""How deliveries go: in order, tried again, given up, left out, by several at once."""

import threading
from base64 import b64encode
from pathlib import Path

import pytest

from tests.egress.worlds import DONE, FAILED, World, there
from tests.notices.receivers import Receiver
from trunkline.egress.deliverer import GONE, NEWER
from trunkline.egress.targets.folder import FolderSender
from trunkline.egress.targets.webhook import WebhookSender
from trunkline.errors import NotFound, Unavailable
from trunkline.storage.catalog import deliveries, repos


def hook(receiver: Receiver, **fields: object) -> dict[str, object]:
    return {"webhook": {"url": receiver.url}, "backoff": "1ms", **fields}


def test_what_may_pass_is_tried_again(world: World, receiver: Receiver):
    receiver.statuses = [503, 500, 429]
    done = world.send(world.commit(a="1"), hook(receiver))
    assert (done.state, done.attempt) == (DONE, 4)
    assert receiver.refused.qsize() == 3
    assert sum("tried again in" in text for text in world.told) == 3


def test_so_often_and_no_more(world: World, receiver: Receiver):
    receiver.statuses = [503] * 9
    done = world.send(world.commit(a="1"), hook(receiver, tries=3))
    assert (done.state, done.attempt) == (FAILED, 3)
    assert done.reason == f"{receiver.url} answered 503. It was tried 3 times."
    assert receiver.refused.qsize() == 3


def test_what_will_not_pass_is_tried_once(world: World, receiver: Receiver):
    receiver.statuses = [400]
    done = world.send(world.commit(a="1"), hook(receiver))
    assert (done.state, done.attempt) == (FAILED, 1)
    assert "answered 400" in done.reason


def test_nobody_there(world: World):
    done = world.send(
        world.commit(a="1"),
        {"webhook": {"url": "http://127.0.0.1:9"}, "backoff": 0, "tries": 2},
    )
    assert done.state is FAILED
    assert "http://127.0.0.1:9 does not answer" in done.reason


def test_the_newest_is_enough(world: World, receiver: Receiver):
    made = [world.commit(a=str(n)) for n in range(4)]
    for commit in made:
        world.enqueue(commit, hook(receiver))
    world.drain()
    assert world.states() == ["skipped"] * 3 + ["done"]
    assert {one.reason for one in world.listed()} == {NEWER, ""}
    assert receiver.next().headers["x-trunkline-commit"] == made[-1]
    assert receiver.came.empty()


def test_in_order_where_each_counts(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(FolderSender, "in_order", True)
    target = {"folder": {"path": str(tmp_path / "out"), "mode": "versions"}}
    made = [world.commit(a=str(n)) for n in range(3)]
    for commit in made:
        world.enqueue(commit, target)
    assert [one.commit for one in world.drain()] == made
    assert world.states() == ["done"] * 3


def test_in_order_behind_one_that_failed(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(FolderSender, "in_order", True)
    out = tmp_path / "out"
    target = {"folder": {"path": str(out)}}
    out.mkdir()
    (out / "bad").write_text("in the way")
    commits = [world.commit(bad="1"), world.commit(bad="2")]
    for commit in commits:
        world.enqueue(commit, target)
    world.drain()
    first, second = world.listed()
    assert (first.state, second.state) == (FAILED, "waiting")
    assert second.reason == f"waits: {first.commit[:12]} failed and must go first"
    assert second.is_blocked and not first.is_blocked
    world.drain()
    assert world.states() == ["failed", "waiting"]

    (out / "bad").unlink()
    with world.lake._core.database.write() as session:
        key = repos.key_of(session, world.lake._repo("report"))
        assert key is not None
        assert deliveries.retry(session, key, "folder", commits[0])
    world.drain()
    assert world.states() == ["done", "done"]
    assert there(out) == {"bad": "2"}


def test_two_at_once_send_each_version_once(world: World, receiver: Receiver):
    for n in range(5):
        world.enqueue(world.commit(a=str(n)), hook(receiver, name=f"t{n}"))
    both = [world.deliverer(), world.deliverer()]
    threads = [threading.Thread(target=one.drain, args=(threading.Event(),)) for one in both]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert world.states() == ["done"] * 5
    assert receiver.came.qsize() == 5
    assert sum(len(one.ended) for one in both) == 5


def test_a_worker_that_runs_on_sees_what_comes(world: World, receiver: Receiver):
    deliverer = world.deliverer()
    deliverer.start()
    try:
        commit = world.commit(a="1")
        world.enqueue(commit, hook(receiver))
        assert receiver.next().headers["x-trunkline-commit"] == commit
    finally:
        deliverer.stop()
    assert world.states() == ["done"]


def test_one_that_was_stopped_is_not_counted_as_tried(world: World, receiver: Receiver):
    """Held by a worker that is gone: its lease runs out, and another sends it."""
    world.enqueue(world.commit(a="1"), hook(receiver))
    core = world.lake._core
    with core.database.write() as session:
        ((row, _),) = deliveries.waiting(session)
        assert deliveries.take(session, row, "dead", 1) is not None
    (done,) = world.drain()
    assert (done.state, done.attempt) == (DONE, 2)


@pytest.mark.parametrize("where", ["send", "close"])
def test_a_bug_is_logged_with_its_place_and_without_secrets(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    receiver: Receiver,
    where: str,
):
    def broken(self: WebhookSender, *_: object) -> None:
        secret = self.berth.options["sign"]
        try:
            raise KeyError(f"user:{secret}")
        except KeyError as error:
            raise ValueError(f"inside {b64encode(secret.encode()).decode()}") from error

    monkeypatch.setattr(WebhookSender, where, broken)
    world.enqueue(world.commit(a="1"), {"webhook": {"url": receiver.url, "sign": "hook"}})
    (done,) = world.drain(secrets={"hook": "correct-horse"})
    if where == "send":
        assert (done.state, done.attempt) == (FAILED, 1)
        assert done.reason == "A bug in the target: ValueError."
    assert "in broken" in caplog.text and "ValueError: inside ***" in caplog.text
    assert "correct-horse" not in caplog.text


def test_a_bug_at_the_door_is_a_failure(world: World, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise ValueError("hush")

    monkeypatch.setattr("trunkline.egress.deliverer.open_target", broken)
    done = world.send(world.commit(a="1"), {"webhook": {"url": "http://127.0.0.1:9"}})
    assert (done.state, done.attempt) == (FAILED, 1)
    assert done.reason == "A bug in the target: ValueError."


def test_who_cannot_renew_for_too_long_stops(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The catalog is away: another may have the delivery, so the first writes nothing more."""
    out = tmp_path / "out"
    world.enqueue(world.commit(a="1"), {"folder": {"path": str(out)}})
    slow, lost = world.deliverer(), threading.Event()
    build = FolderSender._build

    def wait(self: FolderSender, *args: object) -> None:
        build(self, *args)  # type: ignore[arg-type]
        lost.set()
        assert self.berth.stop.wait(20)

    def away(*_: object) -> None:
        raise Unavailable("The catalog is away.")

    with monkeypatch.context() as patch:
        patch.setattr(FolderSender, "_build", wait)
        patch.setattr(slow, "_renew", away)
        slow._look()
        assert lost.wait(20)
        (held,) = slow._held.values()
        held.renewed -= slow._lease * 2
        with pytest.raises(Unavailable):
            slow._look()
        assert held.stop.is_set() and held.thread is not None
        held.thread.join()
    assert there(out) == {} and not (out / ".trunkline.json").exists()
    assert [(str(one.state), one.attempt) for one in world.listed()] == [("waiting", 0)]
    world.drain()
    assert there(out) == {"a": "1"}


def test_a_zombie_cannot_say_what_became_of_it(world: World):
    world.enqueue(world.commit(a="1"), {"webhook": {"url": "http://127.0.0.1:9"}})
    core = world.lake._core
    with core.database.write() as session:
        ((row, _),) = deliveries.waiting(session)
        old = deliveries.take(session, row, "a", 0)
        new = deliveries.take(session, row, "b", 60_000_000)
        assert old is not None
        assert new == old + 1
        assert not deliveries.end(session, row, old, DONE)
        assert not deliveries.renew(session, row, old, 1)
        assert deliveries.end(session, row, new, DONE)
        assert not deliveries.end(session, row, new, FAILED)
    assert world.states() == ["done"]


def test_a_missing_secret_is_said_and_a_present_one_is_not(world: World, receiver: Receiver):
    target = {"webhook": {"url": receiver.url, "token": "hook"}}
    commit = world.commit(a="1")
    done = world.send(commit, target)
    assert done.state is FAILED
    assert done.reason == (
        "The target webhook of report needs the secret hook, which is not set. "
        "trunkline secret set hook"
    )
    receiver.statuses = [400]
    done = world.send(commit, target, secrets={"hook": "hush-hush"})
    assert receiver.refused.get().headers["authorization"] == "Bearer hush-hush"
    world.send(commit, target, secrets={"hook": "hush-hush"})
    lake = Path(world.lake.location) / ".trunkline"
    kept = b"".join(path.read_bytes() for path in lake.glob("catalog.db*"))
    assert b"hook" in kept
    assert b"hush-hush" not in kept
    assert not any("hush-hush" in text for text in world.told)


def test_a_commit_that_is_gone_is_left_out(world: World, tmp_path: Path):
    target = {"folder": {"path": str(tmp_path / "out")}}
    first = world.commit(a="1")
    second = world.commit(b="2")
    world.enqueue(first, {**target, "name": "one"})
    with world.lake._core.database.write() as session:
        session.execute("UPDATE deliveries SET commit_id = :gone", {"gone": "f" * 32})
    world.enqueue(second, target)
    world.drain()
    assert [(one.state, one.reason) for one in world.listed()] == [
        ("skipped", GONE),
        ("done", ""),
    ]


def test_gc_keeps_what_waits_to_go_out(world: World, tmp_path: Path):
    world.commit(keep="0")
    waiting = world.commit(a="only here, and soon gone")
    world.enqueue(waiting, {"folder": {"path": str(tmp_path / "out")}})
    world.lake.move_branch("report@main", f"{waiting}~1")
    world.lake.gc(grace=0)
    (done,) = world.drain()
    assert done.state is DONE
    assert there(tmp_path / "out") == {"keep": "0", "a": "only here, and soon gone"}
    world.lake.gc(grace=0)
    with pytest.raises(NotFound):
        world.lake.read(f"report@{waiting}:/a")


def test_by_hand_without_a_pipeline_there_is_nothing_to_do(world: World):
    with pytest.raises(NotFound, match='There is no pipeline "report"'):
        world.lake.retry_deliveries("report")
    with pytest.raises(NotFound):
        world.lake.deliver("report")
    assert world.lake.deliveries() == []
