"""What a datum is known by.

    key       name@project/repo@branch, 0x1f, path, and so on for each match, joined by 0x1f
    content   the hashes of the matches, joined by ","; of tables, "@" and a hash of the types that
              files are read with, where those are not their own
    id        32 digits of the hash of the key: what the datum reads
    hash      32 digits of the hash of id, content and the version of the pipeline

A folder's path ends in a slash. A key of more than 1,024 bytes is kept as its first 256, 0x1e
and its hash; the content of more than 8 matches as "*" and its hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

from blake3 import blake3

from trunkline.model.inputs import Leaf
from trunkline.pipelines.datums_match import Match

SEPARATOR = b"\x1f"
CUT = b"\x1e"
LONGEST_KEY = 1024
CUT_KEY = 256
MOST_HASHES = 8
ID_LENGTH = 32


class Datum(NamedTuple):
    """A unit of work: files and folders that are processed together, in order."""

    key: bytes
    content: bytes
    matches: tuple[Match, ...]


by_key = itemgetter(0)


def datum_id(datum: Datum | bytes) -> str:
    """The id of a datum, or of a key, whole or cut."""
    key = datum if isinstance(datum, bytes) else datum.key
    _, cut, digest = key.partition(CUT)
    return digest[:ID_LENGTH].decode() if cut else blake3(key).hexdigest()[:ID_LENGTH]


def datum_hash(id: str, content: bytes, digest: str) -> str:
    """What a result is kept under; `digest` is the pipeline version's."""
    return blake3(b"%b\n%b\n%b" % (id.encode(), content, digest.encode())).hexdigest()[:ID_LENGTH]


def leaf_text(leaf: Leaf) -> bytes:
    return f"{leaf.name}@{leaf.repo.project}/{leaf.repo.repo}@{leaf.branch}".encode()


def cut_key(key: bytes) -> bytes:
    """A whole key as it is kept."""
    if len(key) <= LONGEST_KEY:
        return key
    return key[:CUT_KEY] + CUT + blake3(key).hexdigest().encode()


def cut(whole: Iterable[Datum]) -> Iterator[Datum]:
    """Datums in order of whole keys → as they are kept, in order of the keys they then have.

    A cut key sorts before the others that begin with the same bytes, so those have to wait.
    """
    waiting: list[Datum] = []
    start = b""
    for one in whole:
        if waiting and not one[0].startswith(start):
            yield from sorted(waiting, key=by_key)
            waiting = []
        if len(one[2]) > MOST_HASHES:
            one = one._replace(content=b"*" + blake3(one[1]).hexdigest().encode())
        if len(one[0]) <= CUT_KEY:
            yield one
            continue
        start = one[0][:CUT_KEY]
        waiting.append(one._replace(key=cut_key(one[0])) if len(one[0]) > LONGEST_KEY else one)
    yield from sorted(waiting, key=by_key)


def described(key: bytes) -> str:
    """A datum by what it reads: `orders:/a.csv + rates:/b.csv`."""
    pieces = key.partition(CUT)[0].decode(errors="replace").split(SEPARATOR.decode())
    pairs = zip(pieces[::2], pieces[1::2], strict=False)
    return " + ".join(f"{leaf.partition('@')[0]}:{path.rstrip('/') or '/'}" for leaf, path in pairs)
