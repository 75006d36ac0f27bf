"""Specs as YAML that reads well and can be applied again.

A YAML library would take longer to load than the rest of the command takes to answer, and
spreads each argument of a command over a line of its own. Every JSON text is YAML too, so
whatever is not plainly a word is quoted as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

WIDTH = 88
_WORD = re.compile(r"-{0,2}[A-Za-z_./][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*").fullmatch
# Words that YAML, in one version or another, takes for something other than text.
_NOT_TEXT = re.compile(r"(y|n|yes|no|on|off|true|false|null|[.][0-9.eE+-]*|[.](inf|nan))", re.I)


def lines(spec: Mapping[str, object]) -> Iterator[str]:
    for key, value in spec.items():
        yield from _entry(f"{_scalar(key)}:", value)


def _entry(head: str, value: object) -> Iterator[str]:
    flat = _flow(value)
    if flat is not None and len(head) + len(flat) < WIDTH:
        yield f"{head} {flat}"
    elif isinstance(value, Mapping):
        yield head
        for line in lines(value):
            yield f"  {line}"
    elif isinstance(value, list | tuple):
        yield head
        for member in value:
            yield from _member(member)
    elif isinstance(value, str) and _is_block(value):
        yield f"{head} |" if value.endswith("\n") else f"{head} |-"
        for line in value.removesuffix("\n").split("\n"):
            yield f"  {line}" if line else ""
    else:
        yield f"{head} {_scalar(value)}"


def _member(value: object) -> Iterator[str]:
    """A member of a list: its dash stands where the first line would be indented."""
    flat = _flow(value)
    if flat is not None:
        yield f"  - {flat}"
    elif isinstance(value, Mapping):
        for number, line in enumerate(lines(value)):
            yield f"    {line}" if number else f"  - {line}"
    else:
        yield f"  - {_scalar(value)}"


def _flow(value: object) -> str | None:
    """On one line, if it is no deeper than a list or map of scalars."""
    if isinstance(value, Mapping):
        inside = [(_scalar(k), v) for k, v in value.items()]
        if any(isinstance(v, Mapping | list | tuple) or _long(v) for _, v in inside):
            return None
        return "{" + ", ".join(f"{key}: {_scalar(v, True)}" for key, v in inside) + "}"
    if isinstance(value, list | tuple):
        if any(isinstance(v, Mapping | list | tuple) or _long(v) for v in value):
            return None
        return "[" + ", ".join(_scalar(v, True) for v in value) + "]"
    return None if _long(value) else _scalar(value)


def _long(value: object) -> bool:
    return isinstance(value, str) and "\n" in value


def _is_block(text: str) -> bool:
    """Whether `|` or `|-` keeps the text exactly."""
    body = text.removesuffix("\n")
    plain = all(line.isprintable() and line == line.rstrip() for line in body.split("\n"))
    return plain and body[:1] not in ("", " ", "\n") and body[-1] != "\n"


def _scalar(value: object, in_flow: bool = False) -> str:
    if isinstance(value, str) and _WORD(value) and not _NOT_TEXT.fullmatch(value):
        return value
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    text = json.dumps(value)
    # 1e-06 is text to YAML: a number with an exponent has a point, and the exponent a sign.
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text


def _escaped(char: str) -> str:
    """As JSON has it; but there, the characters that need it most are written as two."""
    if ord(char) > 0xFFFF and not char.isprintable():
        return f"\\U{ord(char):08x}"
    return json.dumps(char, ensure_ascii=not char.isprintable())[1:-1]
