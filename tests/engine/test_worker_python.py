"""Python of Spark's tasks imports the installed pyspark, and not the zip of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
