"""SQL of people on Spark: judged as Spark itself reads it, before it looks anything up.

Spark's parser makes a plan of the text. What that is made of is compared with what is allowed
(`statementparts`), and its tables with those that were given. Then that plan runs: the text is
not read a second time, so nobody can mean two things by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.engine import statementparts as parts
from trunkline.errors import NotAllowed
from trunkline.model.folding import fold_spark
from trunkline.model.suggest import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Argument = str | list[str] | None
"""A text that is written out, the name of a function that is called there, or anything else."""
_OWN = re.compile(r"\A(system\.)?builtin\.")
_HINT = "It reads tables of the lake and changes nothing; --into writes what a query gives."


class UnknownFunction(Exception):
    """A function that nobody offers, and the characters of the text where it is called."""

    def __init__(self, name: str, start: int, stop: int) -> None:
        super().__init__(f'There is no function "{name}".{did_you_mean(name, parts.FUNCTIONS)}')
        self.place = start, stop


@dataclass(frozen=True, slots=True)
class Contents:
    """What a statement is made of."""

    classes: tuple[str, ...]
    functions: tuple[tuple[str, list[Argument], int, int, tuple[str, ...]], ...]
    """Kind, arguments, first and last character, name."""
    relations: frozenset[tuple[str, ...]]
    exact: bool = False
    """Whether upper and lower case make two names of one: `spark.sql.caseSensitive`."""

    @classmethod
    def decode(cls, text: str) -> Contents:
        told = json.loads(text)
        return cls(
            tuple(told["classes"]),
            tuple((*one[:4], tuple(one[4:])) for one in told["functions"]),
            frozenset(tuple(one[4:]) for one in told["relations"]),
            told["exact"],
        )


def run(
    spark: SparkSession,
    java: Any,
    text: str,
    params: Mapping[str, Any],
    views: Collection[str],
    places: bool,
) -> DataFrame:
    """The DataFrame of a text, if it may be asked. `java` is our class for that in its JVM.

    Raises what Spark raises, `UnknownFunction`, or NotAllowed.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql.classic.column import _to_java_column
    from pyspark.sql.functions import lit

    values = {name: _to_java_column(lit(value)) for name, value in params.items()}
    statement = java.read(spark._jsparkSession, text, values)
    judge(Contents.decode(statement.contents()), views, places)
    return DataFrame(statement.rows(), spark)


def run_step(spark: SparkSession, java: Any, text: str, known: Collection[str]) -> DataFrame:
    """The DataFrame of a pipeline's query, which reads nothing but tables that are known."""
    from pyspark.sql import DataFrame

    statement = java.read(spark._jsparkSession, text, {})
    judge_step(Contents.decode(statement.contents()), known)
    return DataFrame(statement.rows(), spark)


def judge_expression(told: str) -> None:
    """Refuse an expression of a spec that does more than compute; `told` are its contents."""
    contents = Contents.decode(told)
    judge_step(contents, [name[0] for name in contents.relations if len(name) == 1])


def judge_step(contents: Contents, known: Collection[str]) -> None:
    """Refuse what no SQL of a pipeline may be made of.

    Functions that are not Spark's are those of who set it up, and may be called.
    """
    _judge_parts(contents.classes, parts.CLASSES)
    for called in contents.functions:
        try:
            _judge_function(*called)
        except UnknownFunction as unknown:
            if not _may_be_theirs(called[-1]):
                raise NotAllowed(str(unknown)) from None
    fold: Callable[[str], str] = str if contents.exact else fold_spark
    tables = set(map(fold, known))
    for name in sorted(contents.relations):
        if len(name) > 1 or fold(name[0]) not in tables:
            raise NotAllowed(
                f'SQL of a pipeline may only read its inputs: "{".".join(name)}" is none.',
                hint="Name it as an input of the pipeline.",
            )


def judge(contents: Contents, views: Collection[str], places: bool = False) -> None:
    """Refuse what is more than a query over just these views."""
    first, *others = contents.classes
    if first in parts.COMMANDS and (places or not parts.COMMANDS[first]):
        _judge_parts(others, parts.CLASSES | parts.MODES)
    else:
        _judge_parts(contents.classes, parts.CLASSES)
    for called in contents.functions:
        _judge_function(*called)
    given = {(fold_spark(name),) for name in views}
    read = {tuple(map(fold_spark, one)) for one in contents.relations}
    if odd := sorted(given ^ read):
        raise NotAllowed(
            f'This query can be read in two ways: "{".".join(odd[0])}" is a table in one of them.',
            hint="Leave out comments and escapes, or ask DuckDB.",
        )


def _judge_parts(classes: Iterable[str], allowed: Collection[str]) -> None:
    for name in classes:
        if name not in allowed:
            raise NotAllowed(f"SQL may only read: {_shown(name)} is not a query.", hint=_HINT)


def _judge_function(
    kind: str, arguments: list[Argument], start: int, stop: int, called: tuple[str, ...]
) -> None:
    name = _function(called)
    # Whatever is in front of it, which Spark compares by rules of its own, it may be Spark's.
    last = name.rpartition(".")[2]
    if last in parts.DENIED:
        raise NotAllowed(
            f"SQL may not call {name}(): it reads more than tables of the lake.",
            hint="Put files into a repo to query them: trunkline put.",
        )
    if len(arguments) > parts.MOST_ARGUMENTS.get(last, len(arguments)):
        raise NotAllowed(f"SQL may not give {name}() options: they can name files.", hint=_HINT)
    for schema in arguments[parts.SCHEMAS[last] :][:1] if last in parts.SCHEMAS else ():
        if not _is_schema(schema):
            raise NotAllowed(
                f"SQL may give {name}() no type but one that is written out.",
                hint="As in from_json(text, 'id int, name string').",
            )
    offered = {"scalar": parts.FUNCTIONS, "table": parts.TABLE_FUNCTIONS, "hint": parts.HINTS}
    if name not in offered.get(kind, ()):
        if kind in ("scalar", "table"):
            raise UnknownFunction(name, start, stop)
        raise NotAllowed(f"SQL may not use the {kind} {name}.", hint=_HINT)


def _function(called: Sequence[str]) -> str:
    """A function's name; one that says it is Spark's own is the same without that."""
    return _OWN.sub("", fold_spark(".".join(called)))


def _may_be_theirs(called: Sequence[str]) -> bool:
    """Whether a function that is not offered may be somebody's own, and no other one of Spark's."""
    before = fold_spark(".".join(called[:-1]))
    return before.isascii() and before not in ("builtin", "system.builtin")


def _is_schema(given: Argument) -> bool:
    if isinstance(given, str):
        return "{" not in given
    return given is not None and _function(given) in parts.SCHEMAS_OF


def _shown(name: str) -> str:
    return name.rpartition(".")[2].rpartition("$$")[2].strip("$").removesuffix("Command").upper()
