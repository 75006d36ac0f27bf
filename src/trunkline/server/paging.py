"""Lists in pages: a cursor stands for the last item seen, so that new ones shift nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, TypeVar

from fastapi import Query

from trunkline.errors import Usage
from trunkline.sdk.wire.values import Page

Item = TypeVar("Item")

MOST = 1000
MOST_DIGITS = 18
"""Of numbers in cursors: so many fit into 64 bits."""
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many items at most.")]
Cursor = Annotated[str | None, Query(description="Go on after the page that gave this as `next`.")]


def page(
    items: Iterable[Item], key: Callable[[Item], str], limit: int, cursor: str | None
) -> Page[Item]:
    """The items after the cursor's, in the order of their keys."""
    after = decoded(cursor)
    left = sorted(items, key=key)
    if after is not None:
        left = [one for one in left if key(one) > after]
    shown = left[:limit]
    return Page(shown, encoded(key(shown[-1])) if len(left) > limit else None)


def page_in_order(items: Iterable[Item], key: Callable[[Item], str], limit: int) -> Page[Item]:
    """The first of items that come in order, and begin after the cursor already."""
    shown = list(islice(items, limit + 1))
    more = len(shown) > limit
    shown = shown[:limit]
    return Page(shown, encoded(key(shown[-1])) if more else None)


def page_by_number(items: Iterable[Item], limit: int, cursor: str | None) -> Page[Item]:
    """Items that always come in the same order: the cursor counts, and no more are made."""
    first = row_of(cursor)
    shown = list(islice(items, first, first + limit + 1))
    more = len(shown) > limit
    return Page(shown[:limit], encoded(str(first + limit)) if more else None)


def row_of(cursor: str | None) -> int:
    """The number of the row that a cursor stands for, 0 without one."""
    text = decoded(cursor) or "0"
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise Usage("This cursor is none of this server's.", hint="Leave it out to start anew.")
    return int(text)


def encoded(key: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decoded(cursor: str | None) -> str | None:
    """What a cursor stands for, or `Usage` if it is none of ours."""
    if not cursor:
        return None
    try:
        found = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise Usage("This cursor is none of this server's.", hint="Leave it out to start anew.")
    return found
