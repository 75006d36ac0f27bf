"""What goes wrong, in the words of S3."""

from __future__ import annotations

from trunkline.errors import (
    AlreadyExists,
    BranchMoved,
    CommitUnfinished,
    DiskFull,
    Erased,
    InUse,
    InvalidPath,
    InvalidRef,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    TooLarge,
    TooManyRequests,
    TrunklineError,
    Unavailable,
    Usage,
)

STATUS = {
    "AccessDenied": 403,
    "AuthorizationHeaderMalformed": 400,
    "AuthorizationQueryParametersError": 400,
    "BadDigest": 400,
    "BucketAlreadyExists": 409,
    "BucketAlreadyOwnedByYou": 409,
    "BucketNotEmpty": 409,
    "EntityTooLarge": 400,
    "EntityTooSmall": 400,
    "IncompleteBody": 400,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidArgument": 400,
    "InvalidBucketName": 400,
    "InvalidDigest": 400,
    "InvalidPart": 400,
    "InvalidPartOrder": 400,
    "InvalidRange": 416,
    "InvalidRequest": 400,
    "InvalidToken": 400,
    "KeyTooLongError": 400,
    "MalformedXML": 400,
    "MethodNotAllowed": 405,
    "MissingContentLength": 411,
    "MissingSecurityHeader": 400,
    "NoSuchBucket": 404,
    "NoSuchKey": 404,
    "NoSuchUpload": 404,
    "NotImplemented": 501,
    "NotModified": 304,
    "OperationAborted": 409,
    "PreconditionFailed": 412,
    "RequestTimeTooSkewed": 403,
    "RequestTimeout": 400,
    "ServiceUnavailable": 503,
    "SignatureDoesNotMatch": 403,
    "SlowDown": 503,
    "XAmzContentSHA256Mismatch": 400,
}


class S3Error(Exception):
    """An answer that is an error. `headers` go with it."""

    def __init__(self, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = STATUS[code]
        self.headers = headers or {}


def translated(error: TrunklineError) -> S3Error:
    """An error of ours as S3 would say it; the hint goes along."""
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    said = f"{error.message} {error.hint}".strip()
    return S3Error(code, said, {"Retry-After": "1"} if STATUS[code] == 503 else None)


# The first that fits. Tags and finished commits never change: they are bad places to write to.
_CODES: tuple[tuple[type[TrunklineError], str], ...] = (
    (Erased, "NoSuchKey"),
    (NotFound, "NoSuchKey"),
    (NotAuthenticated, "AccessDenied"),
    (NotAllowed, "AccessDenied"),
    (TooManyRequests, "SlowDown"),
    (DiskFull, "ServiceUnavailable"),
    (Unavailable, "ServiceUnavailable"),
    (InvalidPath, "InvalidArgument"),
    (InvalidRef, "InvalidArgument"),
    (TooLarge, "EntityTooLarge"),
    (Usage, "InvalidArgument"),
    (AlreadyExists, "OperationAborted"),
    (BranchMoved, "OperationAborted"),
    (InUse, "OperationAborted"),
    (CommitUnfinished, "InvalidRequest"),
    (TrunklineError, "InvalidRequest"),
)
