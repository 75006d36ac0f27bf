"""Where Spark is."""

from __future__ import annotations

import os
import shlex
import sys
from importlib import util
from pathlib import Path

from trunkline.errors import Precondition


def spark_home() -> Path:
    """The folder of Spark itself: SPARK_HOME, else the installed pyspark."""
    installed = _installed()
    home = Path(os.environ.get("SPARK_HOME") or installed)
    if not (home / "bin" / "spark-submit").is_file() or not (home / "jars").is_dir():
        raise Precondition(f"There is no Spark in {home}.", hint="Unset SPARK_HOME, or mend it.")
    return home


def _installed() -> Path:
    found = util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise Precondition("pyspark is not installed.", hint="pip install 'pyspark>=4.3,<4.4'.")
    return Path(found.submodule_search_locations[0])


def worker_python(folder: Path, python: str) -> str:
    """What starts Python for Spark on this machine: `python` itself, or a script in `folder`.

    Spark puts its own zips of pyspark first on the path, and what comes from a zip is compiled
    each time: on a busy machine that takes longer than the ten seconds that Spark gives the
    Python of a stream's state to start. Where the installed pyspark is the same, it serves.
    """
    home = spark_home()
    if python != sys.executable or home != _installed():
        return python
    script = folder / "python"
    script.write_text(
        "#!/bin/sh\n"
        "PYTHONPATH=${PYTHONPATH#*/pyspark.zip:}\n"
        "PYTHONPATH=${PYTHONPATH#*/py4j-*-src.zip:}\n"
        f'export PYTHONPATH\nexec {shlex.quote(python)} "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o700)
    # Nothing may be run in some folders, and /tmp is one of them on some machines.
    return str(script) if os.access(script, os.X_OK) else python
