"""A worker is killed while it delivers: the version is at its target once, whole, and on record."""

import json
from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import process
from tests.egress.worlds import REPO, World, there
from tests.notices.receivers import receiving
from tests.reliability.scenarios import EGRESS_POINTS

KILLED = -9


def run(folder: Path, point: str = "") -> int:
    # No point of that name: it lives on.
    done = process(
        "run", "--lake", folder, TRUNKLINE_WORKER_LEASE="1s", TRUNKLINE_CRASH_AT=point or "never"
    )
    assert done.code in (0, KILLED), done.err
    return done.code


@pytest.mark.parametrize("mode", ["mirror", "versions"])
@pytest.mark.parametrize("point", EGRESS_POINTS)
def test_a_folder(point: str, mode: str, tmp_path: Path):
    out = tmp_path / "out"
    target = {"folder": {"path": str(out), "mode": mode}}
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo(REPO)
        world = World(lake)
        old = world.commit(a="1", b="2", gone="3")
        world.send(old, target)
        new = world.commit(a="one", b="two", gone=None)
        world.enqueue(new, target)

        assert run(tmp_path / "lake", point) == KILLED
        shown = out / "latest" if mode == "versions" else out
        if mode == "versions":
            # Who reads sees one version or the other.
            assert there(shown) in ({"a": "1", "b": "2", "gone": "3"}, {"a": "one", "b": "two"})
        assert run(tmp_path / "lake") == 0

        assert there(shown.resolve()) == {"a": "one", "b": "two"}
        assert world.states() == ["done", "done"]
        assert not list(out.glob(".trunkline-partial-*"))
        notes = json.loads((out / ".trunkline.json").read_text())
        assert notes["commit"] == new


@pytest.mark.parametrize("point", [one for one in EGRESS_POINTS if one != "egress.sending"])
def test_a_webhook_can_tell_that_it_was_told_before(point: str, tmp_path: Path):
    with receiving() as receiver, tl.init(tmp_path / "lake") as lake:
        lake.create_repo(REPO)
        world = World(lake)
        world.enqueue(world.commit(a="1"), {"webhook": receiver.url})
        assert run(tmp_path / "lake", point) == KILLED
        assert run(tmp_path / "lake") == 0
        assert world.states() == ["done"]
        came = [receiver.came.get() for _ in range(receiver.came.qsize())]
        assert len(came) == (2 if point == "egress.sent" else 1)
        assert len({one.headers["idempotency-key"] for one in came}) == 1
