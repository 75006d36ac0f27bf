"""SQL-like texts in which two readers may see two things: one a comment or a string, one code.

`texts` makes them from well-formed queries with traps between their words, from traps around a
bait, and from traps alone. Of a text in which a reader finds `BAIT` as a function or a table,
every other reader has to find it too, or the text has to be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

BAIT = "bait"

_QUOTES = ("'", '"', "`", "''", '""', "``", "'''", '"""')
_ESCAPES = ("\\", "\\\\", "\\'", '\\"', "\\`", "\\n", "\\\n", "\\\r\n", "\\\r", "\\u0027", "\\047")
_PREFIXES = (
    "r'", 'r"', "R'", "x'", "X'", "b'", "B'", "e'", "E'", "n'", "N'", "u&'", "U&'", "_utf8'",
    "date'", "interval'", "raw'", "q'[", "]'",
)  # fmt: skip
_COMMENTS = ("--", "-- ", "---", "//", "#", "/*", "*/", "/**", "/*/", "**/", "/*+", "/*!", "/* /* ")
_HINTS = ("/*+ x */", "/*+ x('/*') */", "/*+ x(", "/*+ BROADCAST(a), */", ") */", "/*+ '*/")
_DOLLARS = ("$", "$$", "$a$", "$1$", "$1x$", "$_$", "$é$", "$a", "$1", "$-1$", "$$a$$", "${a}")
_TEMPLATES = ("{", "}", "{{", "}}", "{%", "%}", "{#", "#}", "{%- ", " -%}", "{{ a }}", "{'a': 1}")
_SPACES = (
    " ", "\n", "\r", "\r\n", "\t", "\v", "\f", "\x00", "\x1a", "\x85", "\xa0", "\u2028", "\u2029",
    "\u200b", "\u3000", "\ufeff", "\u180e",
)  # fmt: skip
_LETTERS = ("é", "ſ", "İ", "ı", "\u212a", "𝒜", "＇", "＂", "′", "‘", "’", "\u0301", "\ud7ff", "🦆")
_MARKS = (
    "@", "@@", "?", ":a", ":", "::", "|>", "|", "=>", "->", "%", "!", "~", ";", ",", "(", ")", "[",
    "]", ".", "..", "*", "+", "-", "<", ">", "=", "^", "&", "/", "1", "1e", "1.e1", "0x1f", "a",
    "A", "_", "1a", "a1", "1_0", ".1", "1.", "1L", "1BD", "!=", "<=>", "<>",
)  # fmt: skip
_WORDS = (
    "SELECT", "FROM", "WHERE", "AS", "AND", "NULL", "TABLE", "VALUES", "WITH", "USING", "AT",
    "LATERAL", "UNION ALL", "IN", "JOIN", "ON", "END", "BEGIN", "SET", "EXPLAIN", "ESCAPE '!'",
)  # fmt: skip
_KINDS = (
    _QUOTES, _QUOTES, _ESCAPES, _ESCAPES, _PREFIXES, _COMMENTS, _COMMENTS, _HINTS, _DOLLARS,
    _TEMPLATES, _SPACES, _SPACES, _LETTERS, _MARKS, _WORDS,
)  # fmt: skip
_PAIRS = (
    ("'", "'"), ('"', '"'), ("`", "`"), ("/*", "*/"), ("/*+", "*/"), ("/*/*", "*/*/"), ("--", "\n"),
    ("--\\\n", "\n"), ("#", "\n"), ("//", "\n"), ("$$", "$$"), ("$a$", "$a$"), ("$1x$", "$1x$"),
    ("{#", "#}"), ("{{", "}}"), ("{%", "%}"), ("r'", "'"), ("e'", "'"), ("'\\", "'"),
    ("'''", "'''"), ("r'\\", "'"), ('"\\', '"'), ("x'", "'"), ("q'[", "]'"), ("/*'", "'*/"),
    ("'/*", "*/'"),
)  # fmt: skip
_BAITS = (
    "bait(1)", "bait (1)", "`bait`(1)", '"bait"(1)', "bait\n(1)", "BAIT(1)", "bait/**/(1)",
    "(SELECT 1 FROM bait)", "(SELECT 1 FROM `bait`)", '(SELECT 1 FROM "bait")', "(FROM bait)",
    "(TABLE bait)", "(WITH b AS (SELECT bait(1)) SELECT * FROM b)",
    "a.bait(1)", "exists(FROM bait)",
)  # fmt: skip
_QUERIES = (
    "SELECT 1 AS a , {} FROM t WHERE a = 'x'",
    "SELECT {}",
    "SELECT 'a' , {} , 'b'",
    "SELECT a , count(*) FROM t , {} s GROUP BY a",
    "WITH c AS ( SELECT {} ) SELECT * FROM c",
    "SELECT * FROM t WHERE a IN ( 1 , {} )",
    "SELECT * FROM t JOIN {} u ON t.a = u.a ORDER BY 1",
    "VALUES ( 1 , {} )",
    "SELECT 1 UNION ALL SELECT {}",
    "SELECT CASE WHEN {} THEN 'a' ELSE \"b\" END AS `c`",
    "SELECT 1 AS a -- {}",
    "SELECT 1 /* {} */ AS a",
    "SELECT '{}' AS a",
    'SELECT "{}" AS a',
    "SELECT * FROM `{}`",
)


def texts(chance: Random, count: int) -> Iterator[str]:
    """So many texts, the same ones for the same `chance`."""
    ways = (_sprinkled, _sprinkled, _around, _around, _around, _hidden, _hidden, _soup)
    for _ in range(count):
        yield chance.choice(ways)(chance)


def _sprinkled(chance: Random) -> str:
    """A query with traps between some of its words."""
    words = chance.choice(_QUERIES).format(chance.choice(_BAITS)).split(" ")
    return "".join(
        word + (" " if chance.random() < 0.8 else f" {_traps(chance, 3)} ") for word in words
    )


def _around(chance: Random) -> str:
    """A bait with traps before and behind it."""
    bait = f"{_traps(chance, 5)} , {chance.choice(_BAITS)} {_traps(chance, 4)}"
    return chance.choice(("SELECT 1 {}", "SELECT 1 {}", *_QUERIES)).format(bait)


def _hidden(chance: Random) -> str:
    """A bait between what opens and closes strings or comments, twice, in any order."""
    opens, closes = chance.choice(_PAIRS)
    other, end = chance.choice(_PAIRS)
    parts = [opens, other, closes, end]
    if chance.random() < 0.5:
        chance.shuffle(parts)
    parts.insert(chance.randint(1, 3), f" , {chance.choice(_BAITS)} ")
    between = [_traps(chance, 1) if chance.random() < 0.3 else "" for _ in parts]
    inside = "".join(part + trap for part, trap in zip(parts, between, strict=True))
    return chance.choice(("SELECT 1 {}", "SELECT 1 {}", *_QUERIES)).format(inside)


def _soup(chance: Random) -> str:
    start = chance.choice(("SELECT ", "SELECT 1 ", "FROM t ", "WITH a AS (", ""))
    return start + _traps(chance, 12) + chance.choice(("", f" {chance.choice(_BAITS)} "))


def _traps(chance: Random, most: int) -> str:
    return "".join(chance.choice(chance.choice(_KINDS)) for _ in range(chance.randint(1, most)))
