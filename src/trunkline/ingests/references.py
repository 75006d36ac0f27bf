"""Files that stay where they are: listed in a commit by their addresses, no byte of them read."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.errors import NotFound, Usage
from trunkline.lake.core import Core
from trunkline.model.paths import join, normalize_path
from trunkline.model.suggest import shown
from trunkline.storage.objects.foreign import SCHEMES, Place, split_url
from trunkline.storage.objects.outside import outside_of, reference_line


def reference_lines(
    core: Core, url: str, target: str, *, recursive: bool, into: bool
) -> Iterator[bytes]:
    """The entries that refer to the object at `url`, or with a trailing "/" to all below it.

    As when they are copied: one object takes the path `target`, or goes `into` it by its name.
    """
    place = split_url(url)
    _refuse_own(core, place)
    bucket = outside_of(core.objects).bucket(place.scheme, place.bucket)
    base = normalize_path(target)
    if place.key and not place.key.endswith("/"):
        try:
            found = bucket.head(place.key)
        except FileNotFoundError:
            raise NotFound(
                f"There is no object {shown(url)}.",
                hint='For all that is below it, end with "/" and add -r.',
            ) from None
        name = place.key.rpartition("/")[2]
        yield reference_line(join(base, name) if into else base, place, found)
        return
    if not recursive:
        raise Usage(f"{shown(url)} is a folder.", hint="Add -r to put what is in it.")
    empty = True
    for found in bucket.list(place.key):
        empty = False
        path = normalize_path(join(base, found.key.removeprefix(place.key)))
        yield reference_line(path, place._replace(key=found.key), found)
    if empty:
        raise NotFound(f"There is nothing below {shown(url)}.", hint="Check the bucket and prefix.")


def _refuse_own(core: Core, place: Place) -> None:
    """gc would remove what such a reference needs: it knows the lake's objects by other names."""
    store = core.objects.uri("").rstrip("/")
    own = split_url(f"{store}/x") if store.partition(":")[0] in SCHEMES else Place("", "", "x")
    if place[:2] == own[:2] and place.key.startswith(own.key[:-1]):
        raise Usage(
            f"{shown(place.url)} is in the lake's own store.", hint="Copy it inside: trunkline cp."
        )
