"""How damage is reported: always the path and the hash that was expected."""

from __future__ import annotations

from trunkline import errors


def corrupt(path: str, expected: str, key: str) -> errors.CorruptObject:
    return errors.CorruptObject(
        f"The bytes of {path} are damaged: expected BLAKE3 {expected} in {key}.",
        hint="Run `trunkline fsck --deep`, and put the file again from its source",
    )


def missing(path: str, expected: str, key: str) -> errors.CorruptObject:
    return errors.CorruptObject(
        f"The bytes of {path} are gone: expected BLAKE3 {expected} in {key}.",
        hint="Run `trunkline fsck`, and put the file again from its source",
    )
