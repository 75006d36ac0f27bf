"""What went wrong in a bucket, in one line.

The texts of obstore span many lines and may quote a request's signature. Only the HTTP status
and the store's error code are taken from them.
"""

from __future__ import annotations

import re

from trunkline import errors

_code = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
_status = re.compile(r"status code: (\d{3})")

_NO_BUCKET = frozenset(("NoSuchBucket", "ContainerNotFound", "InvalidBucketName"))
_CREDENTIALS = frozenset(
    (
        "AccessDenied",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "InvalidToken",
        "ExpiredToken",
        "AuthorizationHeaderMalformed",
        "AuthenticationFailed",
        "InvalidSecurity",
    )
)
_FULL = frozenset(("XMinioStorageFull", "QuotaExceeded", "InsufficientStorage"))
_REFUSED = frozenset(("PermissionDeniedError", "UnauthenticatedError"))
_INSTANCE = "/latest/api/token"


def translate(error: Exception, where: str, key: str) -> Exception:
    """The error of the port for one that obstore raised."""
    if isinstance(error, (errors.TrunklineError, NotImplementedError)):
        return error
    text = str(error)
    code = found[1] if (found := _code.search(text)) else ""
    status = int(found[1]) if (found := _status.search(text)) else 0
    kind = type(error).__name__
    said = f" ({code or status})" if code or status else ""
    if code in _NO_BUCKET:
        return errors.NotFound(
            f"There is no bucket at {where}.", hint="Create it, or correct the name."
        )
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(key)
    if code in _FULL or status == 507:
        return errors.DiskFull(f"No space left for objects in {where}{said}.")
    if code in _CREDENTIALS or status in (401, 403) or kind in _REFUSED:
        return errors.NotAllowed(
            f"{where} refuses these credentials{said}.",
            hint="Check the key, its permissions, and the region and endpoint.",
        )
    if _INSTANCE in text or "credential" in text.partition("\n")[0].lower():
        return errors.NotAllowed(
            f"No credentials for {where}.",
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
        )
    if 400 <= status < 500 and status not in (408, 429):
        return errors.Failed(f"{where} rejects a request{said}.")
    return errors.Unavailable(
        f"{where} does not answer{said}.",
        hint="Check the endpoint and the region, then try again; nothing was changed.",
    )
