"""Python of Spark's tasks imports the installed pyspark, and not the zip of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trunkline.engine.driver import load_function, using
from trunkline.engine.home import spark_home, worker_python
from trunkline.engine.session import Session


def path_of(python: str, before: str) -> list[str]:
    """The path of a Python that was started with this one in its environment."""
    code = "import os; print(os.environ['PYTHONPATH'])"
    environ = {**os.environ, "PYTHONPATH": before}
    done = subprocess.run([python, "-c", code], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split(":")


def test_the_zips_are_left_out_and_nothing_else(tmp_path: Path):
    python = worker_python(tmp_path, sys.executable)
    lib = spark_home() / "python" / "lib"
    zips = [f"{lib}/pyspark.zip", f"{lib}/py4j-0.10.9.9-src.zip"]
    rest = ["/x/spark-core.jar", "/my code", "/b"]
    assert path_of(python, ":".join([*zips, *rest])) == rest
    assert path_of(python, ":".join(rest)) == rest


def test_another_python_or_another_spark_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert worker_python(tmp_path, "/usr/bin/python3") == "/usr/bin/python3"
    other = tmp_path / "spark"
    other.mkdir()
    for name in ("bin", "jars"):
        (other / name).symlink_to(spark_home() / name)
    monkeypatch.setenv("SPARK_HOME", str(other))
    assert worker_python(tmp_path, sys.executable) == sys.executable


def test_a_folder_where_nothing_may_be_run_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert worker_python(tmp_path, sys.executable) == sys.executable


def test_tasks_have_the_installed_pyspark(spark: Session):
    assert spark.context is not None

    def look(_: int) -> tuple[str, str]:
        import sys

        import pyspark

        return pyspark.__file__, sys.executable

    ((found, python),) = spark.context.parallelize([0], 1).map(look).collect()
    assert found.startswith(str(spark_home()))
    assert ".zip" not in found
    assert python == sys.executable


def test_code_arrives_where_its_folder_is_not(tmp_path: Path):
    """On another machine: with the files beside it, and each version with its own modules."""
    from pyspark import cloudpickle

    sent = []
    for version in ("old", "new"):
        folder = tmp_path / f"code-{version}"
        (folder / "lib").mkdir(parents=True)
        (folder / "lib" / "deep.py").write_text(
            "from pathlib import Path\n"
            "TEXT = Path(__file__).with_name('text \u00e4.txt').read_text()\n"
        )
        (folder / "lib" / "text \u00e4.txt").write_text(version)
        (folder / "work.py").write_text(
            "def f():\n    from lib.deep import TEXT\n    return TEXT\n"
        )
        with using(str(folder)):
            function = load_function(str(folder), "work.py:f")
            sent.append(cloudpickle.dumps(function).hex())
            assert function() == version
        folder.rename(tmp_path / f"away-{version}")
    code = """
import sys
from pyspark import cloudpickle
for data in sys.argv[1:]:
    print(cloudpickle.loads(bytes.fromhex(data))())
"""
    old, new = sent
    done = subprocess.run(
        [sys.executable, "-c", code, old, new, old], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["old", "new", "old"], done.stderr
