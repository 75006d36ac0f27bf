"""Receipts: what the server stored for a transaction, signed so that nobody can name more."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from trunkline.errors import Usage
from trunkline.lake.keys import server_key, sign, verify

_PURPOSE = "receipt"
_key_of = cache(server_key)


class Receipts:
    """Those of one transaction, from the moment it was opened."""

    def __init__(self, folder: Path, txn: str, started: int) -> None:
        self._key = _key_of(folder)
        self._scope = f"{txn} {started} ".encode()

    def give(self, line: bytes) -> str:
        return f"{sign(self._key, _PURPOSE, self._scope + line)}\t{line.decode()}"

    def take(self, receipt: str) -> bytes:
        """The line of a receipt that was given in this transaction."""
        signature, _, text = receipt.partition("\t")
        try:
            line = text.encode()
            if line and verify(self._key, _PURPOSE, self._scope + line, signature):
                return line
        except UnicodeEncodeError:
            pass
        raise Usage(
            "A receipt is none that this server gave in this transaction.",
            hint="Upload the file again.",
        )
