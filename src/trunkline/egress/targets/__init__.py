"""The kinds of targets, one module each; `base` says what they must do."""

from __future__ import annotations

from importlib import import_module

from trunkline.egress.base import Berth, Sender
from trunkline.errors import InvalidSpec

_SENDERS = {
    "folder": "folder.FolderSender",
    "objects": "objects.ObjectsSender",
    "sql": "sql.SqlSender",
    "kafka": "kafka.KafkaSender",
    "delta": "delta.DeltaSender",
    "iceberg": "iceberg.IcebergSender",
    "webhook": "webhook.WebhookSender",
}


def open_sender(berth: Berth) -> Sender:
    """The sender of a target. Its libraries are loaded only now."""
    place = _SENDERS.get(berth.target.kind)
    if place is None:
        raise InvalidSpec(f'There is no target "{berth.target.kind}".')
    module, _, name = place.partition(".")
    found: Sender = getattr(import_module(f"{__name__}.{module}"), name)(berth)
    return found
