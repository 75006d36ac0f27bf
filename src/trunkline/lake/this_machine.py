"""What sources and targets may touch of this machine: the one rule, asked wherever one is named.

A lake's own files are nobody's source and nobody's target. With `sandbox.required` nothing of the
machine is; without it, who may apply runs code there, and an export by a server is an admin's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping

from trunkline.errors import CorruptObject, InvalidSpec, NotAllowed, Precondition
from trunkline.lake.core import Core
from trunkline.lake.identity import read_mark
from trunkline.lake.own_folders import MARK, own_folder, refuse_own
from trunkline.model.clients import BUCKET
from trunkline.model.egress import Target
from trunkline.model.pipelines import PipelineSpec
from trunkline.model.reach import Connection, Local
from trunkline.model.streams import IngestSource
from trunkline.model.suggest import shown
from trunkline.storage.objects import keys
from trunkline.storage.objects.foreign import SCHEMES, Place, split_url
from trunkline.storage.objects.open import open_foreign
from trunkline.storage.objects.port import ObjectStore

_OWN = (
    keys.DATA,
    keys.PACKS,
    keys.MANIFESTS,
    keys.JOBS,
    keys.STREAMS,
    keys.KNOWN,
    keys.TEMPORARY,
    MARK,
)
_own_name = re.compile(rf"(?:(?<=/)|^)(?:{'|'.join(map(re.escape, _OWN))})").finditer
ELSEWHERE = "Name a place elsewhere, or ask who runs the machine."


def of_source(source: IngestSource) -> Connection:
    names = tuple(name for name, _ in source.secrets)
    where = f"source.{source.kind}"
    return Connection(source.kind, source.options, names, is_source=True, where=where)


def of_target(target: Target, where: str = "") -> Connection:
    names = tuple(name for name, _ in target.secrets)
    return Connection(target.kind, target.options, names, where=where or target.kind)


def connections(spec: PipelineSpec) -> Iterator[Connection]:
    """All that a spec connects to."""
    if spec.source is not None:
        yield of_source(spec.source)
    for number, target in enumerate(spec.egress):
        yield of_target(target, f"egress[{number}].{target.kind}")


def check(connection: Connection, core: Core, what: str = "") -> None:
    """Refuse settings that nobody may give, the lake's own files, and if it is confined all else.

    `what` is put in front: where the spec was read.
    """
    begins = f"{what}{connection.where}."
    for place, refusal in connection.refusals():
        raise InvalidSpec(f"{begins}{place[0]}: {refusal.text}", hint=refusal.hint)
    for one in connection.locals():
        if core.options.sandbox_required:
            raise NotAllowed(
                f"{begins}{one.name} {one.what}, and here nothing of the machine is touched "
                "(sandbox.required).",
                hint=instead(one),
            )
        if one.path is not None:
            refuse_own(os.path.expanduser(one.path))
            refuse_own(one.path)
    for url in connection.tables():
        _refuse_store(core, url)


def instead(one: Local) -> str:
    name = one.place[-1]
    if one.is_code:
        return "Leave it out: put the driver's jar into spark.jars."
    if name.endswith(".location"):
        return "Give the PEM itself: secrets: {ssl.ca.pem: NAME}."
    return ELSEWHERE


def check_file(connection: Connection, core: Core, place: str) -> None:
    """Asked for each file that a catalog leads to: no file of a machine that is not its own."""
    if not place.startswith("/"):
        _refuse_store(core, place)
        return
    if not connection.has_files_here:
        raise NotAllowed(
            f"{connection.where} leads to a file of this machine, and its catalog is elsewhere.",
            hint="Have its files in a bucket.",
        )
    refuse_own(place)


def own_prefixes(objects: ObjectStore, place: Place) -> tuple[str, ...]:
    """How the names of the lake's own objects begin in the bucket of a place; none elsewhere."""
    store = objects.uri("").rstrip("/")
    if store.partition(":")[0] not in SCHEMES:
        return ()
    own = split_url(f"{store}/x")
    return tuple(own.key[:-1] + one for one in _OWN) if own[:2] == place[:2] else ()


def _refuse_store(core: Core, url: str) -> None:
    """Tables of others that are said to be among the objects of the lake."""
    from urllib.parse import unquote  # slow to load, and most never ask

    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    place = Place("s3" if scheme.startswith("s3") else scheme, bucket, key)
    own = own_prefixes(core.objects, place)
    if any(one.lstrip("/").startswith(own) for one in (key, unquote(key))):
        raise Precondition(
            f"{shown(url)} is in the lake's own store.", hint="Name another bucket or folder."
        )


class OwnObjects:
    """Which of the objects below a place are a lake's own, by whatever name it is reached.

    With an endpoint of its `own`, a bucket that is called like that of the lake may be another.
    """

    def __init__(
        self, core: Core, place: Place, options: Mapping[str, str], own: Mapping[str, str]
    ) -> None:
        self._place, self._options = place, options
        elsewhere = any(BUCKET.key(name).startswith("endpoint") for name in own)
        self._prefixes = () if elsewhere else own_prefixes(core.objects, place)
        self._known: dict[str, bool] = {}

    def look_again(self) -> None:
        """A link may lead elsewhere by now."""
        if self._place.scheme == "file":
            self._known.clear()

    def has(self, key: str) -> bool:
        if self._place.scheme == "file":
            path = f"/{key}"
            if os.path.islink(path):
                return own_folder(path) is not None
            return self._is(os.path.dirname(path), lambda folder: own_folder(folder) is not None)
        if self._prefixes and key.startswith(self._prefixes):
            return True
        return any(self._is(key[: at.start()], self._marked) for at in _own_name(key))

    def _is(self, place: str, ask: Callable[[str], bool]) -> bool:
        if place not in self._known:
            self._known[place] = ask(place)
        return self._known[place]

    def _marked(self, prefix: str) -> bool:
        url = f"{self._place.scheme}://{self._place.bucket}/{prefix}".rstrip("/")
        try:
            return read_mark(open_foreign(url, self._options)) is not None
        except (CorruptObject, NotAllowed):
            return False  # what is called so need be none
