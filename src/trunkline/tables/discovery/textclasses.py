"""Which type a text can be read as. Only spellings that Spark, Arrow and DuckDB read alike count.

Each value belongs to one class; the classes seen in a column, joined as bits, give its type.
Numbers with a leading zero or plus are text: such are the codes of places, shops and phones.
A column that is told to be numbers may have leading zeros.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

(
    BOOLEAN, INTEGER, LONGER, NUMBER, DAY, CLOCK, MOMENT, WORD, LINES, WIDE, ZEROED, SPECIAL, EMPTY
) = (1 << n for n in range(13))  # fmt: skip

_DIGITS = "(0|[1-9][0-9]*)"
_INTEGER = "0|-?[1-9][0-9]*"
_EXPONENT = "([eE][+-]?[0-9]+)?"
_NUMBER = rf"-?({_DIGITS}(\.[0-9]+)?|\.[0-9]+){_EXPONENT}"
_ZEROED = rf"-?0[0-9]+(\.[0-9]+)?{_EXPONENT}"
_SPECIAL = "NaN|-?Inf"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = _DAY + r"[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
_MOMENT = _CLOCK + "(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])"
_TRUTHS = ("true", "True", "TRUE", "false", "False", "FALSE")

_STARTS = ", ".join(str(ord(one)) for one in "tTfFNI")

_typed = re.compile(f"{_NUMBER}|{_SPECIAL}|{_MOMENT}|{_CLOCK}|{_DAY}|{'|'.join(_TRUTHS)}").fullmatch

_ANY_NUMBER = INTEGER | WIDE | LONGER | NUMBER | ZEROED
_ACCEPTED: Mapping[str, int] = {
    "boolean": BOOLEAN,
    "tinyint": INTEGER | ZEROED,
    "smallint": INTEGER | ZEROED,
    "int": INTEGER | ZEROED,
    "bigint": INTEGER | WIDE | ZEROED,
    "float": _ANY_NUMBER | SPECIAL,
    "double": _ANY_NUMBER | SPECIAL,
    "decimal": _ANY_NUMBER,
    "date": DAY,
    "timestamp_ntz": DAY | CLOCK,
    "timestamp": DAY | CLOCK | MOMENT,
}


def is_word(text: str) -> bool:
    """Whether a text is neither a number, a date, a time nor a truth value."""
    return _typed(text) is None


def accepted(type_: str) -> int:
    """The classes of values that a column of a type may have; 0 if there are none in text."""
    name = type_.partition("(")[0]
    return _ACCEPTED[name] | EMPTY if name in _ACCEPTED else -1 if name in _TEXTS else 0


def pattern(type_: str) -> str:
    """What the texts of a type look like; that a day exists, or a number has room, is not in it."""
    mask = accepted(type_)
    return "|".join(one for bit, one in _LOOKS.items() if mask & bit)


_LOOKS = {
    BOOLEAN: "|".join(_TRUTHS),
    INTEGER: _INTEGER,
    NUMBER: _NUMBER,
    ZEROED: _ZEROED,
    SPECIAL: _SPECIAL,
    DAY: _DAY,
    CLOCK: _CLOCK,
    MOMENT: _MOMENT,
}
_TEXTS = ("string", "binary", "void")


def class_sql(column: str) -> str:
    """The class of a value in DuckDB's SQL; of null none.

    Patterns are slow, so the first character and a cast there and back decide where they can.
    """
    first = f"ascii({column})"
    return f"""case
        when {column} is null then 0
        when {column} = '' then {EMPTY}
        when {first} not between 45 and 57 and {first} not in ({_STARTS}) then {{_WORD}}
        when {column} = cast(try_cast({column} as integer) as varchar) then {INTEGER}
        when {column} = cast(try_cast({column} as bigint) as varchar) then {WIDE}
        when length({column}) = 10 and {column} = cast(try_cast({column} as date) as varchar)
            then {DAY}
        when regexp_full_match({column}, '{_NUMBER}')
            then if(regexp_full_match({column}, '{_INTEGER}'), {LONGER}, {NUMBER})
        when regexp_full_match({column}, '{_ZEROED}') then {ZEROED}
        when regexp_full_match({column}, '{_SPECIAL}') then {SPECIAL}
        when {column} in {_TRUTHS} then {BOOLEAN}
        when regexp_full_match({column}, '{_CLOCK}') and {_clock_ok(column)} then {CLOCK}
        when regexp_full_match({column}, '{_MOMENT}') and {_clock_ok(column)} then {MOMENT}
        else {{_WORD}} end""".replace("{_WORD}", _word(column))


def type_of(classes: int) -> str:
    """The type of a column in which values of these classes were seen."""
    seen = classes & ~LINES
    if not seen:
        return "void"
    if seen == EMPTY:
        return "string"
    for allowed, type_ in (
        (BOOLEAN, "boolean"),
        (INTEGER | WIDE, "bigint"),
        (INTEGER | WIDE | NUMBER | SPECIAL, "double"),
        (DAY, "date"),
        (DAY | CLOCK, "timestamp_ntz"),
        (MOMENT, "timestamp"),
    ):
        if not seen & ~(allowed | EMPTY):
            return type_
    return "string"


def _word(column: str) -> str:
    broken = f"contains({column}, chr(10)) or contains({column}, chr(13))"
    return f"if({broken}, {WORD | LINES}, {WORD})"


def _clock_ok(column: str) -> str:
    return f"try_cast(regexp_extract({column}, '^{_CLOCK}') as timestamp) is not null"
