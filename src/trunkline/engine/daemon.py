"""The process that Spark forks its Python workers from.

Spark puts its own zip of pyspark first on the path, which every new daemon then compiles. Where
that zip belongs to the installed pyspark, the installed one serves: it is compiled already.
Workers serve one task after the other, of whatever pipeline.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any

from trunkline.engine.environ import keep_to_itself
from trunkline.engine.runner.modules import deactivate


def installed_first(path: list[str]) -> list[str]:
    """The same path without Spark's zips, if what they hold is installed beside them."""
    zips = [place for place in path if place.endswith(("/pyspark.zip", "-src.zip"))]
    rest = [place for place in path if place not in zips]
    found, helper = PathFinder.find_spec("pyspark", rest), PathFinder.find_spec("py4j", rest)
    if found is None or helper is None or found.origin is None:
        return path
    own = os.path.join(os.path.realpath(os.path.dirname(found.origin)), "python", "lib")
    return rest if all(os.path.realpath(place).startswith(own) for place in zips) else path


def forgetting(worker: Callable[..., int]) -> Callable[..., int]:
    """The same, with none of a pipeline's modules left for the next task: it may be another's."""

    def run(*given: Any) -> int:
        try:
            return worker(*given)
        finally:
            deactivate()

    return run


if __name__ == "__main__":
    keep_to_itself()
    sys.path[:] = installed_first(sys.path)
    from pyspark import daemon

    daemon.worker = forgetting(daemon.worker)
    daemon.manager()
