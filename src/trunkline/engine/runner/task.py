"""What travels between the driver and a worker: data only, as compact JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import zstandard

from trunkline.model.pipelines import Sandbox
from trunkline.storage.objects.packer import PACK_LIMIT, PACK_SIZE

LOG_LIMIT = 1 << 20

_quote = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


@dataclass(frozen=True, slots=True)
class Work:
    """What all sets of a job share. Holds secrets: never to be logged."""

    store: str
    txn: str
    job: str
    repo_key: int
    pipeline: str
    project: str
    output_commit: str
    parts: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    cmd: tuple[str, ...] = ()
    stdin: tuple[str, ...] = ()
    err_cmd: tuple[str, ...] = ()
    err_stdin: tuple[str, ...] = ()
    accept_return_code: tuple[int, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    python: str = ""
    working_dir: str = ""
    sandbox: Sandbox = Sandbox.AUTO
    shown: tuple[str, ...] = ()
    """Places of a machine that can be read in a sandbox."""
    hidden: tuple[str, ...] = ()
    """Places that no sandbox has."""
    memory: int | None = None
    code: tuple[str, ...] = field(default=(), repr=False)
    code_hash: str = ""
    datum_tries: int = 3
    datum_timeout: float | None = None
    folder: str = ""
    log_limit: int = LOG_LIMIT
    pack_limit: int = PACK_LIMIT
    pack_size: int = PACK_SIZE
    heartbeat: float = 1.0

    def encode(self) -> bytes:
        return _encode({one.name: getattr(self, one.name) for one in fields(self)}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        found = json.loads(data)
        for name in ("cmd", "stdin", "err_cmd", "err_stdin", "accept_return_code", "code",
                     "shown", "hidden"):  # fmt: skip
            found[name] = tuple(found[name])
        found["sandbox"] = Sandbox(found["sandbox"])
        return cls(**found)


@dataclass(frozen=True, slots=True)
class DatumInput:
    """One match of a datum. `lines` are the manifest entries at or below `path`."""

    name: str
    path: str
    commit: str
    lines: tuple[str, ...]
    join_on: str = ""
    group_by: str = ""
    empty_files: bool = False
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class DatumTask:
    """A datum to run, and why it is run."""

    key: str
    content: str
    id: str
    hash: str
    reason: str
    inputs: tuple[DatumInput, ...]


@dataclass(frozen=True, slots=True)
class SetTask:
    """Datums that one Spark task runs, one after the other."""

    number: int
    datums: tuple[DatumTask, ...]

    def encode(self) -> bytes:
        return encode_set(self.number, [_row(datum) for datum in self.datums])

    @classmethod
    def decode(cls, data: bytes) -> Self:
        raw = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        number, rows = json.loads(raw)
        return cls(number, tuple(map(_read_datum, rows)))


Row = list[Any]
"""A datum as it travels: the fields of a `DatumTask`, its inputs as lists of theirs."""


def encode_set(number: int, rows: list[Row]) -> bytes:
    """A set from rows: one call for all of them, since there may be very many."""
    return zstandard.ZstdCompressor(level=1).compress(_encode([number, rows]).encode())


def _row(datum: DatumTask) -> Row:
    inputs = [
        [
            one.name,
            one.path,
            one.commit,
            one.lines,
            one.join_on,
            one.group_by,
            one.empty_files,
            one.lazy,
        ]
        for one in datum.inputs
    ]
    return [datum.key, datum.content, datum.id, datum.hash, datum.reason, inputs]


def _read_datum(row: Row) -> DatumTask:
    key, content, id_, hash_, reason, inputs = row
    return DatumTask(
        key,
        content,
        id_,
        hash_,
        reason,
        tuple(
            [
                DatumInput(name, path, commit, tuple(lines), *rest)
                for name, path, commit, lines, *rest in inputs
            ]
        ),
    )


@dataclass(slots=True)
class DatumResult:
    """What became of a datum: a line of a part. `code` is the exit code, -n for signal n.

    `schemas` are those of the tables that it wrote, by their names; `columns` tell from which
    columns of which inputs theirs were made. `counted` is about all that were made with it.
    """

    key: str
    content: str
    id: str
    state: str
    reason: str
    error: str = ""
    tries: int = 1
    code: int | None = None
    outputs: list[str] = field(default_factory=list)
    bytes_in: int = 0
    bytes_out: int = 0
    down: float = 0.0
    process: float = 0.0
    up: float = 0.0
    schemas: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    columns: dict[str, dict[str, list[tuple[str, str]]]] = field(default_factory=dict)
    counted: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> str:
        # One for each datum, and each is short: written out, it takes half the time.
        outputs = ",".join(map(_quote, self.outputs))
        code = "null" if self.code is None else self.code
        return (
            f'{{"key":{_quote(self.key)},"content":{_quote(self.content)},"id":{_quote(self.id)},'
            f'"state":"{self.state}","error":{_quote(self.error)},"reason":{_quote(self.reason)},'
            f'"tries":{self.tries},"code":{code},"outputs":[{outputs}],'
            f'"bytes_in":{self.bytes_in},"bytes_out":{self.bytes_out},'
            f'"down":{self.down:.6f},"process":{self.process:.6f},"up":{self.up:.6f}'
            + (f',"schemas":{_encode(self.schemas)}' if self.schemas else "")
            + (f',"columns":{_encode(self.columns)}' if self.columns else "")
            + (f',"counted":{_encode(self.counted)}}}' if self.counted else "}")
        )

    @classmethod
    def decode(cls, line: bytes | str) -> Self:
        return cls(**json.loads(line))


@dataclass(slots=True)
class SetReport:
    """What `run_set` did. `parts` has those of earlier attempts too, and so have the counts.

    Two attempts that ran side by side may both have a result of a datum: the reader of the
    parts takes one.
    """

    number: int
    parts: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    success: int = 0
    failed: int = 0
    recovered: int = 0
    repeated: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    down: float = 0.0
    process: float = 0.0
    up: float = 0.0

    def count(self, result: DatumResult) -> None:
        if result.state == "success":
            self.success += 1
        elif result.state == "failed":
            self.failed += 1
        else:
            self.recovered += 1
        self.bytes_in += result.bytes_in
        self.bytes_out += result.bytes_out
        self.down += result.down
        self.process += result.process
        self.up += result.up

    def encode(self) -> bytes:
        return _encode(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls(**json.loads(data))


def read_part(data: bytes) -> list[DatumResult]:
    """The results in a part; a result's number is its place here."""
    # One call for all of them: a call for each costs as much as the reading.
    rows = json.loads(b"[%b]" % b",".join(read_lines(data)))
    return [DatumResult(**row) for row in rows]


def read_lines(data: bytes) -> list[bytes]:
    """The JSON lines of a part or a log."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(data).splitlines()
