"""How errors speak of what a user typed: shown safely, with the near miss named."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST_SHOWN = 120
_ELSEWHERE = {"master": "main"}
"""What others call it, which no likeness of letters would find."""


def shown(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """The text in quotes on one line: nothing in it can move the cursor or fail to print."""
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]}…{text[-half:]}"
    if text.isprintable():
        return f'"{text}"'
    return '"' + "".join(c if c.isprintable() else _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def did_you_mean(wanted: str, candidates: Iterable[str]) -> str:
    """A hint to append to a message: ' Did you mean "orders"?', or '' when nothing is near."""
    from difflib import get_close_matches  # only errors need it; starting up does not

    folded = {name.casefold(): name for name in candidates}
    near = get_close_matches(wanted.casefold(), folded, n=1, cutoff=0.6)
    if (other := _ELSEWHERE.get(wanted)) in folded:
        near = [other]
    return f" Did you mean {shown(folded[near[0]])}?" if near else ""
