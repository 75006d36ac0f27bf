"""Tokens that were seen lately, so that a request need not ask the catalog who sends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fastapi.concurrency import run_in_threadpool

from trunkline.lake.access import Known, look_up, split_token
from trunkline.lake.core import Core
from trunkline.lake.rights import rights_bell
from trunkline.model.access import Principal
from trunkline.model.time import now_micros

FRESH_SECONDS = 3.0
MOST = 10_000
TOUCH_MICROS = 60 * 1_000_000

Used = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class _Seen:
    known: Known | None
    until: float
    rings: int


class Identity:
    """Finds out whose a token is.

    What another process changed is seen within seconds, what this one changed at once.
    `used` is told, at most once a minute for each token, that it was.
    """

    def __init__(self, core: Core, used: Used) -> None:
        self._core = core
        self._bell = rights_bell(core)
        self._used = used
        self._seen: dict[str, _Seen] = {}
        self._touched: dict[str, int] = {}

    async def of_token(self, text: str, kinds: tuple[str, ...]) -> Principal | None:
        """Who has this token, if it is good and of one of the kinds."""
        given = split_token(text)
        if given is None:
            return None
        token_id, digest = given
        seen = self._fresh(token_id)
        known = seen.known if seen else await run_in_threadpool(self._look_up, token_id)
        if known is None or not known.is_good(digest, now_micros()) or known.kind not in kinds:
            return None
        self._touch(token_id, known)
        return known.principal

    def of_id(self, token_id: str, kinds: tuple[str, ...] = ("user", "job")) -> Principal | None:
        """Whose token has this id: for those who have proved in another way that they have it."""
        seen = self._fresh(token_id)
        known = seen.known if seen else self._look_up(token_id)
        if known is None or known.kind not in kinds:
            return None
        if not known.is_good(known.hash, now_micros()):
            return None
        self._touch(token_id, known)
        return known.principal

    def _fresh(self, token_id: str) -> _Seen | None:
        seen = self._seen.get(token_id)
        if seen is None or seen.rings != self._bell.count() or seen.until < time.monotonic():
            return None
        return seen

    def _look_up(self, token_id: str) -> Known | None:
        # Counted before it is read: a change in between makes what was read old.
        rings = self._bell.count()
        known = look_up(self._core, token_id)
        if known is not None:
            if len(self._seen) >= MOST:
                self._seen.clear()
            self._seen[token_id] = _Seen(known, time.monotonic() + FRESH_SECONDS, rings)
        return known

    def _touch(self, token_id: str, known: Known) -> None:
        now = now_micros()
        last = self._touched.get(token_id, known.last_used or 0)
        if now - last < TOUCH_MICROS:
            return
        if len(self._touched) >= MOST:
            self._touched.clear()
        self._touched[token_id] = now
        self._used(token_id, now)
