"""Tickers for processes that are killed, stopped, or run beside each other.

`python -m tests.schedule.tickers NAME ARGUMENTS` calls the function of that name here; what it
returns is printed as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import trunkline as tl
from trunkline.errors import TrunklineError
from trunkline.lake import transaction
from trunkline.schedule import ticker as ticking
from trunkline.schedule.ticker import Ticker


def fire(folder: str) -> object:
    """Fire what is due, once."""
    with tl.open(folder) as lake:
        ticker = Ticker(lake._core)
        try:
            ticker.fire_due()
        except TrunklineError as error:
            return {"fired": ticker.fired, "error": error.code}
        return {"fired": ticker.fired}


def hammer(folder: str, seconds: str) -> object:
    """Fire what is due, as often as possible, for a while."""
    with tl.open(folder) as lake:
        ticker = Ticker(lake._core)
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            ticker.fire_due()
        return {"fired": ticker.fired}


def stop_at(folder: str, point: str) -> object:
    """Fire what is due, but stop at the first passing of a crash point until somebody goes on."""
    module = ticking if point.startswith("schedule.") else transaction
    passed: list[str] = []

    def pause(name: str) -> None:
        if name == point and not passed:
            passed.append(name)
            os.kill(os.getpid(), signal.SIGSTOP)

    setattr(module, "crashpoint", pause)  # noqa: B010
    return fire(folder)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
