"""TPC-H: its tables as Parquet, made once and kept, and its 22 queries with their answers.

The queries are those of the specification with its validation parameters, in one text that both
DuckDB and Spark take: Q13 and Q15 have names inside where the specification has a list of names
or a view. `answers` has what the specification publishes for scale 1.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trunkline.sdk import Lake

TABLES = (
    "customer",
    "lineitem",
    "nation",
    "orders",
    "part",
    "partsupp",
    "region",
    "supplier",
)
CACHE = Path(tempfile.gettempdir()) / "trunkline-bench-data"
"""What takes long to make, and is the same in every run."""


@dataclass(frozen=True, slots=True)
class Query:
    number: int
    text: str

    @property
    def name(self) -> str:
        return f"Q{self.number}"


def queries(scale: float) -> Iterator[Query]:
    for path in sorted(Path(__file__).parent.glob("q*.sql")):
        text = path.read_text()
        if "{fraction}" in text:  # Q11 asks for a share that depends on the scale
            text = text.replace("{fraction}", f"{0.0001 / scale:.10f}".rstrip("0"))
        yield Query(int(path.stem[1:]), text)


def data(scale: float) -> Path:
    """The folder with a Parquet file for each table."""
    folder = CACHE / f"tpch-{scale:g}"
    if not folder.exists():
        program = Path(sys.executable).with_name("tpchgen-cli")
        found = str(program) if program.exists() else shutil.which("tpchgen-cli")
        if found is None:
            raise SystemExit("TPC-H needs tpchgen-cli: .venv/bin/pip install tpchgen-cli")
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as half:
            made = Path(half) / "tables"
            command = [found, "parquet", "-s", f"{scale:g}", "-o", str(made)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            made.rename(folder)
    return folder


def put_tables(lake: Lake, folder: Path, names: tuple[str, ...] = TABLES) -> None:
    """Each table as a repo of its name, of the very same files."""
    for name in names:
        lake.create_repo(name)
        with lake.commit(f"{name}@main") as commit:
            commit.put(f"/{name}.parquet", folder / f"{name}.parquet")
