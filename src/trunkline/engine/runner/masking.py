"""Values of secrets taken out of text, in the forms programs print them in."""

from __future__ import annotations

import base64
import json
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote, quote_plus

MASK = "***"

# Shorter ones would turn half of the log into stars and are no secrets.
_SHORTEST = 4


def masker(secrets: Mapping[str, str]) -> Callable[[str], str]:
    """A function that replaces every form of every secret by stars."""
    forms = {form for value in secrets.values() for form in _forms(value)}
    forms = {form for form in forms if len(form) >= _SHORTEST}
    if not forms:
        return str
    longest_first = sorted(forms, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return lambda text: pattern.sub(MASK, text)


def masked_traceback(error: BaseException, secrets: Mapping[str, str]) -> str:
    """An error and where it came from, for a log."""
    return masker(secrets)("".join(traceback.format_exception(error)).rstrip())


def _forms(value: str) -> Iterator[str]:
    if len(value) < _SHORTEST:
        return
    yield value
    # Text is seen line by line: so is a secret of several lines, such as a private key.
    yield from value.splitlines()
    raw = value.encode(errors="surrogateescape")
    yield raw.hex()
    yield raw.hex().upper()
    yield repr(value)[1:-1]
    yield json.dumps(value)[1:-1]
    yield quote(value, safe="", errors="surrogateescape")
    yield quote_plus(value, errors="surrogateescape")
    yield from _inside_base64(raw)


def _inside_base64(raw: bytes) -> Iterator[str]:
    """Base64 of the value at each of the three places it can have in a longer text.

    Only the characters that depend on the value alone: "user:secret" is found by them too.
    """
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode()
        for shift in range(3):
            text = encode(b"\0" * shift + raw).decode()
            first = -(-shift * 8 // 6)
            last = (shift + len(raw)) * 8 // 6
            inside = text[first:last]
            if len(inside) >= 2 * _SHORTEST:
                yield inside
