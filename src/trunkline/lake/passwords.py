"""Passwords: what is one, and how it is kept (argon2id)."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from trunkline.errors import Usage

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 10
LONGEST = 1024

# One takes 64 MiB while it runs: so many at once, whatever number of logins come.
_turns = threading.BoundedSemaphore(2)


def hash_password(name: str, password: str) -> str:
    """What is kept of a password, or `Usage` if it is too easy to guess."""
    if len(password) < SHORTEST:
        raise Usage(f"The password is too short: give {SHORTEST} characters or more.")
    if len(password) > LONGEST:
        raise Usage(f"The password is too long: give {LONGEST:,} characters at most.")
    if password.casefold() == name.casefold():
        raise Usage("The password is the name of the user.", hint="Choose another.")
    with _turns:
        return _hasher().hash(password)


def is_password(kept: str | None, password: str) -> bool:
    """Whether this is the password. Takes as long where there is none to compare with."""
    from argon2.exceptions import Argon2Error, InvalidHashError

    if len(password) > LONGEST:
        return False
    with _turns:
        try:
            _hasher().verify(kept or _of_nobody(), password)
        except (Argon2Error, InvalidHashError):
            return False
    return kept is not None


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _of_nobody() -> str:
    return _hasher().hash("nobody has this password")
