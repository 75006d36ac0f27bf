"""Sets of datums to run without Spark, and a look at what became of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blake3 import blake3

from trunkline.engine.runner.execute import run_set
from trunkline.engine.runner.task import (
    DatumInput,
    DatumResult,
    DatumTask,
    SetReport,
    SetTask,
    Work,
    read_lines,
    read_part,
)
from trunkline.model.entries import Entry
from trunkline.model.ids import new_id
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.reading import read_entry


@dataclass
class Bench:
    """A store with files, and a job to run on them."""

    folder: Path

    def __post_init__(self) -> None:
        self.store = open_store(str(self.folder / "store"))
        self.work_folder = self.folder / "work"
        self.calls = 0

    def put(self, files: Mapping[str, bytes | str], pack_limit: int = 1 << 20) -> dict[str, str]:
        """Store files; their lines."""
        with Intake(self.store, new_id(), pack_limit=pack_limit) as intake:
            return {
                path: intake.add_bytes(
                    path, data if isinstance(data, bytes) else data.encode()
                ).decode()
                for path, data in files.items()
            }

    def work(self, *cmd: str, code: Mapping[str, bytes | str] | None = None, **fields: Any) -> Work:
        lines = tuple(self.put(code).values()) if code else ()
        job = new_id()
        defaults: dict[str, Any] = {
            "store": str(self.folder / "store"),
            "txn": new_id(),
            "job": job,
            "repo_key": 7,
            "pipeline": "edges",
            "project": "default",
            "output_commit": job,
            "parts": f"jobs/{job}-7/",
            "cmd": cmd,
            "code": lines,
            "code_hash": blake3("".join(lines).encode()).hexdigest(),
            "datum_tries": 1,
            "folder": str(self.work_folder),
        }
        return Work(**(defaults | fields))

    def datums(self, files: Mapping[str, bytes | str], name: str = "in") -> tuple[DatumTask, ...]:
        """One datum for each file."""
        return tuple(
            datum(DatumInput(name, path, "c" * 32, (line,)))
            for path, line in self.put(files).items()
        )

    def run(
        self,
        work: Work,
        datums: Iterable[DatumTask] | None = None,
        *,
        attempt: int = 0,
        isolate: bool = False,
        number: int = 3,
    ) -> Run:
        """Run datums (one, if none are given), everything sent as the driver would."""
        self.calls += 1
        datums = self.datums({"/a.txt": "hello\n"}) if datums is None else tuple(datums)
        task = SetTask.decode(SetTask(number, datums).encode())
        sent = Work.decode(work.encode())
        assert sent == work and task.datums == datums
        unique = f"u{self.calls}"
        report = run_set(sent, task, attempt=attempt, unique=unique, isolate=isolate)
        return Run(self, work, report)

    def leftovers(self) -> list[str]:
        """What is in the working folder after a run, but for what always is."""
        (space,) = self.work_folder.iterdir()
        return sorted(
            str(path.relative_to(space / "datum"))
            for path in (space / "datum").rglob("*")
            if not path.is_symlink() and not path.is_dir()
        )


@dataclass
class Run:
    bench: Bench
    work: Work
    report: SetReport

    def __post_init__(self) -> None:
        self.results = [
            result for part in self.report.parts for result in read_part(self.bench.store.get(part))
        ]
        self.log = [
            json.loads(line)
            for key in self.report.logs
            for line in read_lines(self.bench.store.get(key))
        ]

    @property
    def result(self) -> DatumResult:
        (result,) = self.results
        return result

    @property
    def error(self) -> str:
        return self.result.error

    def text(self, stream: str) -> list[str]:
        return [line["text"] for line in self.log if line["stream"] == stream]

    def files(self, result: DatumResult | None = None) -> dict[str, bytes]:
        """Every output, read back and verified."""
        found: dict[str, bytes] = {}
        for one in [result] if result else self.results:
            for line in one.outputs:
                entry = Entry.decode(line.encode())
                assert entry.owner == one.id
                assert entry.path not in found
                found[entry.path] = b"".join(read_entry(self.bench.store, entry))
            if not result:
                assert one.bytes_out == sum(Entry.decode(x.encode()).size for x in one.outputs)
        return found


def datum(*inputs: DatumInput, reason: str = "new") -> DatumTask:
    key = "\x1f".join(f"{one.name}@default/r@main\x1f{one.path}" for one in inputs)
    id_ = blake3(key.encode()).hexdigest()[:32]
    return DatumTask(key, "content", id_, "h" * 32, reason, inputs)


def again(work: Work, **fields: Any) -> Work:
    return dataclasses.replace(work, **fields)
