"""Reading a file through a server: bytes as they come, and known to be the right ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import httpx2
from blake3 import blake3

from trunkline.errors import CorruptObject, Unavailable

PIECE = 1 << 20
TRIES = 5


class Body(Iterator[bytes]):
    """The bytes of a file as they come; those of a whole one are compared with its hash.

    An answer that breaks off is asked for again from there on, as long as the file is the same.
    """

    def __init__(
        self,
        ask: Callable[[int], AbstractContextManager[httpx2.Response]],
        start: int,
        path: str,
        whole: bool,
    ) -> None:
        self._ask = ask
        self._at = start
        self._path = path
        self._hasher = blake3() if whole else None
        self._tries = TRIES
        self._open = False
        self._expected = self._begin()

    def __next__(self) -> bytes:
        if not self._open:
            raise StopIteration
        piece = self._piece()
        while piece is None:
            piece = self._piece()
        if not piece:
            self.close()
            self._compare()
            raise StopIteration
        self._at += len(piece)
        if self._hasher is not None:
            self._hasher.update(piece)
        return piece

    def close(self) -> None:
        if self._open:
            self._open = False
            self._asked.__exit__(None, None, None)

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self.close()

    def _begin(self) -> str:
        """Ask for all that is left; the hash of the file."""
        self._asked = self._ask(self._at)
        answer = self._asked.__enter__()
        self._open = True
        self._pieces = answer.iter_bytes(PIECE)
        return answer.headers.get("ETag", "").strip('"')

    def _piece(self) -> bytes | None:
        """The next bytes, none at the end; None where the answer broke off and was begun anew."""
        try:
            return next(self._pieces, b"")
        except BaseException as error:
            self._open = False
            try:
                # The client says in its own words what broke.
                self._asked.__exit__(type(error), error, error.__traceback__)
            except Unavailable:
                self._tries -= 1
                if not self._tries or self._begin() != self._expected:
                    raise
                return None
            raise

    def _compare(self) -> None:
        if self._hasher is not None and self._hasher.hexdigest() != self._expected:
            raise damaged(self._path, self._expected)


def damaged(path: str, expected: str) -> CorruptObject:
    return CorruptObject(
        f"The bytes of {path} are damaged: expected BLAKE3 {expected}.",
        hint="Run `trunkline fsck --deep`, and put the file again from its source",
    )
