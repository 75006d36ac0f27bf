"""Objects that a lake lists but does not hold: names that lead outside of its store.

Such a name is the address itself, written in the letters that names have: `outside/s3/bucket/
day_201/a.csv` is s3://bucket/day 1/a.csv. Whatever is not a letter, digit, ".", "=" or "-" is
`_` and its two hexadecimal digits, and a part with nothing in it is a lone `_`.

What such an entry's hash stands for is the address, the size and the version that the store told
of: it is known without reading a byte. So reading asks for exactly that version, and the source's
promise never to change an object is checked each time it is relied on. Who reads an object whole
compares its bytes with those of the first time (see `known`). A file whose stamp is another than
it was is compared before it is used; if nobody knows its bytes, no result is published of it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from blake3 import blake3

from trunkline import errors
from trunkline.model.suggest import shown
from trunkline.storage.objects.foreign import (
    Foreign,
    Found,
    Place,
    VersionGone,
    open_bucket,
    settled_file,
    split_url,
)
from trunkline.storage.objects.keys import LONGEST_KEY, OUTSIDE, check_key
from trunkline.storage.objects.known import Fact, Known
from trunkline.storage.objects.port import Buffer, ObjectInfo, ObjectWriter

if TYPE_CHECKING:
    # What the routed store is in truth: one of the two, with the same methods.
    from trunkline.storage.objects.local import LocalStore as _Routed
else:
    _Routed = object

PREFIX = "outside."
"""Of options that are for stores outside: `outside.endpoint`."""

_AT_ONCE = 32
_quoted = re.compile(rb"[^A-Za-z0-9.=-]|\A[.=-]")
_coded = re.compile(rb"_([0-9A-F]{2})")


class Reference(NamedTuple):
    """What reading an entry needs of it."""

    path: str
    digest: str
    size: int
    key: str


def is_outside(key: str) -> bool:
    return key.startswith(OUTSIDE)


def outside_key(url: str) -> str:
    """The name of what is at a URL. Too long a one cannot be referred to."""
    return key_of(split_url(url))


def key_of(place: Place) -> str:
    parts = (place.scheme, place.bucket, *place.key.split("/"))
    key = OUTSIDE + "/".join(_quote(part) for part in parts)
    if not place.key or len(key) > LONGEST_KEY:
        raise errors.Usage(
            f"{shown(place.url)} cannot be referred to: its name is "
            f"{'empty' if not place.key else 'too long'}.",
            hint="Put it by copy: leave --reference out.",
        )
    return key


def place_of_key(key: str) -> Place:
    try:
        scheme, bucket, *parts = (_unquote(part) for part in key.removeprefix(OUTSIDE).split("/"))
        if is_outside(check_key(key)) and parts:
            return Place(scheme, bucket, "/".join(parts))
    except ValueError:
        pass
    raise errors.CorruptObject(
        f"{key[:80]!r} is not the name of an object outside.",
        hint="A manifest may be damaged: run `trunkline fsck`",
    )


def outside_url(key: str) -> str:
    return place_of_key(key).url


def outside_uri(key: str) -> str:
    """The address as engines want it: what is not plain is quoted."""
    from urllib.parse import quote  # slow to load, and most commands never ask

    place = place_of_key(key)
    if place.scheme == "file":
        return place.url
    return f"{place.scheme}://{quote(f'{place.bucket}/{place.key}', safe='/=')}"


def identity(url: str, size: int, version: str) -> str:
    """What the hash of an entry by reference is."""
    return blake3("\0".join(("outside", url, str(size), version)).encode(
        errors="surrogateescape")).hexdigest()  # fmt: skip


def stands_for(digest: str, url: str, found: Found) -> bool:
    """Whether the hash of an entry is that of what was found."""
    return digest in (identity(url, found.size, v) for v in (found.version, found.exact))


class Outside:
    """The stores outside that entries of one lake refer to, each opened when it is needed."""

    def __init__(self, options: Mapping[str, str], known: Known | None = None) -> None:
        self.options = options
        self.known = known or Known()
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, str], Foreign] = {}
        self._versions: dict[str, str] = {}
        """By the hash of an entry: it says which version it stands for, so this is never stale."""

    def bucket(self, scheme: str, name: str) -> Foreign:
        with self._lock:
            found = self._buckets.get((scheme, name))
            if found is None:
                options = self.options if scheme == "s3" else {}
                found = self._buckets[scheme, name] = open_bucket(scheme, name, options)
            return found

    def head(self, key: str) -> Found:
        place = place_of_key(key)
        try:
            return self.bucket(place.scheme, place.bucket).head(place.key)
        except FileNotFoundError:
            raise FileNotFoundError(key) from None

    def stream(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The bytes as they are now, of one version."""
        place = place_of_key(key)
        bucket = self.bucket(place.scheme, place.bucket)
        try:
            found = bucket.head(place.key)
            rest = found.size - start if length is None else min(length, found.size - start)
            if rest > 0:
                yield from bucket.read(place.key, found.version, start, rest)
        except FileNotFoundError:
            raise FileNotFoundError(key) from None
        except VersionGone:
            raise errors.SourceChanged(
                f"{place.url} changed while it was being read.", hint="Try again."
            ) from None

    def line(self, path: str, place: Place, found: Found) -> bytes:
        """The line of an entry that refers to what was found."""
        if found.stamp:
            found = settled_file(place.key)
        digest = identity(place.url, found.size, found.version)
        if found.stamp:
            fact = self.known.get(digest)
            if fact is not None and fact.stamp != found.stamp:
                # Something was done to the file: what was computed of it may be of other bytes.
                digest = identity(place.url, found.size, found.exact)
                fact = self.known.get(digest)
            if fact is None:
                self.known.learn(digest, Fact(found.stamp))
        return f"{path}\t{digest}\t{found.size}\t{key_of(place)}\t-".encode()

    def read(
        self, of: Reference, start: int = 0, length: int | None = None, *, publish: bool = False
    ) -> Iterator[bytes]:
        """Bytes of the very version that an entry stands for, or CorruptObject.

        All of them are compared with what they were; `publish` as in `check`.
        """
        stop = of.size if length is None else min(of.size, start + length)
        place = place_of_key(of.key)
        version = "" if publish else self._versions.get(of.digest, "")
        if place.scheme == "file" or not version:
            version = self._checked(of, place, publish)
        hasher = blake3() if start <= 0 and stop == of.size else None
        done = max(start, 0)
        for piece in self._pieces(of, place, version, start, stop):
            done += len(piece)
            if hasher:
                hasher.update(piece)
            yield piece
        if done < stop:
            raise _altered(of, place)
        if hasher:
            self._compare(of, place, Fact(version.partition(" ")[2], hasher.hexdigest()))

    def check(self, of: Reference, *, publish: bool = False) -> None:
        """CorruptObject unless the version that an entry stands for is there now.

        To `publish` what is made of it, nothing may have been done to a file whose bytes nobody
        knows.
        """
        self._checked(of, place_of_key(of.key), publish)

    def check_all(self, entries: Sequence[Reference], *, publish: bool = False) -> None:
        """As `check`, for many at once; the first that fails in their order is told of."""
        with self.known.gathering():
            if len(entries) < 2 * _AT_ONCE and all(one.key.startswith(_FILES) for one in entries):
                for one in entries:
                    self.check(one, publish=publish)
                return
            from concurrent.futures import ThreadPoolExecutor  # slow to load, for many only

            with ThreadPoolExecutor(_AT_ONCE, "outside") as pool:
                for done in [pool.submit(self.check, one, publish=publish) for one in entries]:
                    done.result()

    def _pieces(
        self, of: Reference, place: Place, version: str, start: int, stop: int
    ) -> Iterator[bytes]:
        try:
            if stop > start:
                bucket = self.bucket(place.scheme, place.bucket)
                yield from bucket.read(place.key, version, start, stop - start)
        except FileNotFoundError:
            raise _gone(of, place) from None
        except VersionGone:
            raise _altered(of, place) from None

    def _checked(self, of: Reference, place: Place, publish: bool = False) -> str:
        try:
            found = self.bucket(place.scheme, place.bucket).head(place.key)
        except FileNotFoundError:
            raise _gone(of, place) from None
        if not stands_for(of.digest, place.url, found):
            raise _altered(of, place)
        if found.stamp:
            self._check_stamp(of, place, found, publish)
        if len(self._versions) > 100_000:
            self._versions.clear()
        self._versions[of.digest] = found.exact
        return found.exact

    def _check_stamp(self, of: Reference, place: Place, found: Found, publish: bool) -> None:
        fact = self.known.get(of.digest)
        if fact is None:
            if publish:  # from before there were stamps: from now on it is known
                self.known.learn(of.digest, Fact(found.stamp))
        elif fact.stamp != found.stamp and fact.content:
            hasher = blake3()
            for piece in self._pieces(of, place, found.exact, 0, of.size):
                hasher.update(piece)
            self._compare(of, place, Fact(found.stamp, hasher.hexdigest()))
        elif fact.stamp != found.stamp and publish:
            raise _replaced(of, place)

    def _compare(self, of: Reference, place: Place, now: Fact) -> None:
        """With what its bytes were; or, the first time, remember them."""
        fact = self.known.get(of.digest)
        if fact is not None and fact.content:
            if fact.content != now.content:
                raise _altered(of, place)
        elif fact is not None and fact.stamp != now.stamp:
            return  # they may be others already
        if fact != now:
            self.known.learn(of.digest, now)


class Routed(_Routed):
    """A store of a lake, some of whose names lead outside. Mixed into that of the lake itself."""

    outside: Outside

    @property
    def address(self) -> tuple[str, Mapping[str, str]] | None:
        found = super().address
        if found is None or self.outside.options == found[1]:
            return found
        more = {PREFIX + name: value for name, value in self.outside.options.items()}
        return found[0], {**found[1], **more}

    def put(self, key: str, data: Buffer) -> None:
        super().put(_own(key), data)

    def edit(self, key: str, change: Callable[[bytes], Buffer]) -> None:
        super().edit(_own(key), change)

    def writer(self, key: str, size: int | None = None) -> Any:
        writer: ObjectWriter = super().writer(_own(key), size)
        return writer

    def delete(self, keys: Iterable[str]) -> None:
        super().delete(_own(key) for key in keys)

    def get(self, key: str) -> bytes:
        return b"".join(self.outside.stream(key)) if is_outside(key) else super().get(key)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        if is_outside(key):
            return b"".join(self.outside.stream(key, start, length))
        return super().get_range(key, start, length)

    def stream(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        if is_outside(key):
            return self.outside.stream(key, start, length)
        return super().stream(key, start, length)

    def head(self, key: str) -> ObjectInfo:
        if is_outside(key):
            found = self.outside.head(key)
            return ObjectInfo(key, found.size, found.modified)
        return super().head(key)

    def uri(self, key: str) -> str:
        return outside_uri(key) if is_outside(key) else super().uri(key)


def outside_of(store: object) -> Outside:
    """The way outside of a lake's store."""
    found = getattr(store, "outside", None)
    return found if isinstance(found, Outside) else Outside({})


def _own(key: str) -> str:
    if is_outside(key):
        raise errors.NotAllowed(
            f"{outside_url(key)} is not the lake's: it is never written or deleted from here.",
            hint="Do that where it is.",
        )
    return key


def _altered(of: Reference, place: Place) -> errors.CorruptObject:
    return errors.CorruptObject(
        f"{of.path}: the object changed although it was declared immutable: {place.url}.",
        hint="Put it back as it was, or put the file again.",
    )


def _replaced(of: Reference, place: Place) -> errors.CorruptObject:
    return errors.CorruptObject(
        f"{of.path}: something was done to the file since it was referred to, and its content was "
        f"not known, so nothing can be published of it: {place.url}.",
        hint="If it is right as it is, put the file again: trunkline put --reference.",
    )


def _gone(of: Reference, place: Place) -> errors.CorruptObject:
    return errors.CorruptObject(
        f"{of.path}: the object that it refers to is gone: {place.url}.",
        hint="Put it back where it was, or remove the file: trunkline rm.",
    )


def _quote(part: str) -> str:
    coded = part.encode(errors="surrogateescape")
    return _quoted.sub(lambda found: b"_%02X" % found[0][0], coded).decode() or "_"


def _unquote(part: str) -> str:
    if part == "_":
        return ""
    plain = _coded.sub(lambda found: bytes([int(found[1], 16)]), part.encode())
    return plain.decode(errors="surrogateescape")


_FILES = key_of(Place("file", "", "x"))[:-1]
