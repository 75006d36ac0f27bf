"""Uploads in parts: begun, fed, completed or aborted, and listed."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from trunkline.lake import files
from trunkline.server.s3.asked import Asked
from trunkline.server.s3.conditions import byte_range, check_read, etag, write_condition
from trunkline.server.s3.documents import Node, moment, read_document
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.gathering import Write
from trunkline.server.s3.reading import changed, look
from trunkline.server.s3.storing import refuse_unwritable, stored, tag_of
from trunkline.server.s3.uploads import Part, Upload
from trunkline.server.s3.visits import Answer, Visit, xml
from trunkline.server.s3.writing import refuse_promises, source_of

MOST_PARTS = 10_000
SMALLEST_PART = 5 << 20
_LARGEST_XML = 8 << 20
_PAGE = 1000


def create_upload(visit: Visit) -> Answer:
    refuse_promises(visit.asked)
    key = visit.key()
    if key.is_folder:
        raise S3Error("InvalidArgument", "A key that ends with a slash has no bytes.")
    refuse_unwritable(visit.door, key)
    upload = visit.door.uploads.begin(_repo(visit), key.text, visit.author)
    return xml(
        "InitiateMultipartUploadResult",
        [("Bucket", visit.asked.bucket), ("Key", key.text), ("UploadId", upload.id)],
    )


def upload_part(visit: Visit) -> Answer:
    upload, number = _upload(visit), _number(visit.asked)
    part = visit.door.uploads.add(upload, number, visit.pieces())
    return Answer(200, b"", {"ETag": part.etag})


def upload_part_copy(visit: Visit) -> Answer:
    upload, number = _upload(visit), _number(visit.asked)
    source = source_of(visit)
    entry, commit = look(visit.door, source)
    check_read(visit.asked, etag(entry), changed(commit), "x-amz-copy-source-")
    text = visit.asked.header("x-amz-copy-source-range")
    wanted = byte_range(text, entry.size) if text else None
    if text and wanted is None:
        raise S3Error("InvalidArgument", "x-amz-copy-source-range is not bytes=first-last.")
    start, length = wanted or (0, None)
    pieces = files.read(visit.door.core, entry, start, length)
    part = visit.door.uploads.add(upload, number, pieces)
    return xml("CopyPartResult", [("ETag", part.etag), ("LastModified", moment(part.modified))])


def complete_upload(visit: Visit) -> Answer:
    key, upload = visit.key(), _upload(visit)
    condition = write_condition(visit.asked)
    root = read_document(visit.body(_LARGEST_XML), "CompleteMultipartUpload")
    parts = _chosen(root.findall("Part"), visit.door.uploads.parts(upload))
    refuse_unwritable(visit.door, key)
    content: Iterator[bytes] = visit.door.uploads.content(parts)
    with stored(visit.door, key, visit.author, content) as act:
        visit.door.gathering.write(visit.author, key.ref, Write("PUT", [act], condition))
    visit.door.uploads.end(upload)
    return xml(
        "CompleteMultipartUploadResult",
        [
            ("Location", f"/{visit.asked.bucket}/{key.text}"),
            ("Bucket", visit.asked.bucket),
            ("Key", key.text),
            ("ETag", tag_of(act)),
        ],
    )


def abort_upload(visit: Visit) -> Answer:
    visit.door.uploads.end(_upload(visit))
    return Answer(204)


def list_parts(visit: Visit) -> Answer:
    upload = _upload(visit)
    after = _count(visit.asked, "part-number-marker", 0)
    most = min(_count(visit.asked, "max-parts", _PAGE), _PAGE)
    left = [one for one in _latest(visit.door.uploads.parts(upload)) if one.number > after]
    shown = left[:most]
    more = len(left) > len(shown)
    nodes: list[Node] = [
        ("Bucket", visit.asked.bucket),
        ("Key", upload.key),
        ("UploadId", upload.id),
        ("StorageClass", "STANDARD"),
        ("PartNumberMarker", str(after)),
        ("NextPartNumberMarker", str(shown[-1].number) if more and shown else None),
        ("MaxParts", str(most)),
        ("IsTruncated", "true" if more else "false"),
    ]
    for part in shown:
        inside: list[Node] = [
            ("PartNumber", str(part.number)),
            ("LastModified", moment(part.modified)),
            ("ETag", part.etag),
            ("Size", str(part.size)),
        ]
        nodes.append(("Part", inside))
    return xml("ListPartsResult", nodes)


def list_uploads(visit: Visit) -> Answer:
    asked = visit.asked
    most = min(_count(asked, "max-uploads", _PAGE), _PAGE)
    after = (asked.value("key-marker").encode(), asked.value("upload-id-marker"))
    prefix = asked.value("prefix")
    left = [
        one
        for one in visit.door.uploads.all(_repo(visit))
        if one.key.startswith(prefix) and _comes_after(one, after)
    ]
    shown = left[:most]
    more = len(left) > len(shown)
    nodes: list[Node] = [
        ("Bucket", asked.bucket),
        ("KeyMarker", asked.value("key-marker")),
        ("UploadIdMarker", asked.value("upload-id-marker")),
        ("NextKeyMarker", shown[-1].key if more and shown else None),
        ("NextUploadIdMarker", shown[-1].id if more and shown else None),
        ("Prefix", prefix),
        ("MaxUploads", str(most)),
        ("IsTruncated", "true" if more else "false"),
    ]
    for one in shown:
        who: list[Node] = [("ID", one.author), ("DisplayName", one.author)]
        inside: list[Node] = [
            ("Key", one.key),
            ("UploadId", one.id),
            ("Initiator", who),
            ("Owner", who),
            ("StorageClass", "STANDARD"),
            ("Initiated", moment(one.started)),
        ]
        nodes.append(("Upload", inside))
    return xml("ListMultipartUploadsResult", nodes)


def _comes_after(upload: Upload, after: tuple[bytes, str]) -> bool:
    key, upload_id = after
    mine = upload.key.encode()
    return mine > key or (mine == key and bool(upload_id) and upload.id > upload_id)


def _upload(visit: Visit) -> Upload:
    key = visit.key_to_read()
    return visit.door.uploads.find(visit.asked.value("uploadId"), _repo(visit), key.text)


def _repo(visit: Visit) -> str:
    """What tells a repo from every other: keys of deleted ones may be given again."""
    found = visit.lake.repo(f"{visit.repo.project}/{visit.repo.repo}")
    return f"{found.key}-{found.created}"


def _number(asked: Asked) -> int:
    number = _count(asked, "partNumber", 0)
    if not 1 <= number <= MOST_PARTS:
        raise S3Error("InvalidArgument", f"Parts are numbered from 1 to {MOST_PARTS}.")
    return number


def _count(asked: Asked, name: str, default: int) -> int:
    text = asked.value(name) or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise S3Error("InvalidArgument", f"{name} is no number.")
    return int(text)


def _latest(parts: list[Part]) -> list[Part]:
    """One part of each number: two may be there for a moment, while one replaces the other."""
    return list({one.number: one for one in parts}.values())


def _chosen(wanted: list[Element], there: list[Part]) -> list[Part]:
    """The parts that a client lists, each as it was uploaded."""
    known = {(one.number, one.hash): one for one in there}
    chosen: list[Part] = []
    for one in wanted:
        number = (one.findtext("PartNumber") or "").strip()
        tag = (one.findtext("ETag") or "").strip().strip('"').removesuffix("-1")
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise S3Error("MalformedXML", "A part has no number.")
        found = known.get((int(number), tag))
        if found is None:
            raise S3Error("InvalidPart", f"Part {int(number)} was not uploaded as it is listed.")
        if chosen and found.number <= chosen[-1].number:
            raise S3Error("InvalidPartOrder", "The parts are not listed in order.")
        chosen.append(found)
    if not chosen:
        raise S3Error("MalformedXML", "No parts are listed.")
    for part in chosen[:-1]:
        if part.size < SMALLEST_PART:
            raise S3Error(
                "EntityTooSmall", f"Part {part.number} has {part.size} bytes, less than 5 MiB."
            )
    return chosen
