"""Where Spark is."""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path

from trunkline.errors import Precondition


def spark_home() -> Path:
    """The folder of Spark itself: SPARK_HOME, else the installed pyspark."""
    found = util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise Precondition("pyspark is not installed.", hint="pip install 'pyspark>=4.3,<4.4'.")
    home = Path(os.environ.get("SPARK_HOME") or found.submodule_search_locations[0])
    if not (home / "bin" / "spark-submit").is_file() or not (home / "jars").is_dir():
        raise Precondition(f"There is no Spark in {home}.", hint="Unset SPARK_HOME, or mend it.")
    return home
