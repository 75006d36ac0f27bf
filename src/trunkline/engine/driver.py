"""A pipeline's Python code in this process: found, called, and its errors put into one line."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from trunkline.engine.runner.code import code_folder
from trunkline.engine.runner.failure import DatumFailed
from trunkline.engine.runner.inputs import InputReader
from trunkline.engine.runner.modules import LoadFailed, activate, deactivate, describe
from trunkline.engine.runner.modules import load_function as load
from trunkline.engine.runner.workspace import workspace
from trunkline.engine.shipping import ship
from trunkline.errors import TransformFailed, TrunklineError
from trunkline.storage.objects.port import ObjectStore

_lock = threading.RLock()


class _Turn(threading.Condition):
    """Whose code can be imported now, and how many use it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = ""
        self.users = 0


_turn = _Turn()


@contextlib.contextmanager
def using(folder: str) -> Iterator[None]:
    """Have `import` find a pipeline's own files meanwhile. Code of another one waits its turn."""
    with _turn:
        _turn.wait_for(lambda: _turn.folder in ("", folder))
        _turn.folder = folder
        _turn.users += 1
        activate(folder)
    try:
        yield
    finally:
        with _turn:
            _turn.users -= 1
            if not _turn.users:
                deactivate()
                _turn.folder = ""
                _turn.notify_all()


def driver_code(store: ObjectStore, lines: tuple[str, ...], code_hash: str) -> str:
    """A folder of this process with a pipeline's code in it."""
    with _lock:
        return code_folder(workspace(""), InputReader(store), lines, code_hash).folder


def load_function(folder: str, entry: str) -> Callable[..., Any]:
    """The function that "file.py:function" names. Its UDFs reach executors by value."""
    with _lock:
        try:
            found: Any = load(folder, entry)
        except LoadFailed as failed:
            raise TransformFailed(
                f"{entry} cannot be loaded: {failed}", hint=_place(failed.trace)
            ) from None
        except DatumFailed as failed:
            raise TransformFailed(f"{failed}.") from None
        for module in list(sys.modules.values()):
            if str(getattr(module, "__file__", None) or "").startswith(folder + "/"):
                ship(module, folder)
    # As the decorator gives it, or a plain one.
    function: Callable[..., Any] = getattr(found, "function", found)
    return function


@contextlib.contextmanager
def user_error(pipeline: str, entry: str) -> Iterator[None]:
    """What the function raises is the user's: one line, and where it was raised."""
    try:
        yield
    except TrunklineError:
        raise
    except Exception as error:
        if type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise  # Spark's, which has words of its own
        raise TransformFailed(
            f"{entry.rpartition(':')[2]} failed: {describe(error)}", hint=_frame(error, entry)
        ) from None
    except SystemExit as error:
        raise TransformFailed(
            f"{entry.rpartition(':')[2]} ended with sys.exit({error.code})."
        ) from None


def _frame(error: BaseException, entry: str) -> str:
    """The last line of the user's own file that was on the way."""
    file = os.path.basename(entry.rpartition(":")[0])
    frames = traceback.extract_tb(error.__traceback__)
    mine = [one for one in frames if os.path.basename(one.filename) == file]
    return f"{file}:{mine[-1].lineno}: {mine[-1].line}" if mine else ""


def _place(trace: str) -> str:
    lines = [line.strip() for line in trace.splitlines() if line.strip().startswith("File ")]
    return lines[-1] if lines else ""
