"""A store knows its lake, and a lake its store.

The store holds a mark with the id of its lake, a generation, and where the catalog is; the
catalog holds the same. Whoever opens both compares them, and whoever deletes does so again just
before: gc deletes what its catalog does not name, which on the store of another lake is all there
is. A generation ends when somebody adopts the store for another catalog: the old one is refused.

A catalog knows where it is at home: machine, path and file. One of them may change without a word,
as by a rename, unless another catalog of the lake has taken the old place. Found elsewhere it is a
copy, or was moved, and nobody but a person can tell which. With its objects beside it a copy is a
lake of its own: it gets another id, and does nothing to the outside (ingests, deliveries,
schedules, notices) until it is adopted. Where the objects are elsewhere, two catalogs would share
them, so the copy is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trunkline.errors import CorruptObject, DiskFull, ReadOnly, TrunklineError, WrongLake
from trunkline.lake.core import Core
from trunkline.lake.own_folders import MARK, refuse_own
from trunkline.model.commits import DEFAULT_PROJECT
from trunkline.model.ids import new_id
from trunkline.storage.catalog import Session, events, followers, identity, repos
from trunkline.storage.catalog.database import Seat
from trunkline.storage.catalog.open import open_database
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import DATA, JOBS, MANIFESTS, PACKS, STREAMS
from trunkline.storage.objects.loose import loose
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.port import ObjectStore

_TWO_LAKES = "For a lake of its own: trunkline backup create there, trunkline backup restore here."


@dataclass(frozen=True, slots=True)
class Mark:
    """Whose a store is. `catalog` is for people: where that lake's catalog was last at home."""

    lake: str
    generation: int
    catalog: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """What adopting a lake has changed: its id, and whether it was waiting for that."""

    lake: str
    origin: str
    was_held: bool
    took_store: bool


def read_mark(objects: ObjectStore) -> Mark | None:
    try:
        raw = objects.get(MARK)
    except FileNotFoundError:
        return None
    try:
        told = json.loads(raw)
        return Mark(str(told["lake"]), int(told["generation"]), str(told["catalog"]))
    except (ValueError, KeyError, TypeError):
        raise CorruptObject(
            f"The mark of the store, {objects.uri(MARK)}, cannot be read.",
            hint="Restore it from a backup of the store.",
        ) from None


def settle(core: Core, store: str) -> bool:
    """A new lake: its catalog and its store are named, and know each other.

    Whether it was made; else somebody else has made it at this very moment.
    """
    refuse_taken(core.objects, _shown(core))
    with core.database.write() as session:
        if identity.fact(session, identity.STORE) is not None:
            return False
        _be_at_home(core, session, {identity.STORE: store, identity.LAKE: new_id()})
        repos.add_project(session, DEFAULT_PROJECT, "")
    return True


def refuse_taken(objects: ObjectStore, catalog: str) -> None:
    """A lake that is to have its catalog there needs a store that is nobody's."""
    mark = read_mark(objects)
    # A mark of our own on an empty store is what an attempt that was cut off has left.
    is_own = mark is not None and mark.catalog == catalog
    if not is_own or _holds_objects(objects):
        refuse_used(objects)


def refuse_store(objects: ObjectStore) -> None:
    """No place is anybody else's if it is a lake's store, or is inside of what is a lake's own."""
    mark = read_mark(objects)
    if mark is not None:
        raise _of_another(objects, mark)
    if objects.address is None:
        return
    url, options = objects.address
    if objects.uri("").startswith("file:"):
        refuse_own(url)
        return
    start, above = url.index("://") + 3, url.rstrip("/")
    while (cut := above.rfind("/")) > start:
        above = above[:cut]
        outer = open_store(above, options)
        try:
            mark = read_mark(outer)
        except TrunklineError:
            return  # who may not look there cannot do any harm to it
        if mark is not None:
            raise _of_another(outer, mark)


def refuse_used(objects: ObjectStore) -> None:
    """A lake that is restored needs a store that is nobody's."""
    refuse_store(objects)
    if _holds_objects(objects):
        raise WrongLake(
            f"The store {objects.uri('')} holds objects of a lake whose catalog is not here.",
            hint="Bring its catalog back, or use an empty place.",
        )


def join(core: Core) -> None:
    """One more folder or machine comes to a catalog and a store that are there."""
    with core.database.read() as session:
        known = identity.facts(session)
    if identity.GENERATION not in known:
        _note_older(core)
    check_store(core)


def admit(core: Core, *, inside: bool) -> None:
    """Whoever opens a lake: is it at home, and is the store its own?

    `inside` is whether its objects are in the lake's own folder, and so were copied with it.
    """
    known, seat = _facts(core)
    try:
        if identity.GENERATION not in known:
            _note_older(core)
        elif not _is_home(seat, known):
            if not inside:
                raise _strayed(core, known)
            with core.database.write() as session:
                if not _is_home(seat, identity.facts(session)):
                    _become_another(core, session, f"it was copied from {_home(known)}, or moved")
        elif _text(seat) != known.get(identity.SEAT):
            _settle_again(core, seat, inside=inside)
    except (ReadOnly, DiskFull):
        pass  # Nobody can do anything from here; reading is fine.
    if core.objects.uri("").startswith("file:"):
        check_store(core)
        core.checked = True


def check_once(core: Core) -> None:
    """Before the first write: to ask a bucket costs more than most commands that only read."""
    if not core.checked:
        check_store(core)
        core.checked = True


def check_store(core: Core) -> None:
    """Refuse to go on with a store that is not the lake's, or no longer. Asked before deleting."""
    with core.database.read() as session:
        known = identity.facts(session)
    mark = read_mark(core.objects)
    if mark is not None and mark.generation != int(known.get(identity.GENERATION, 0)):
        # Both change in one transaction, but not at one moment: look again when it is over.
        with suppress(ReadOnly, DiskFull), core.database.write(durable=False) as session:
            known, mark = identity.facts(session), read_mark(core.objects)
    if mark is None:
        if identity.GENERATION in known:
            raise _unmarked(core)
        return  # made before stores had marks, and nothing could be written since
    if mark.lake != known.get(identity.LAKE):
        raise WrongLake(
            f"The store {core.objects.uri('')} is that of the lake with the catalog "
            f"{mark.catalog}, not of this one ({_shown(core)}).",
            hint="Nothing was changed. Correct the store in lake.toml.",
        )
    if mark.generation != int(known.get(identity.GENERATION, 0)):
        raise WrongLake(
            f"The store {core.objects.uri('')} was adopted by the catalog {mark.catalog}; "
            f"this one ({_shown(core)}) is what it was copied from.",
            hint=f"Work there. If that copy is gone: trunkline adopt. {_TWO_LAKES}",
        )


def become_another(core: Core, why: str) -> None:
    """A lake that was made of a backup is another than the one that was backed up."""
    with core.database.write() as session:
        _become_another(core, session, why)


def adopt(core: Core, *, inside: bool, as_new: bool) -> Adoption:
    """A person says so: this is the lake now, or (`as_new`) a lake that may act for itself."""
    known, seat = _facts(core)
    mark = read_mark(core.objects)
    lake, origin = known[identity.LAKE], known.get(identity.ORIGIN, "")
    if mark is not None and mark.lake != lake:
        check_store(core)
    generation = int(known.get(identity.GENERATION, 0))
    behind = mark is None or mark.generation != generation
    took = behind or not _is_home(seat, known)
    if as_new and took and not inside:
        raise WrongLake("Two lakes cannot share one store.", hint=_TWO_LAKES)
    held = identity.HELD in known
    changes: dict[str, str | None] = {identity.HELD: None}
    if held and origin and not as_new:
        changes |= {identity.LAKE: origin, identity.ORIGIN: None}
    if mark is not None:
        changes[identity.GENERATION] = str(max(generation, mark.generation))
    with core.database.write() as session:
        _be_at_home(core, session, changes)
        if held:
            # What happened here meanwhile was nobody's business.
            followers.skip_all(session, events.last(session))
    return Adoption(changes.get(identity.LAKE) or lake, origin, held, took)


# -- how -----------------------------------------------------------------------------------------


def _facts(core: Core) -> tuple[dict[str, str], Seat]:
    with core.database.read() as session:
        return identity.facts(session), core.database.seat(session)


def _same(seat: Seat, known: Mapping[str, str]) -> bool:
    try:
        home = json.loads(known[identity.SEAT])
    except (KeyError, ValueError):
        return True
    return [one == other for one, other in zip(seat, home, strict=False)].count(True) >= 2


def _is_home(seat: Seat, known: Mapping[str, str]) -> bool:
    return _same(seat, known) and not _is_displaced(seat, known)


def _is_displaced(seat: Seat, known: Mapping[str, str]) -> bool:
    """Whether it was renamed, and then copied to where it had been: that one is at home there."""
    home = json.loads(known.get(identity.SEAT, "[]"))[1:2]
    if not home or home[0] == seat[1] or not os.path.isfile(home[0]):
        return False
    try:
        if os.path.samefile(home[0], seat[1]):
            return False
        other = open_database(home[0], Path("/"))
        try:
            with other.read() as session:
                return identity.lake_id(session) == known[identity.LAKE]
        finally:
            other.close()
    except (OSError, TrunklineError):
        return False


def _settle_again(core: Core, seat: Seat, *, inside: bool) -> None:
    """Note where it is at home now.

    If the file is another, it was copied over the old one, or to a machine of the same name. Then
    a new generation begins: whichever is opened first keeps a store that both would use.
    """
    if not inside:
        check_store(core)
    with core.database.write() as session:
        file = json.loads(identity.fact(session, identity.SEAT) or "[]")[2:]
        if file and file != [seat[2]] and not inside:
            _be_at_home(core, session, {})
        else:
            identity.note(session, {identity.SEAT: _text(seat)})


def _text(seat: Seat) -> str:
    return json.dumps(seat)


def _home(known: Mapping[str, str]) -> str:
    home = json.loads(known[identity.SEAT])
    return str(home[1]) if os.path.isabs(home[1]) else f"database {home[1]}"


def _be_at_home(core: Core, session: Session, more: Mapping[str, str | None]) -> None:
    """It is at home here from now on, in a new generation.

    The mark comes first: should the catalog not follow, it finds that it is not at home and tries
    again. The other way round it would take its own store for that of another lake.
    """
    known = {**identity.facts(session), **more}
    generation = int(known.get(identity.GENERATION) or 0) + 1
    mark = {"lake": known[identity.LAKE], "generation": generation, "catalog": _shown(core)}
    core.objects.put(MARK, json.dumps(mark, indent=1).encode() + b"\n")
    crashpoint("identity.marked")
    home = {
        identity.SEAT: _text(core.database.seat(session)),
        identity.GENERATION: str(generation),
    }
    identity.note(session, {**more, **home})
    core.checked = True


def _note_older(core: Core) -> None:
    """A lake that was made before stores had marks gets one from who opens it first."""
    with core.database.write() as session:
        known = identity.facts(session)
        mark = read_mark(core.objects)
        free = mark is None or mark.lake == known[identity.LAKE]
        if identity.GENERATION not in known and free:
            _be_at_home(core, session, {})


def _become_another(core: Core, session: Session, why: str) -> None:
    before = identity.lake_id(session)
    origin = identity.fact(session, identity.ORIGIN) or before
    facts = {identity.LAKE: new_id(), identity.ORIGIN: origin, identity.HELD: why}
    _be_at_home(core, session, facts)


def _shown(core: Core) -> str:
    return core.database.url.removeprefix("sqlite:///")


def _holds_objects(objects: ObjectStore) -> bool:
    kinds = [objects.list(prefix) for prefix in (MANIFESTS, DATA, PACKS, JOBS)]
    kinds.append(loose(objects).list(STREAMS))
    return any(next(iter(found), None) is not None for found in kinds)


def _of_another(objects: ObjectStore, mark: Mark) -> WrongLake:
    return WrongLake(
        f"The store {objects.uri('')} is that of the lake with the catalog {mark.catalog}.",
        hint="Name another place; trunkline init with that --catalog and --store joins the lake.",
    )


def _unmarked(core: Core) -> WrongLake:
    return WrongLake(
        f"The store {core.objects.uri('')} has no mark of this lake ({MARK}).",
        hint="Is it mounted, and the right one? If it is: trunkline adopt.",
    )


def _strayed(core: Core, known: Mapping[str, str]) -> WrongLake:
    return WrongLake(
        f"This catalog ({_shown(core)}) is a copy of {_home(known)}, or was moved, "
        f"and both would use the store {core.objects.uri('')}.",
        hint=f"If the other is gone: trunkline adopt. {_TWO_LAKES}",
    )
