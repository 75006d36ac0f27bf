"""A lake that runs people's code in sandboxes only: what it refuses, at once and later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.jobs.graphs import COPY, Graph
from tests.served import through_door
from trunkline.engine.runner.sandbox import why_no_wall
from trunkline.errors import InvalidSpec
from trunkline.settings import CONFIG_FILE, LAKE_FOLDER, write_config

ORDERS = {"pfs": {"repo": "orders", "glob": "/"}}


def spec(name: str, **transform: Any) -> dict[str, Any]:
    return {"pipeline": {"name": name}, "input": ORDERS, "transform": transform}


def ingest(code: Path) -> dict[str, Any]:
    source = {"python": {"function": "feed.py:f", "code": str(code)}}
    return {"ingest": {"name": "feed"}, "source": source}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "feed.py").write_text("def f():\n    yield {'n': 1}\n")
    (folder / "frames.py").write_text("def f(orders):\n    return orders\n")
    return folder


@pytest.fixture
def require(lake: tl.Lake) -> Iterator[Callable[[], tl.Lake]]:
    """Has the lake ask for sandboxes; it, opened anew."""
    opened: list[tl.Lake] = []

    def ask() -> tl.Lake:
        folder = Path(lake.location)
        write_config(folder / LAKE_FOLDER / CONFIG_FILE, "sandbox.required", "yes")
        opened.append(tl.open(folder))
        return opened[-1]

    yield ask
    for one in opened:
        one.close()


BESIDE = "a function on DataFrames runs inside the worker, beside Spark, and has no sandbox."


@pytest.mark.parametrize("way", ["local", "http"])
def test_what_cannot_be_confined_is_refused(require, code, way):
    confined = require()
    code_of = {"code": str(code)}
    cases = [
        (spec("a", spark="frames.py:f", **code_of), BESIDE),
        (spec("a", stream="frames.py:f", **code_of), BESIDE),
        (ingest(code), "the generator of an ingest runs beside the worker, and has no sandbox."),
        (spec("a", cmd=["true"], sandbox="off"), "it says sandbox: off."),
        (spec("a", python="feed.py:f", sandbox="off", **code_of), "it says sandbox: off."),
    ]
    said = "cannot be applied: this lake runs code in sandboxes only (sandbox.required), and "

    def refused(lake: tl.Lake) -> None:
        for given, why in cases:
            with pytest.raises(InvalidSpec) as caught:
                lake.apply(given)
            assert caught.value.message.endswith(said + why)
        assert lake.pipelines() == []
        lake.apply(spec("good", cmd=["true"]), spec("sums", sql="SELECT count(*) AS n FROM orders"))

    if way == "local":
        refused(confined)
        return
    with through_door(confined) as remote:
        refused(remote)


def test_an_earlier_version_does_not_come_back(lake, require, code):
    lake.apply(spec("a", cmd=["true"], sandbox="off"))
    lake.apply(spec("a", cmd=["true"]))
    with pytest.raises(InvalidSpec, match=r"sandbox\.required"):
        require().restore_pipeline("a", 1)


def test_rules_cannot_call_what_is_no_sql(lake):
    for expr in ("reflect('java.lang.System', 'exit') = 1", "`java_method`('a', 'b') = ''"):
        given = spec("sums", sql="SELECT 1 AS n FROM orders")
        with pytest.raises(InvalidSpec, match="calls Java"):
            lake.apply({**given, "expectations": [{"expr": expr}]})


@pytest.mark.skipif(bool(why_no_wall()), reason="no namespaces on this machine")
def test_what_was_applied_before_is_confined_or_not_run(graph: Graph, require, code):
    with graph.lake.commit("orders@main") as commit:
        commit.put("/a.csv", b"n\n1\n")
    mark = code / "ran"
    (code / "frames.py").write_text(f"open({str(mark)!r}, 'w')\ndef f(orders): return orders\n")
    (code / "feed.py").write_text(f"open({str(mark)!r}, 'w')\ndef f():\n    yield 1\n")
    graph.lake.apply(
        spec("frames", spark="frames.py:f", code=str(code)),
        ingest(code),
        spec(
            "files", cmd=["sh", "-c", f"ls {code} || cp pfs/orders/a.csv pfs/out/"], sandbox="off"
        ),
    )
    graph.apply("copies", "orders", COPY + f"    open({str(mark)!r}, 'w')\n")
    confined = require()
    report = confined.run()
    ended = {job.pipeline.repo: job for job in report.jobs}
    assert "sandbox.required" in ended["frames"].reason and BESIDE[:-1] in ended["frames"].reason
    assert "sandbox.required" in report.ingests[0].error
    assert not mark.exists()
    assert ended["files"].state == "success"
    assert graph.files("files") == {"/a.csv": "n\n1\n"}
    assert "No such file or directory" in ended["copies"].reason
