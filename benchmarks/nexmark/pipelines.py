"""The queries of Nexmark as stream pipelines: functions whose parameters are their inputs.

`write_code` puts them into a folder that can be the code of pipelines, and `spec` makes the
spec of one. Inputs are the repos person, auction and bid. Lengths of time are in `sizes.json`
beside the code, since they depend on the rate of the events.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from benchmarks.nexmark import queries
else:  # as the code of a pipeline, where it lies beside this file
    import queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZES = "sizes.json"
_HERE = Path(__file__).parent


def q0(bid: DataFrame) -> DataFrame:
    return queries.q0(bid, _sizes())


def q1(bid: DataFrame) -> DataFrame:
    return queries.q1(bid, _sizes())


def q2(bid: DataFrame) -> DataFrame:
    return queries.q2(bid, _sizes())


def q3(person: DataFrame, auction: DataFrame) -> DataFrame:
    return queries.q3(person, auction, _sizes())


def q4(auction: DataFrame, bid: DataFrame) -> DataFrame:
    return queries.q4(auction, bid, _sizes())


def q5(bid: DataFrame) -> DataFrame:
    return queries.q5(bid, _sizes())


def q6(auction: DataFrame, bid: DataFrame) -> DataFrame:
    return queries.q6(auction, bid, _sizes())


def q7(bid: DataFrame) -> DataFrame:
    return queries.q7(bid, _sizes())


def q8(person: DataFrame, auction: DataFrame) -> DataFrame:
    return queries.q8(person, auction, _sizes())


def q11(bid: DataFrame) -> DataFrame:
    return queries.q11(bid, _sizes())


def write_code(folder: Path, sizes: queries.Sizes) -> None:
    """The files that a pipeline's code is made of."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("pipelines.py", "queries.py"):
        shutil.copyfile(_HERE / name, folder / name)
    (folder / _SIZES).write_text(json.dumps(asdict(sizes), indent=2) + "\n")


def spec(query: str, delay: str = "4s", trigger: object = "on_commit") -> dict[str, Any]:
    """A stream pipeline of a query's name; its code is what `write_code` writes."""
    inputs = [
        {"pfs": {"repo": name, "glob": "/", "watermark": {"column": "ts", "delay": delay}}}
        for name in queries.INPUTS[query]
    ]
    return {
        "pipeline": {"name": query},
        "input": inputs[0] if len(inputs) == 1 else {"cross": inputs},
        "transform": {"stream": f"pipelines.py:{query}", "trigger": trigger, "output": "append"},
    }


def _sizes() -> queries.Sizes:
    """Those beside this file; without them, those of 10,000 events in a second."""
    path = _HERE / _SIZES
    return queries.Sizes(**json.loads(path.read_text())) if path.exists() else queries.Sizes(333)
