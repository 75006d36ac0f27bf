"""Everything that can be asked at the door, and what each needs.

A request is of an operation by its method, by whether it names a bucket and a key, and by
parameters of its query that stand for a kind of thing (`?uploads`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from trunkline.model.access import Permission
from trunkline.server.s3 import buckets, multipart, reading, writing
from trunkline.server.s3.asked import Asked
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.visits import Answer, Visit

READ, WRITE, MAINTAIN = Permission.READ, Permission.WRITE, Permission.MAINTAIN


class Level(StrEnum):
    SERVICE = "service"
    BUCKET = "bucket"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Operation:
    """`needs` is on the bucket's repo. None: the operation sees to it itself."""

    name: str
    method: str
    level: Level
    needs: Permission | None
    act: Callable[[Visit], Answer]
    marks: tuple[str, ...] = ()
    header: str = ""

    @property
    def path(self) -> str:
        """What the log calls it, where routes have paths."""
        return f"s3:{self.name}"

    def fits(self, asked: Asked) -> bool:
        if self.header and self.header not in asked.headers:
            return False
        return all(asked.asks(mark) for mark in self.marks)


_S, _B, _O = Level.SERVICE, Level.BUCKET, Level.OBJECT
_COPY = "x-amz-copy-source"

# Of those with the same method and level the first that fits is meant.
OPERATIONS = (
    Operation("ListBuckets", "GET", _S, None, buckets.list_buckets),
    Operation("CreateBucket", "PUT", _B, None, buckets.create_bucket),
    Operation("HeadBucket", "HEAD", _B, READ, buckets.head_bucket),
    Operation("DeleteBucket", "DELETE", _B, MAINTAIN, buckets.delete_bucket),
    Operation("GetBucketLocation", "GET", _B, READ, buckets.get_location, ("location",)),
    Operation("GetBucketVersioning", "GET", _B, READ, buckets.get_versioning, ("versioning",)),
    Operation("ListMultipartUploads", "GET", _B, WRITE, multipart.list_uploads, ("uploads",)),
    Operation("ListObjectsV2", "GET", _B, READ, buckets.list_objects_v2, ("list-type",)),
    Operation("ListObjects", "GET", _B, READ, buckets.list_objects),
    Operation("DeleteObjects", "POST", _B, WRITE, writing.delete_objects, ("delete",)),
    Operation("HeadObject", "HEAD", _O, READ, reading.head_object),
    Operation("ListParts", "GET", _O, WRITE, multipart.list_parts, ("uploadId",)),
    Operation("GetObjectAttributes", "GET", _O, READ, reading.get_attributes, ("attributes",)),
    Operation("GetObjectTagging", "GET", _O, READ, reading.get_tagging, ("tagging",)),
    Operation("GetObject", "GET", _O, READ, reading.get_object),
    Operation("UploadPartCopy", "PUT", _O, WRITE, multipart.upload_part_copy, ("uploadId",), _COPY),
    Operation("UploadPart", "PUT", _O, WRITE, multipart.upload_part, ("uploadId",)),
    Operation("CopyObject", "PUT", _O, WRITE, writing.copy_object, (), _COPY),
    Operation("PutObject", "PUT", _O, WRITE, writing.put_object),
    Operation("CreateMultipartUpload", "POST", _O, WRITE, multipart.create_upload, ("uploads",)),
    Operation(
        "CompleteMultipartUpload", "POST", _O, WRITE, multipart.complete_upload, ("uploadId",)
    ),
    Operation("AbortMultipartUpload", "DELETE", _O, WRITE, multipart.abort_upload, ("uploadId",)),
    Operation("DeleteObject", "DELETE", _O, WRITE, writing.delete_object),
)

# Things that a bucket or an object has in S3. Whoever asks for one does not mean the whole.
THINGS = frozenset(
    (
        "accelerate",
        "acl",
        "analytics",
        "attributes",
        "cors",
        "delete",
        "encryption",
        "intelligent-tiering",
        "inventory",
        "legal-hold",
        "lifecycle",
        "location",
        "logging",
        "metadataTable",
        "metrics",
        "notification",
        "object-lock",
        "ownershipControls",
        "policy",
        "policyStatus",
        "publicAccessBlock",
        "replication",
        "requestPayment",
        "restore",
        "retention",
        "select",
        "session",
        "tagging",
        "torrent",
        "uploadId",
        "uploads",
        "versioning",
        "versions",
        "website",
        "append",
        "rename",
        "renameObject",
        "metadataConfiguration",
        "metadataInventoryTable",
        "abac",
    )
)


def operation_of(asked: Asked) -> Operation:
    level = Level.OBJECT if asked.key else Level.BUCKET if asked.bucket else Level.SERVICE
    things = {name for name, _ in asked.query if name in THINGS}
    if asked.value("versionId", "null") != "null":
        raise S3Error("NotImplemented", "Name a version by its ref: <commit id>/<path>.")
    known = [one for one in OPERATIONS if one.level is level and one.method == asked.method]
    for one in known:
        if one.fits(asked) and things <= set(one.marks):
            return one
    if things or asked.method == "POST":
        what = ", ".join(sorted(things)) or "a form"
        raise S3Error("NotImplemented", f"{asked.method} of {what} is not known here.")
    raise S3Error("MethodNotAllowed", f"{asked.method} is not allowed here.")
