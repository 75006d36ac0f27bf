"""Generators of the user's as sources."""

from __future__ import annotations

import os
from typing import Any

import psutil
import pytest

from tests.ingest.feeds.lakes import Ingests
from tests.waiting import until
from trunkline.ingests.feeds.python import PythonFeed
from trunkline.model.pipelines import Transform
from trunkline.model.streams import FlowState

IMPORT = "from trunkline.ingests.feeds.offered import Offered"
OFFERS = """
from trunkline.ingests.feeds.offered import Offered

def events(position):
    start = (position or {"next": 0})["next"]
    for n in range(start, start + 3):
        yield Offered([{"n": n}, {"n": n + 100}], {"next": n + 1})
"""


def numbers(lake: Ingests) -> list[int]:
    return sorted(row["n"] for row in lake.rows("feed"))


def declare(lake: Ingests, text: str, **fields: Any) -> None:
    lake.declare("feed", "python", {"function": "feed.py:events"}, code={"feed.py": text}, **fields)


def test_positions_are_committed_with_the_rows_and_handed_back(lake: Ingests) -> None:
    declare(lake, OFFERS)
    (done,) = lake.drain()
    assert (done.rows, done.error) == (6, "")
    assert lake.flow("feed").position == {"position": {"next": 3}}
    lake.drain()
    assert numbers(lake) == [*range(6), *range(100, 106)]


def test_who_offers_positions_is_called_again(lake: Ingests) -> None:
    declare(lake, OFFERS)
    lake.start()
    until(lambda: len(numbers(lake)) > 20)
    lake.stop()
    half = len(numbers(lake)) // 2
    assert numbers(lake) == [*range(half), *range(100, 100 + half)]


def test_everything_that_may_be_yielded(lake: Ingests) -> None:
    declare(
        lake,
        """
import pandas, pyarrow
def events():
    yield {"n": 1}
    yield [{"n": 2}, {"n": 3}]
    yield pyarrow.table({"n": [4]})
    yield pandas.DataFrame({"n": [5]})
    yield []
    yield "not a row" and [{"n": "six"}, 7]
""",
    )
    (done,) = lake.drain()
    assert (done.error, numbers(lake), done.malformed) == ("", [1, 2, 3, 4, 5], 2)
    assert lake.flow("feed").position == {"items": 6}


def test_without_positions_it_is_told_how_many_were_taken(lake: Ingests) -> None:
    declare(
        lake,
        """
def events(taken):
    for n in range(taken or 0, (taken or 0) + 2):
        yield {"n": n}
""",
    )
    lake.drain()
    lake.drain()
    assert numbers(lake) == [0, 1, 2, 3]


def test_a_generator_that_has_ended_is_not_called_again(lake: Ingests) -> None:
    declare(lake, "def events():\n    yield {'n': 1}\n")
    keeper = lake.start()
    until(lambda: lake.commits("feed"))
    until(lambda: keeper.holding())
    lake.stop()
    assert numbers(lake) == [1]


def test_none_says_that_there_is_nothing_now(lake: Ingests) -> None:
    declare(
        lake,
        """
import time
def events(taken):
    n = taken or 0
    while True:
        yield {"n": n}
        n += 1
        if n % 4 == 0:
            yield None
""",
    )
    assert lake.drain()[0].rows == 4
    assert lake.drain()[0].rows == 4
    assert numbers(lake) == list(range(8))


def test_one_that_waits_for_long_does_not_hold_its_rows_up(lake: Ingests) -> None:
    declare(
        lake,
        """
import threading
def events():
    yield {"n": 1}
    threading.Event().wait()
""",
    )
    lake.start()
    until(lambda: lake.commits("feed"))
    lake.stop()
    assert numbers(lake) == [1]


def test_one_that_fails_is_called_again_from_where_it_was(lake: Ingests) -> None:
    declare(
        lake,
        """
import pathlib
from trunkline.ingests.feeds.offered import Offered
def events(position):
    n = position or 0
    while True:
        if n == 3 and not pathlib.Path(MARK).exists():
            raise ConnectionError("the line is dead")
        yield Offered({"n": n}, n + 1)
        n += 1
        if n == 6:
            yield None
            return
MARK = "THERE"
""".replace("THERE", str(lake.folder / "mended")),
    )
    lake.start()
    until(lambda: lake.flow("feed").state is FlowState.FAILED)
    assert lake.flow("feed").reason == "feed.py:events: ConnectionError: the line is dead"
    (lake.folder / "mended").touch()
    until(lambda: len(numbers(lake)) >= 6)
    lake.stop()
    assert numbers(lake)[:6] == list(range(6))
    assert len(set(numbers(lake))) == len(numbers(lake))


@pytest.mark.parametrize(
    "text, reason",
    [
        ("def other(): pass", "feed.py:events: python function not found: 'events' in feed.py"),
        ("def events(): return 5", "feed.py:events gave int, which cannot be gone through."),
        ("1/0", "feed.py:events: ZeroDivisionError: division by zero"),
        (
            f"{IMPORT}\ndef events():\n    yield Offered({{'n': 1}}, {{1, 2}})",
            "feed.py:events offered a position that is no JSON: set.",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(lake: Ingests, text: str, reason: str) -> None:
    declare(lake, text)
    (done,) = lake.drain()
    assert done.error.startswith(reason)
    assert lake.flow("feed").state is FlowState.FAILED


def test_it_never_runs_far_ahead_of_what_is_committed(lake: Ingests) -> None:
    declare(
        lake,
        """
def events():
    for n in range(10_000):
        with open(COUNT, "a") as file:
            file.write("x")
        yield [{"n": n}] * 100
        if n == 50:
            yield None
COUNT = "THERE"
""".replace("THERE", str(lake.folder / "count")),
        rows=100,
    )
    (done,) = lake.drain()
    assert done.rows == 5_100 and done.commits == 51
    # Some wait in the queue, and what a pipe holds.
    assert (lake.folder / "count").stat().st_size < 1_000


def test_its_process_has_its_own_environment_and_ends_with_the_ingest(
    lake: Ingests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUNKLINE_SERVER_KEY", "k" * 32)
    lake.secrets["door"] = "sesame"
    transform = Transform(
        env=(("COLOUR", "red"),), secrets=(("DOOR", "door"),), params=(("factor", 3),)
    )
    text = """
import os, threading
def events(position, factor):
    print("starting")
    own = os.environ["COLOUR"] + os.environ["DOOR"] + os.environ.get("TRUNKLINE_SERVER_KEY", "")
    yield {"n": factor, "env": own, "pid": os.getpid()}
    threading.Event().wait()
"""
    declare(lake, text, transform=transform)
    lake.start()
    until(lambda: lake.commits("feed"))
    (row,) = lake.rows("feed")
    assert (row["n"], row["env"]) == (3, "redsesame")
    assert "DOOR" not in os.environ and psutil.pid_exists(row["pid"])
    lake.stop()
    until(lambda: not psutil.pid_exists(row["pid"]))


def test_a_process_that_dies_is_no_end(lake: Ingests) -> None:
    declare(lake, "import os\ndef events():\n    yield {'n': 1}\n    os._exit(7)\n")
    (done,) = lake.drain()
    assert done.error == "feed.py:events: its process ended with 7."
    assert numbers(lake) == [1]


def test_what_its_process_writes_runs_nothing_here(lake: Ingests) -> None:
    """The code has the pipe at hand, and may write to it what it likes."""
    mark = lake.folder / "ran"
    declare(
        lake,
        f"""
import os, pathlib, pickle
class Evil:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path({str(mark)!r}),)
def events():
    yield {{"n": 1}}
    for fd in range(3, 64):
        try:
            os.write(fd, pickle.dumps(Evil()) * 9)
        except OSError:
            pass
    yield {{"n": 2}}
""",
    )
    (done,) = lake.drain()
    assert done.error.startswith("feed.py:events: its process ended with")
    assert len(done.error.splitlines()) == 1
    assert numbers(lake) == [1]
    assert not mark.exists()


def test_a_bug_is_logged_with_its_place_and_without_secrets(
    lake: Ingests, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lake.secrets["door"] = "open-sesame"

    def broken(self: PythonFeed, *_: object, **__: object) -> None:
        raise LookupError(f"with {self.site.env['DOOR']}")

    monkeypatch.setattr(PythonFeed, "gather", broken)
    declare(lake, "def events(): yield {'n': 1}", transform=Transform(secrets=(("DOOR", "door"),)))
    (done,) = lake.drain()
    assert done.error == "LookupError: with ***"
    assert "in broken" in caplog.text
    assert "open-sesame" not in caplog.text
