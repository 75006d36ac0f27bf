"""What is on record of each datum: a line in a job's index, and one in its pipeline's results.

An index lists the datums of one job, by key. Results list everything that was ever computed for a
pipeline, under what went in: version, datum and content. Both say where the result itself is.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from trunkline.model.ids import id_millis
from trunkline.model.jobs import DatumState

TAB = b"\t"
_SEPARATOR = b"\x1f"
_DAY = 86_400_000


class LineState(StrEnum):
    """Digits: the third field of a line is a number in every tree of lines."""

    SUCCESS = "1"
    FAILED = "2"
    RECOVERED = "3"

    @property
    def datum_state(self) -> DatumState:
        return DatumState[self.name]


class Pointer(NamedTuple):
    """Where a result is: the object, and its line there."""

    part: str
    number: int


class IndexLine(NamedTuple):
    """A datum in a job's index: line `number` of the object `part` is what `job` made of it."""

    key: bytes
    content: bytes
    state: LineState
    job: str
    part: str
    number: int
    reason: str

    def encode(self) -> bytes:
        rest = f"{self.state}\t{self.job}\t{self.part}\t{self.number}\t{self.reason}"
        return b"%b\t%b\t%b" % (self.key, self.content, rest.encode())

    @classmethod
    def decode(cls, line: bytes) -> IndexLine:
        key, content, rest = line.split(TAB, 2)
        state, job, part, number, reason = rest.decode().split("\t")
        return cls(key, content, LineState(state), job, part, int(number), reason)

    @property
    def is_good(self) -> bool:
        return self.state is LineState.SUCCESS

    @property
    def pointer(self) -> Pointer:
        return Pointer(self.part, self.number)


def line_key(line: bytes) -> bytes:
    return line[: line.index(TAB)]


def line_content(line: bytes) -> tuple[bytes, LineState]:
    """What went into a datum of an index, and what came of it."""
    _, content, state, _ = line.split(TAB, 3)
    return content, LineState(state.decode())


def index_part(line: bytes) -> bytes:
    return line.split(TAB, 5)[4]


class ResultLine(NamedTuple):
    """A result in a pipeline's results: line `number` of the object `part`, made by `job`."""

    key: bytes
    job: str
    number: int
    part: str

    def encode(self) -> bytes:
        # The third field is a number in every tree's lines.
        day = id_millis(self.job) // _DAY
        fields = (self.key, self.job.encode(), self.number, self.part.encode(), day)
        return b"%b\t%b\t%d\t%b\t%d" % fields

    @classmethod
    def decode(cls, line: bytes) -> ResultLine:
        key, job, number, part, _ = line.split(TAB)
        return cls(key, job.decode(), int(number), part.decode())

    @property
    def datum(self) -> bytes:
        """The datum's key."""
        return self.key.partition(_SEPARATOR)[2].rpartition(_SEPARATOR)[0]

    @property
    def pointer(self) -> Pointer:
        return Pointer(self.part, self.number)


def result_key(key: bytes, content: bytes, digest: str) -> bytes:
    """Versions come first: what a new one adds lies together, and leaves the others as they are."""
    return _SEPARATOR.join((digest[:16].encode(), key, content))


def result_part(line: bytes) -> bytes:
    return line.split(TAB, 4)[3]


class ResultWriter:
    """The lines of one job's results, part by part, with what is the same for all of a part made
    once: as `IndexLine` and `ResultLine` make them.
    """

    def __init__(self, job: str, digest: str) -> None:
        self._job = job.encode()
        self._digest = digest[:16].encode()
        self._day = id_millis(job) // _DAY
        self._part = b""

    def start(self, part: str) -> None:
        self._part = part.encode()

    def index_line(self, key: bytes, content: bytes, state: str, number: int, reason: str) -> bytes:
        fields = (key, content, _DIGITS[state], self._job, self._part, number, reason.encode())
        return b"%b\t%b\t%b\t%b\t%b\t%d\t%b" % fields

    def result_line(self, key: bytes, content: bytes, number: int) -> bytes:
        fields = (self._digest, key, content, self._job, number, self._part, self._day)
        return b"%b\x1f%b\x1f%b\t%b\t%d\t%b\t%d" % fields


_DIGITS = {state.datum_state.value: state.value.encode() for state in LineState}
