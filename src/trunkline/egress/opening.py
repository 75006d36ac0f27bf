"""A target made ready to send to: its secrets looked up, its sender opened."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from trunkline.egress.base import Berth, Sender
from trunkline.egress.targets import open_sender
from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.lake.this_machine import check
from trunkline.model.commits import RepoName
from trunkline.model.egress import Target
from trunkline.model.ids import new_id

Secret = Callable[[str], str | None]


def open_target(
    core: Core,
    pipeline: RepoName,
    target: Target,
    secrets: Secret,
    lake: str,
    *,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] = lambda count: None,
    once: bool = False,
) -> Sender:
    """The sender, if its target may be sent to.

    Secrets of the map `options` are filled into that, others into the options.

    With `once` it has a name that no other has: what it sends is new to the target, though the
    same version may have been there before.
    """
    options = dict(target.options)
    filled = dict(options["options"]) if isinstance(options.get("options"), dict) else None
    for option, name in target.secrets:
        value = secrets(name)
        if value is None:
            raise Precondition(
                f"The target {target.name} of {pipeline} needs the secret {name}, "
                "which is not set.",
                hint=f"trunkline secret set {name}",
            )
        options[option] = value
        if filled is not None:
            filled[option] = value
    if filled is not None:
        options["options"] = filled
    if once:
        target = replace(target, name=f"export-{new_id()}")
    berth = Berth(pipeline, target, options, stop or threading.Event(), lake, progress)
    check(berth.connection, core)
    return open_sender(berth)
