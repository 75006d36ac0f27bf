"""On a standalone cluster: nothing is lost when a machine is."""

import threading
from pathlib import Path

import pytest

from tests.spark import python, standalone_cluster
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_a_worker_killed_in_the_middle_loses_nothing(tmp_path):
    code = """
        import json, os
        from tests.engine import runners
        from tests.spark import Cluster
        from trunkline.engine.session import start
        from trunkline.engine.submit import run_sets
        with start(Cluster(os.environ["MASTER"], "").options()) as spark:
            sets = [str(n).encode() for n in range(20)]
            marks = os.environ["MARKS"].encode()
            outcome = run_sets(spark, marks, sets, runners.slow, group="lost")
            found = [json.loads(result) for result in outcome.results]
            print(json.dumps({"sets": [one["set"] for one in found]}))
    """
    marks = tmp_path / "marks"
    marks.mkdir()
    with standalone_cluster(tmp_path) as cluster:
        killed: list[int] = []

        def strike() -> None:
            until(lambda: cluster.executors(0) and cluster.executors(1) and begun(marks) > 4)
            killed.append(cluster.kill_worker(0))

        thread = threading.Thread(target=strike)
        thread.start()
        found = python(code, MASTER=cluster.url, MARKS=str(marks))
        thread.join(120)
    assert killed == [1]
    assert found["sets"] == [str(number) for number in range(20)]


def begun(folder: Path) -> int:
    return len(list(folder.glob("*-*")))
