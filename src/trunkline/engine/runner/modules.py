"""Python code of pipelines in this process: loaded once, and each version apart from others."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from trunkline.engine.runner.failure import DatumFailed

Function = Callable[[Any], object]

_loaded: dict[tuple[str, str], ModuleType] = {}
_set_aside: dict[str, dict[str, ModuleType]] = {}
_active = ""


def load_function(folder: str, entry: str) -> Function:
    """The function that "file.py:function" names in a code folder, and its folder on sys.path."""
    file, _, name = entry.rpartition(":")
    path = os.path.normpath(f"{folder}/{file.lstrip('/')}")
    if not folder or not path.startswith(folder + "/") or not os.path.isfile(path):
        raise DatumFailed(f"python file not found: {file!r} is not in the code", is_final=True)
    activate(folder)
    module = _loaded.get((folder, path))
    if module is None:
        module = _loaded[folder, path] = _load(folder, path)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise DatumFailed(f"python function not found: {name!r} in {file}", is_final=True)
    if not callable(found):
        raise DatumFailed(f"not a python function: {name!r} in {file}", is_final=True)
    return found  # type: ignore[no-any-return]


def activate(folder: str) -> None:
    """Have `import` find the modules of one code folder, and of no other."""
    global _active
    if _active == folder:
        return
    deactivate()
    sys.modules.update(_set_aside.pop(folder, {}))
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    _active = folder


def active() -> str:
    """The code folder whose modules `import` finds now, or ""."""
    return _active


def deactivate() -> None:
    """Leave nothing of a pipeline's code on sys.path and among the modules."""
    global _active
    if not _active:
        return
    sys.path[:] = [one for one in sys.path if not f"{one}/".startswith(f"{_active}/")]
    own = {name: module for name, module in sys.modules.items() if _is_below(module, _active)}
    for name in own:
        del sys.modules[name]
    _set_aside[_active] = own
    _active = ""


def describe(error: BaseException) -> str:
    """An exception as one line."""
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0][:500]}" if lines else name


def trace(error: BaseException, skip: int) -> str:
    """The traceback without the first frames, which are ours."""
    frames = error.__traceback__
    for _ in range(skip):
        if frames is not None:
            frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))


class LoadFailed(DatumFailed):
    """The code could not be loaded; `trace` says where."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(describe(error), is_final=True)
        self.trace = trace(error, skip=3)


def _load(folder: str, path: str) -> ModuleType:
    # A name of its own: a file called csv.py must not be taken for the module csv.
    stem = os.path.relpath(path, folder).removesuffix(".py").replace("/", ".")
    name = f"{stem}@{os.path.basename(folder)[-12:]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DatumFailed(f"not a python file: {os.path.basename(path)!r}", is_final=True)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        raise LoadFailed(error) from None
    return module


def _is_below(module: ModuleType | None, folder: str) -> bool:
    place = getattr(module, "__file__", None)
    if place:
        return str(place).startswith(folder + "/")
    # A folder without __init__.py has only a list of places.
    return any(str(one).startswith(folder + "/") for one in getattr(module, "__path__", ()))
