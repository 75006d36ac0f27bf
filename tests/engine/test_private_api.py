"""What Spark does not promise to keep: all that we use is listed, and what is missing is named."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from trunkline import engine
from trunkline.engine import private_api
from trunkline.engine.home import spark_home
from trunkline.errors import Precondition

_OWN = ("self", "cls", "os", "sys")


def test_the_installed_spark_has_it_all() -> None:
    private_api.check_python()
    private_api.check_jvm(spark_home())


class _Jvm:
    """Has whatever it is asked for, as the view of a running JVM."""

    def __getattr__(self, name: str) -> _Jvm:
        return self


def test_a_spark_that_runs_already_has_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.SparkContext._jvm", _Jvm())
    private_api.check_python()


def test_all_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "pyspark.rdd RDD _a _jrdd_deserializer _b\npyspark.gone - _c\npyspark.rdd Gone _d"
    monkeypatch.setattr(private_api, "PYTHON", lines)
    monkeypatch.setattr(
        private_api, "JVM", {"org.apache.spark": "SparkContext a isStopped b\nNo c"}
    )
    with pytest.raises(Precondition) as caught:
        private_api.check_python()
    names = ["pyspark.rdd.RDD._a", "pyspark.rdd.RDD._b", "pyspark.gone", "pyspark.rdd.Gone"]
    assert caught.value.message.endswith(f"uses of it: {', '.join(names)}.")
    with pytest.raises(Precondition) as caught:
        private_api.check_jvm(spark_home())
    names = ["SparkContext.a", "SparkContext.b", "No"]
    assert caught.value.message.endswith(
        f"uses of it: {', '.join(f'org.apache.spark.{name}' for name in names)}."
    )


def test_every_private_name_that_the_engine_uses_is_listed() -> None:
    root = Path(engine.__file__).parent
    used: set[str] = set()
    for path in (*root.glob("*.py"), *root.glob("streaming/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark"):
                used.update(one.name for one in node.names if one.name.startswith("_"))
            if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr):
                used.update({node.attr} if ast.unparse(node.value) not in _OWN else ())
    assert used <= set(re.findall(r"\b_\w+", private_api.PYTHON))
