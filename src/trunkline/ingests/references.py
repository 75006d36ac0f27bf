"""Files that stay where they are: listed in a commit by their addresses, no byte of them read."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.errors import NotFound, Usage
from trunkline.lake.core import Core
from trunkline.lake.this_machine import own_prefixes
from trunkline.model.paths import join, normalize_path
from trunkline.model.suggest import shown
from trunkline.storage.objects.foreign import Place, split_url
from trunkline.storage.objects.outside import outside_of


def reference_lines(
    core: Core, url: str, target: str, *, recursive: bool, into: bool
) -> Iterator[bytes]:
    """The entries that refer to the object at `url`, or with a trailing "/" to all below it.

    As when they are copied: one object takes the path `target`, or goes `into` it by its name.
    """
    place = split_url(url)
    own = own_prefixes(core.objects, place)
    _refuse_own(own, place)
    outside = outside_of(core.objects)
    bucket = outside.bucket(place.scheme, place.bucket)
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
        yield outside.line(join(base, name) if into else base, place, found)
        return
    if not recursive:
        raise Usage(f"{shown(url)} is a folder.", hint="Add -r to put what is in it.")
    empty = True
    for found in bucket.list(place.key):
        empty = False
        path = normalize_path(join(base, found.key.removeprefix(place.key)))
        one = place._replace(key=found.key)
        _refuse_own(own, one)
        yield outside.line(path, one, found)
    if empty:
        raise NotFound(f"There is nothing below {shown(url)}.", hint="Check the bucket and prefix.")


def _refuse_own(own: tuple[str, ...], place: Place) -> None:
    """gc would remove what such a reference needs: it knows the lake's objects by other names."""
    if place.key.startswith(own):
        raise Usage(
            f"{shown(place.url)} is in the lake's own store.", hint="Copy it inside: trunkline cp."
        )
