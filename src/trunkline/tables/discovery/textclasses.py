"""Which type a text can be read as. Only spellings that Spark, Arrow and DuckDB read alike count.

Each value belongs to one class; the classes seen in a column, joined as bits, give its type.
Numbers with a leading zero or plus are text: such are the codes of places, shops and phones.
"""

from __future__ import annotations

import re

BOOLEAN, INTEGER, LONGER, NUMBER, DAY, CLOCK, MOMENT, WORD, LINES = (1 << n for n in range(9))

_INTEGER = "-?(0|[1-9][0-9]*)"
_NUMBER = r"-?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][+-]?[0-9]+)?|NaN|-?Inf"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = _DAY + r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_MOMENT = _CLOCK + "(Z|[+-][0-9]{2}:[0-9]{2})"

_STARTS = ", ".join(str(ord(one)) for one in "tTfFNI")

_typed = re.compile(f"{_NUMBER}|{_MOMENT}|{_CLOCK}|{_DAY}|(?i:true|false)").fullmatch


def is_word(text: str) -> bool:
    """Whether a text is neither a number, a date, a time nor a truth value."""
    return _typed(text) is None


def class_sql(column: str) -> str:
    """The class of a value in DuckDB's SQL; of null none.

    Patterns are slow, so the first character and a cast there and back decide where they can.
    """
    first = f"ascii({column})"
    return f"""case
        when {column} is null then 0
        when {first} not between 45 and 57 and {first} not in ({_STARTS}) then {{_WORD}}
        when {column} = cast(try_cast({column} as bigint) as varchar) then {INTEGER}
        when length({column}) = 10 and {column} = cast(try_cast({column} as date) as varchar)
            then {DAY}
        when {column} <> '' and regexp_full_match({column}, '{_NUMBER}')
            then if(regexp_full_match({column}, '{_INTEGER}'), {LONGER}, {NUMBER})
        when lower({column}) in ('true', 'false') then {BOOLEAN}
        when regexp_full_match({column}, '{_CLOCK}') and {_clock_ok(column)} then {CLOCK}
        when regexp_full_match({column}, '{_MOMENT}') and {_clock_ok(column)} then {MOMENT}
        else {{_WORD}} end""".replace("{_WORD}", _word(column))


def type_of(classes: int) -> str:
    """The type of a column in which values of these classes were seen."""
    seen = classes & ~LINES
    if not seen:
        return "void"
    for allowed, type_ in (
        (BOOLEAN, "boolean"),
        (INTEGER, "bigint"),
        (INTEGER | NUMBER, "double"),
        (DAY, "date"),
        (DAY | CLOCK, "timestamp_ntz"),
        (MOMENT, "timestamp"),
    ):
        if not seen & ~allowed:
            return type_
    return "string"


def _word(column: str) -> str:
    broken = f"contains({column}, chr(10)) or contains({column}, chr(13))"
    return f"if({broken}, {WORD | LINES}, {WORD})"


def _clock_ok(column: str) -> str:
    return f"try_cast(regexp_extract({column}, '^{_CLOCK}') as timestamp) is not null"
