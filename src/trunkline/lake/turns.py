"""Writers of one process to one branch, one after another: of two that go at once, one loses.

Nothing relies on it. Other processes know nothing of it, and who has waited long goes on without.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from weakref import WeakValueDictionary

from trunkline.model.refs import Ref

PATIENCE_SECONDS = 10.0

_turns: WeakValueDictionary[tuple[str, Ref], Turn] = WeakValueDictionary()
_lock = threading.Lock()


class Turn:
    """A branch's. The same thread may have it twice."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        held = self._lock.acquire(timeout=PATIENCE_SECONDS)
        try:
            yield
        finally:
            if held:
                self._lock.release()


@contextmanager
def in_turn(database_url: str, branches: Iterable[Ref]) -> Iterator[None]:
    """Have the turns of all these branches, always taken in the same order."""
    with ExitStack() as stack:
        for branch in sorted(set(branches), key=str):
            with _lock:
                turn = _turns.setdefault((database_url, branch), Turn())
            stack.enter_context(turn.taken())
        yield
