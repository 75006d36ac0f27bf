"""The key of a served lake, and what is derived from it: signatures and secrets of the S3 door.

It is 32 random bytes in a file of the lake's folder that only its owner can read. Servers that
share a lake share the key through the environment: TRUNKLINE_SERVER_KEY.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from trunkline.errors import Failed, ReadOnly, Usage

FILE = "server.key"
VARIABLE = "TRUNKLINE_SERVER_KEY"
LENGTH = 32


def server_key(folder: Path) -> bytes:
    """The key of the lake in a folder (`…/.trunkline`); made when it is first needed."""
    if told := os.environ.get(VARIABLE):
        if len(told) < LENGTH:
            raise Usage(f"{VARIABLE} is too short.", hint=f"Give {LENGTH} characters or more.")
        return hashlib.sha256(told.encode()).digest()
    path = folder / FILE
    try:
        return _read(path)
    except FileNotFoundError:
        return _made(path)


def sign(key: bytes, purpose: str, data: str | bytes) -> str:
    """A signature that only the holder of the key can make; one purpose's fits no other."""
    text = data.encode() if isinstance(data, str) else data
    return _mac(key, f"{purpose}:".encode() + text)


def verify(key: bytes, purpose: str, data: str | bytes, signature: str) -> bool:
    """Whether `sign` made this signature. Takes as long whatever is wrong with it."""
    return hmac.compare_digest(sign(key, purpose, data).encode(), signature.encode())


def s3_secret(key: bytes, token_id: str) -> str:
    """The secret key that belongs to a token at the S3 door."""
    return _mac(key, f"s3:{token_id}".encode())


def s3_access_key(token_id: str) -> str:
    return f"tl_{token_id}"


def _mac(key: bytes, data: bytes) -> str:
    made = hmac.new(key, data, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(made).decode().rstrip("=")


def _read(path: Path) -> bytes:
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Failed(f"{path} cannot be read: {error.strerror}.") from None
    if len(key) != LENGTH:
        raise Failed(f"{path} is damaged.", hint="Restore it, or delete it to make another.")
    return key


def _made(path: Path) -> bytes:
    """A new key, unless another process was first: then that one's."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(handle, "wb") as file:
                file.write(secrets.token_bytes(LENGTH))
                file.flush()
                os.fsync(file.fileno())
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise ReadOnly(f"{path} cannot be written: {error.strerror}.") from None
    return _read(path)
