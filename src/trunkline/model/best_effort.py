"""What nothing depends on may fail, but not in silence."""

from __future__ import annotations

_logged: set[tuple[str, type[Exception]]] = set()


class BestEffort:
    """Around what may fail: an error ends it, and is logged once, with its traceback.

    At "debug", since most of these speak to what may be gone; louder where a feature is lost.
    """

    def __init__(self, doing: str, level: str = "debug") -> None:
        self._doing, self._level = doing, level

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception) and (self._doing, type(error)) not in _logged:
            import logging

            _logged.add((self._doing, type(error)))
            log = getattr(logging.getLogger("trunkline"), self._level)
            log("%s failed; nothing depends on it", self._doing, exc_info=error)
        return isinstance(error, Exception)
