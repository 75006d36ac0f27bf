"""CSV that Spark alone would misread, written anew for it.

Spark takes an open quote for a value that goes on to the end of the file, and bytes that are no
text for other letters: such rows are left out, and told. And `""` is null to it in all columns or
in none, where it is null in those that are no texts.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import replace

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Format, Scan, ScanFile
from trunkline.storage.objects.keys import KeyMaker
from trunkline.tables.discovery.textclasses import accepted
from trunkline.tables.reading import csvrows
from trunkline.tables.reading.opening import text_stream

Torn = tuple[str, str, str]
"""Line, reason and path."""
_PIECE = 16 << 20


def mended(
    core: Core, keys: KeyMaker, scans: Sequence[Scan], entries: Mapping[str, Entry]
) -> tuple[list[Scan], list[Torn]]:
    """The scans with files that Spark reads well, and the rows that were left out."""
    found, torn = [], list[Torn]()
    for scan in scans:
        if scan.format is Format.CSV:
            files = [_mended(core, keys, scan, one, entries[one.path], torn) for one in scan.files]
            scan = replace(scan, files=tuple(files))
        found.append(scan)
    return found, torn


def _mended(
    core: Core, keys: KeyMaker, scan: Scan, file: ScanFile, entry: Entry, torn: list[Torn]
) -> ScanFile:
    options = dict(scan.options)
    if not options.get("quote", '"') or _is_plain(core, entry, options):
        return file
    told = options.get("encoding", "utf-8")
    # As letters its bytes stay as they are, and each row is judged by itself.
    letters = "latin-1" if codecs.lookup(told).name == "utf-8" else told
    typed = [accepted(one.type) >= 0 for one in scan.schema]
    kept, has_header = list[str](), csvrows.is_true(options, "header")
    try:
        with text_stream(core, entry) as stream:
            reading = {**options, "encoding": letters}
            for row in csvrows.rows(stream, reading, csvrows.ANY_LINE):
                raw = row.text.encode(letters)
                flaw = row.flaw or _unread(raw, told)
                if flaw and has_header and not kept:
                    raise ValueError(f"line {row.line}: {flaw}")
                if flaw:
                    line = raw.decode(told, errors="backslashreplace").rstrip("\r\n")
                    torn.append((line, f"line {row.line}: {flaw}", entry.path))
                else:
                    kept.append(_written(row, typed, options))
    except ValueError as error:
        raise Precondition(
            f"{entry.path} of {scan.name} cannot be read as CSV: {error}.",
            hint="Mend the file, and put it again.",
        ) from None
    data = "".join(kept).encode(letters)
    key = keys.data("mended.csv")
    core.objects.put(key, data)
    return replace(file, uri=core.objects.uri(key), size=len(data), rows=None, stats="")


def _is_plain(core: Core, entry: Entry, options: Mapping[str, str]) -> bool:
    """Whether all quotes in it are about whole cells, none of which is empty."""
    quote, sep = options.get("quote", '"'), options.get("sep", ",")
    quoted = csvrows.quoted_cells({"\\t": "\t"}.get(sep, sep)[-1:], quote)
    decoder = codecs.getincrementaldecoder(options.get("encoding", "utf-8"))()
    mark = quote.encode()
    try:
        with text_stream(core, entry) as stream:
            while piece := stream.read(_PIECE):
                decoder.decode(piece)
                if mark in piece and (mark * 2 in piece or mark in quoted.sub(b"", piece)):
                    return False
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except OSError:
        return True  # Spark cannot read it either, and says so
    return True


def _unread(raw: bytes, encoding: str) -> str:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return f"not {encoding.upper()}"
    return ""


def _written(row: csvrows.Row, typed: Sequence[bool], options: Mapping[str, str]) -> str:
    """The row as it was; with cells that are `""`, and no texts, left empty."""
    gone = [one == "" and other for one, other in zip(row.cells, typed, strict=False)]
    if len(row.cells) == 1 or not any(gone):
        return row.text
    quote, escape = options.get("quote", '"'), options.get("escape", "\\")
    cells = []
    for one, is_gone in zip(row.cells, (*gone, *[False] * len(row.cells)), strict=False):
        text = (one or "").replace(escape, escape * 2) if escape != quote else one or ""
        cells.append(
            "" if one is None or is_gone else f"{quote}{text.replace(quote, escape + quote)}{quote}"
        )
    sep = {"\\t": "\t"}.get(options.get("sep", ","), options.get("sep", ","))
    return sep.join(cells) + "\n"
