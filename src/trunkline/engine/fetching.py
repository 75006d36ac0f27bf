"""What a function fetches from its inputs while it is called: in no plan, so nobody can judge it.

A number that was collected may end up in any column of any row. Where a run sees a part of an
input, such as the days that changed, the same function would give other rows from scratch. Side
inputs, which every run sees as a whole, may be fetched from as one likes.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.engine.promises import Leaves, Parts
from trunkline.errors import TransformFailed
from trunkline.pipelines.promise_words import fetches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# `show`, `foreach` and `write` give nothing back.
_ACTIONS = (
    *("collect", "toPandas", "toArrow", "toLocalIterator", "count", "isEmpty", "first", "head"),
    *("take", "tail", "toJSON", "approxQuantile", "corr", "cov", "crosstab", "freqItems"),
    *("transpose", "checkpoint", "localCheckpoint"),
)
_lock = threading.Lock()
_watched: list[_Watch] = []


@dataclass(frozen=True, eq=False)
class _Watch:
    """A call that goes on. By its session, as a function may fetch in threads of its own."""

    mode: str
    parts: Parts
    leaves: Leaves
    session: Any
    code: str

    def refuse(self, frame: DataFrame, what: str) -> None:
        """Unless the frame has nothing of what this call sees a part of."""
        if not self.session.equals(frame.sparkSession._jsparkSession):
            return
        for input in self.leaves.parts_in(frame):
            said = fetches(self.mode, what, input, self.parts[input])
            raise TransformFailed(f"{_place(self.code)}{said.text}", hint=said.hint)


@contextlib.contextmanager
def refused(
    spark: SparkSession, mode: str, parts: Parts, inputs: Mapping[str, DataFrame], code: str
) -> Iterator[None]:
    """Refuse meanwhile, in this session, to fetch what is made from parts of inputs.

    `code` is the folder of the pipeline's own files.
    """
    watch = _Watch(mode, parts, Leaves(parts, inputs), spark._jsparkSession, code)
    with _lock:
        _install()
        _watched.append(watch)
    try:
        yield
    finally:
        with _lock:
            _watched.remove(watch)


def _check(frame: DataFrame, what: str) -> None:
    for watch in _watched:
        watch.refuse(frame, what)


def _install() -> None:
    """Once: methods of Spark's that look whether somebody watches, and else are what they were."""
    from pyspark.sql.classic.dataframe import DataFrame
    from pyspark.sql.group import GroupedData

    if not hasattr(DataFrame.collect, "__wrapped__"):
        for name in _ACTIONS:
            setattr(DataFrame, name, _checking(getattr(DataFrame, name), name))
        DataFrame.rdd = _checking_rdd(vars(DataFrame)["rdd"])  # type: ignore[assignment]
        GroupedData.pivot = _checking_pivot(GroupedData.pivot)  # type: ignore[method-assign]
    # Models are learned from rows by the JVM; who does without them need not wait for the import.
    ml: Any = sys.modules.get("pyspark.ml.base")
    if ml is not None and not hasattr(ml.Estimator.fit, "__wrapped__"):
        ml.Estimator.fit = _checking_fit(ml.Estimator.fit)


def _checking(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: DataFrame, *args: Any, **named: Any) -> Any:
        _check(self, f"{name}()")
        return method(self, *args, **named)

    return checked


def _checking_pivot(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, pivot_col: str, values: Any = None) -> Any:
        if values is None:  # then its columns are the values that are found
            _check(self._df, "pivot() without values")
        return method(self, pivot_col, values)

    return checked


def _checking_fit(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, dataset: DataFrame, *args: Any, **named: Any) -> Any:
        _check(dataset, f"{type(self).__name__}.fit()")
        return method(self, dataset, *args, **named)

    return checked


def _checking_rdd(original: Any) -> property:
    def get(self: DataFrame) -> Any:
        if sys._getframe(1).f_code.co_filename != sys.modules[type(self).__module__].__file__:
            _check(self, "rdd")
        return original.__get__(self, type(self))

    return property(get)


def _place(code: str) -> str:
    """The line of the pipeline's own code that asks, from here upwards."""
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith(f"{code}/"):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}: " if frame else ""
