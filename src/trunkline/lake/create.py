"""Making, opening and migrating a lake. A lake is a folder with its two addresses in it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trunkline.errors import AlreadyExists, NotFound, ReadOnly, Usage, WrongLake
from trunkline.lake import identity
from trunkline.lake.core import Core, Options
from trunkline.lake.own_folders import is_own, refuse_own
from trunkline.settings import LAKE_FILE
from trunkline.storage import catalog
from trunkline.storage.catalog import identity as catalog_identity
from trunkline.storage.catalog.open import check_format, is_file_url, sqlite_path
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.outside import PREFIX
from trunkline.storage.objects.port import ObjectStore

CATALOG_FILE = "catalog.db"
OBJECTS_FOLDER = "objects"
# `git add .` beside a lake would take its catalog and the key of its server.
_IGNORED = "# A lake has versions of its own.\n*\n"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the catalog and the objects of a lake are. Paths are relative to its folder."""

    catalog: str = CATALOG_FILE
    store: str = OBJECTS_FOLDER


def addresses_of(catalog: str | None, store: str | None) -> Addresses:
    """What was asked for; what was not is in the lake's own folder."""
    found = Addresses(
        CATALOG_FILE if catalog is None else catalog, OBJECTS_FOLDER if store is None else store
    )
    for option, given, example in (
        ("--catalog", found.catalog, "postgresql://host/database"),
        ("--store", found.store, "s3://bucket/prefix"),
    ):
        known = "://" in given or os.path.isabs(given) or given in (CATALOG_FILE, OBJECTS_FOLDER)
        if not known:  # a stray word would become a folder or a file of that name
            raise Usage(
                f"{option} {given!r} is no address.",
                hint=f"Give {example}, or a whole path, beginning with /.",
            )
    return found


@dataclass(frozen=True, slots=True)
class MigrationReport:
    from_format: int
    to_format: int


def create_lake(
    folder: Path, addresses: Addresses, options: Options, store_options: Mapping[str, str]
) -> Core:
    """Make a lake in `folder`, or join an existing catalog and store from here."""
    made = not folder.exists()
    objects = open_store(store_url(addresses.store, folder), store_options)
    try:
        prepare(folder, addresses, objects)
        objects.check()
        catalog.create(addresses.catalog, folder)
        core = attach(folder, addresses, options, objects)
    except BaseException:
        if made and folder.exists() and not (folder / LAKE_FILE).exists():
            _remove_remains(folder)
        raise
    return core


def prepare(folder: Path, addresses: Addresses, objects: ObjectStore | None = None) -> None:
    """Make the folders of a lake that is to be; with its `objects`, look at what is there."""
    if (folder / LAKE_FILE).exists():
        raise AlreadyExists(f"{folder} is a lake already.", hint="trunkline status shows it")
    _refuse_paths(addresses)
    refuse_own(folder.parent)
    if "://" not in addresses.store or addresses.store.startswith("file:"):
        _refuse_around(_resolved(store_url(addresses.store, folder)), folder)
    if is_file_url(addresses.catalog):
        path = sqlite_path(addresses.catalog, folder)
        if not path.exists():
            refuse_own(path.parent)
        if catalog.is_new(path) and objects is not None:
            identity.refuse_taken(objects, str(path))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if is_file_url(addresses.catalog):
            sqlite_path(addresses.catalog, folder).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReadOnly(f"Cannot make a lake in {folder}: {error.strerror}.") from error


def attach(folder: Path, addresses: Addresses, options: Options, objects: ObjectStore) -> Core:
    """Open a catalog and a store together, and write down in the folder where they are."""
    core = Core(catalog.open_database(addresses.catalog, folder), objects, options)
    core.joined = _settle(core, addresses, folder)
    try:
        (folder / ".gitignore").write_text(_IGNORED)
        _write_durably(folder / LAKE_FILE, _describe(addresses))
    except OSError as error:
        raise ReadOnly(f"Cannot make a lake in {folder}: {error.strerror}.") from error
    return core


def open_lake(folder: Path, options: Options, store_options: Mapping[str, str]) -> Core:
    """Open the lake in a folder; one that is not at home there is refused, or becomes another."""
    core, inside = _opened(folder, options, store_options)
    identity.admit(core, inside=inside)
    return core


def adopt_lake(
    folder: Path, options: Options, store_options: Mapping[str, str], *, as_new: bool
) -> identity.Adoption:
    """A person says that the lake in this folder is at home there, and may act."""
    core, inside = _opened(folder, options, store_options)
    try:
        return identity.adopt(core, inside=inside, as_new=as_new)
    finally:
        core.close()


def _opened(folder: Path, options: Options, store_options: Mapping[str, str]) -> tuple[Core, bool]:
    """With whether catalog and objects are both in the folder itself."""
    addresses = read_addresses(folder)
    database = catalog.open_database(addresses.catalog, folder)
    check_format(database, f"The lake {folder}")
    objects = open_store(
        store_url(addresses.store, folder), store_options_for(addresses, store_options)
    )
    return Core(database, objects, options), _is_inside(addresses, folder)


def migrate_lake(folder: Path) -> MigrationReport:
    addresses = read_addresses(folder)
    database = catalog.open_database(addresses.catalog, folder)
    before = catalog.read_format(database)
    if before > catalog.FORMAT:
        check_format(database, f"The lake {folder}")
    database.close()
    if before < catalog.FORMAT:
        catalog.migrate(addresses.catalog, folder)
    return MigrationReport(before, catalog.FORMAT)


def read_addresses(folder: Path) -> Addresses:
    path = folder / LAKE_FILE
    try:
        described = tomllib.loads(path.read_text())
        return Addresses(str(described["catalog"]), str(described["store"]))
    except FileNotFoundError:
        raise NotFound(
            f"{folder} is not a lake: it has no {LAKE_FILE}.", hint="Make one: trunkline init"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, OSError) as error:
        raise Usage(
            f"{path} cannot be read: {error}.", hint="Restore it, or run trunkline init elsewhere"
        ) from None


def store_url(store: str, folder: Path) -> str:
    return store if "://" in store else str((folder / store).absolute())


def store_options_for(addresses: Addresses, options: Mapping[str, str]) -> Mapping[str, str]:
    """Those of S3, for the lake's own bucket or for buckets that it refers to."""
    if addresses.store.startswith("s3://"):
        return options
    return {f"{PREFIX}{name}": value for name, value in options.items()}


def _settle(core: Core, addresses: Addresses, folder: Path) -> bool:
    """First visit: name the lake and its store. Later: compare. Whether the lake was there."""
    with core.database.read() as session:
        known = catalog_identity.fact(session, catalog_identity.STORE)
    if known is None:
        if identity.settle(core, addresses.store):
            return False
        known = addresses.store
    # A path is relative to the catalog, if that is a file.
    base = folder
    if is_file_url(addresses.catalog):
        base = sqlite_path(addresses.catalog, folder).resolve().parent
    expected, given = store_url(known, base), store_url(addresses.store, folder)
    if _resolved(expected) != _resolved(given):
        raise WrongLake(
            f"This catalog belongs to a lake with the store {expected}, not {given}.",
            hint=f"Use --store {expected}, or another database.",
        )
    identity.join(core)
    return True


def _resolved(url: str) -> str:
    path = url.removeprefix("file://")
    return url.rstrip("/") if "://" in path else os.path.realpath(path)


def _refuse_around(store: str, folder: Path) -> None:
    """A store is nothing but a lake's own, so it cannot be around a lake and what is beside it."""
    for other in (Path(store, folder.name), folder):
        around = is_own(other) if other != folder else True
        if around and f"{os.path.realpath(other)}/".startswith(f"{store.rstrip('/')}/"):
            raise WrongLake(
                f"The store {store} would be around the lake {other}.",
                hint="Name a folder that holds nothing else.",
            )


def _is_inside(addresses: Addresses, folder: Path) -> bool:
    if "://" in addresses.store or not is_file_url(addresses.catalog):
        return False
    own = os.path.realpath(folder)
    places = (sqlite_path(addresses.catalog, folder), folder / addresses.store)
    return all(os.path.realpath(place).startswith(f"{own}/") for place in places)


def _refuse_paths(addresses: Addresses) -> None:
    shared = not is_file_url(addresses.catalog)
    if shared and "://" not in addresses.store:
        raise Usage(
            "A catalog on a server needs a store that every machine reaches.",
            hint="Add --store s3://bucket/prefix (or file:///shared/folder).",
        )


def _describe(addresses: Addresses) -> str:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return (
        "# Where this lake keeps its catalog and its objects. Paths are relative to this folder.\n"
        f"catalog = {quoted(addresses.catalog)}\nstore = {quoted(addresses.store)}\n"
    )


def _write_durably(path: Path, text: str) -> None:
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove_remains(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
