"""A pipeline's own modules where Spark runs Python.

Functions reach executors by value, and the modules that they use with them. What a function
imports only when it is called must be found there too: so the name of a module's file, which
goes along with each of its functions, brings the code with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from trunkline.engine.runner.modules import activate, active
from trunkline.engine.runner.workspace import remove_tree, workspace

_MOST_BESIDE = 1 << 20
_sent: set[str] = set()


def ship(module: ModuleType, folder: str) -> None:
    """Have what a module of a code folder defines travel by value, and the code with it."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    module.__file__ = _File(module.__file__ or "", folder)
    _sent.add(folder)
    if not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(sys.meta_path.index(PathFinder), _Finder())


class _File(str):
    """The name of a module's file. Unpickled elsewhere, its folder can be imported from there."""

    __slots__ = ("folder", "places")
    folder: str
    places: tuple[str, ...]
    """Where below the folder modules were looked for: a project has several of them."""

    def __new__(cls, path: str, folder: str) -> _File:
        made = super().__new__(cls, path)
        made.folder = folder
        made.places = tuple(one[len(folder) :] for one in _inside(sys.path, folder))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        file, files = self[len(self.folder) :], _files(self.folder)
        return arrive, (self.folder, file, self.places, files)


def arrive(folder: str, file: str, places: Sequence[str], files: Mapping[str, bytes]) -> str:
    """Have `import` find these files, in a process of Spark's; where one of them is now."""
    if folder in _sent:  # this is the driver, which sees to its imports itself
        return folder + file
    if not os.path.isdir(folder):
        folder = _unpacked(os.path.basename(folder), files)
    activate(folder)
    more = [folder + place for place in places if folder + place not in sys.path]
    sys.path[:0] = more
    return folder + file


def _inside(places: Iterable[str], folder: str) -> list[str]:
    return [one for one in places if f"{one}/".startswith(f"{folder}/")]


@lru_cache(maxsize=16)
def _files(folder: str) -> dict[str, bytes]:
    """All modules of a code folder, and the files beside them unless those are large."""
    found = [one for one in sorted(Path(folder).rglob("*")) if one.is_file()]
    others = [one for one in found if one.suffix not in (".py", ".pyc")]
    if sum(one.stat().st_size for one in others) > _MOST_BESIDE:
        others = []
    wanted = [one for one in found if one.suffix == ".py"] + others
    return {str(one)[len(folder) :]: one.read_bytes() for one in wanted}


def _unpacked(name: str, files: Mapping[str, bytes]) -> str:
    folder = f"{workspace('').path}/{name}"
    if not os.path.isdir(folder):
        part = Path(f"{folder}.part")
        if part.exists():
            remove_tree(str(part))
        for file, data in files.items():
            target = Path(f"{part}{file}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        part.rename(folder)
    return folder


class _Finder(MetaPathFinder):
    """Finds modules of the code that is active, also those imported while its function runs."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        folder = active()
        if folder not in _sent:
            return None
        inside = _inside(sys.path if path is None else path, folder)
        spec = PathFinder.find_spec(name, inside) if inside else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        ship(module, active())
        super().exec_module(module)
