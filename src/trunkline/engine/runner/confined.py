"""A Python function behind a wall: in a Python of its own that has nothing of the worker's.

A copy of the worker would have its memory: credentials of the store, other jobs' secrets.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from typing import Any

from trunkline.engine.runner.command import Commands
from trunkline.engine.runner.isolated import IsolatedFunctions, OnDisk, call, printer
from trunkline.engine.runner.sandbox import PACKAGES
from trunkline.engine.runner.task import DatumTask, SetTask

_START = (
    "import sys; sys.path.append(sys.argv[1]); from trunkline.engine.runner.confined import main; "
    "main()"
)


class ConfinedFunctions(IsolatedFunctions):
    """Starts a Python for each datum, as a command of the pipeline would be."""

    def __init__(self, commands: Commands, *given: Any) -> None:
        super().__init__(*given)
        self._commands = commands
        self._request = self._space.path + "/request"
        self._answer = self._space.scratch + "/answer"

    def _call(self, datum: DatumTask) -> int:
        # As the worker's Pythons have it: sets of texts are gone through in the same order.
        seed = {b"PYTHONHASHSEED": b"0"}
        arguments = (sys.executable, "-P", "-s", "-c", _START, PACKAGES)
        with open(self._request, "wb") as stream:
            parts = (self._code.folder, self._work.python, self._work.job, self._answer)
            stream.write(json.dumps(parts).encode() + b"\n")
            stream.write(SetTask(0, (datum,)).encode())
        return self._commands.execute(datum, arguments, self._request, seed)


def main() -> None:
    """In there: call the function of the request that comes by stdin."""
    head, _, rest = sys.stdin.buffer.read().partition(b"\n")
    code, entry, job, answer = json.loads(head)
    (datum,) = SetTask.decode(rest).datums
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout, sys.stderr = printer(1), printer(2)
    faulthandler.enable(2, all_threads=False)
    environment = dict(os.environ)
    host = OnDisk(job, "/pfs", lambda datum: environment)
    os._exit(call(code, entry, host, datum, answer))
