"""The process that a generator of the user's runs in: it can be ended, and knows its own
environment only. What it yields goes to the ingest through a pipe, which holds it back when the
ingest is slow; what it prints goes to the log.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trunkline.engine.runner.failure import DatumFailed
from trunkline.engine.runner.modules import describe, load_function
from trunkline.errors import TrunklineError, Usage
from trunkline.ingests.feeds.messages import Ended, Idle, Item, send
from trunkline.ingests.feeds.offered import Offered
from trunkline.tables.writing.sources import batches_of


def main(folder: str, entry: str, position: str, params: str) -> None:
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the function prints must not get among the rows
    threading.Thread(target=_follow_parent, daemon=True).start()
    end = Ended()
    try:
        for one in items(folder, entry, json.loads(position), json.loads(params)):
            send(out, one)
    except TrunklineError as error:
        end = Ended(error.message, error.hint)
    except DatumFailed as error:
        end = Ended(f"{entry}: {error}")
    except Exception as error:
        end = Ended(f"{entry}: {describe(error)}")
    send(out, end)


def items(
    folder: str, entry: str, position: Mapping[str, Any], params: Mapping[str, Any]
) -> Iterator[Item | Idle]:
    """What the function yields from a position on."""
    function: Any = load_function(folder, entry)
    told = [position.get("position", position.get("items"))]
    if not [name for name in inspect.signature(function).parameters if name not in params]:
        told = []
    made = function(*told, **params)
    if not isinstance(made, Iterable) or isinstance(made, str | bytes | Mapping):
        raise Usage(
            f"{entry} gave {type(made).__name__}, which cannot be gone through.",
            hint="It yields rows.",
        )
    count = int(position.get("items", 0))
    for given in made:
        count += 1
        if given is None:
            count -= 1
            yield Idle()
        elif isinstance(given, Offered):
            yield Item(_rows(given.rows), {"position": _plain(given.position, entry)})
        else:
            yield Item(_rows(given), {"items": count})


def _rows(given: Any) -> Any:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [dict(given)]
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return [dict(row) if isinstance(row, Mapping) else row for row in given]
    return batches_of(given).read_all()


def _plain(position: Any, entry: str) -> Any:
    try:
        return json.loads(json.dumps(position))
    except (TypeError, ValueError):
        raise Usage(
            f"{entry} offered a position that is no JSON: {type(position).__name__}.",
            hint="Use numbers, texts, lists and dicts of them.",
        ) from None


def _follow_parent() -> None:
    """Nobody is there to read what comes once our input has ended."""
    sys.stdin.buffer.read()
    os._exit(0)
