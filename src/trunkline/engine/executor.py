"""What runs inside a Spark task: one set after the other, each answered by a frame of bytes.

A frame is a line of JSON and the result behind it. Errors of ours travel in frames too, so that
a user reads the same line wherever it happened. Imports no pyspark before a task runs.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from trunkline import errors

MARK = "trunkline-error:"

Runner = Callable[..., bytes]
"""`runner(work, one_set, attempt=…, unique=…)`: a function of a module that executors have."""

Chunk = Sequence[tuple[int, bytes]]
"""Sets with their places, that one task runs in turn."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A set's result, or the error that no repetition would mend."""

    place: int
    result: bytes
    error: errors.TrunklineError | None = None

    def encode(self) -> bytes:
        error = None if self.error is None else self.error.to_dict()
        return json.dumps({"place": self.place, "error": error}).encode() + b"\n" + self.result

    @classmethod
    def decode(cls, data: bytes) -> Frame:
        head, _, result = data.partition(b"\n")
        found = json.loads(head)
        return cls(found["place"], result, found["error"] and error_from(found["error"]))


@dataclass(frozen=True, slots=True)
class Errand:
    """What every task of a job does. Pickled to executors by the names of its parts."""

    version: str
    work: bytes
    runner: Runner

    def on_chunks(self, chunks: Iterable[Chunk]) -> Iterator[bytes]:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.attemptNumber() if context else 0
        task = context.taskAttemptId() if context else 0
        for chunk in chunks:
            for place, one in chunk:
                unique = f"{task}-{os.urandom(4).hex()}"
                yield self._run(place, one, attempt, unique).encode()

    def _run(self, place: int, one: bytes, attempt: int, unique: str) -> Frame:
        if self.version != version():
            return Frame(place, b"", other_version(self.version))
        try:
            return Frame(place, self.runner(self.work, one, attempt=attempt, unique=unique))
        except (errors.Failed, errors.Unavailable) as error:
            # Another try, perhaps on another machine, may do better: Spark sees to that.
            raise RuntimeError(MARK + json.dumps(error.to_dict())) from error
        except errors.TrunklineError as error:
            traceback.print_exc()  # to the executor's log
            return Frame(place, b"", error)


@cache
def version() -> str:
    """The version that is installed here. Driver and executors must have the same."""
    return metadata.version("trunkline")


def other_version(wanted: str) -> errors.Precondition:
    return errors.Precondition(
        f"An executor has trunkline {version()}, the driver {wanted}.",
        hint=f"Install trunkline {wanted} for {sys.executable} on {os.uname().nodename}.",
    )


def error_in(text: str) -> errors.TrunklineError | None:
    """The error of ours that a task raised, found in what Spark says of it."""
    place = text.find(MARK)
    if place < 0:
        return None
    found, _ = json.JSONDecoder().raw_decode(text, place + len(MARK))
    return error_from(found)


def error_from(found: dict[str, str]) -> errors.TrunklineError:
    """An error of the same class, which is known by its code."""
    kinds: list[type[errors.TrunklineError]] = [errors.TrunklineError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    kind = next((k for k in kinds[1:] if k.code == found["code"]), errors.Failed)
    # Some take more than a line: the line is all that travels.
    error = kind.__new__(kind)
    errors.TrunklineError.__init__(error, found["message"], hint=found.get("hint", ""))
    return error
