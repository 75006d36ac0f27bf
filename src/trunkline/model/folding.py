"""Which spellings of a name are one name to an engine.

casefold() is no engine's rule: it takes a long s (ſ) for an s and ﬁ for fi. Whoever judges by
more than the engine folds takes for somebody's own what the engine then finds elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_ASCII = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold_duckdb(name: str) -> str:
    """A name as DuckDB compares it: upper and lower case are one in ASCII alone."""
    return name.translate(_ASCII)


def fold_spark(name: str) -> str:
    """A name as Spark looks it up: in the lower case of no language, as Java has it.

    Names of a WITH and what is in front of a name it compares letter by letter, and takes ſ for
    s there: what is one name by that rule alone counts as unknown.
    """
    return name.lower()


FOLDS: Mapping[str, Callable[[str], str]] = {"duckdb": fold_duckdb, "spark": fold_spark}
"""By the name of a dialect."""
