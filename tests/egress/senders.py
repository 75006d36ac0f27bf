"""A lake with one table, and targets that get its versions straight from a sender."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import trunkline as tl
from tests.egress.worlds import REPO
from trunkline.egress.base import Berth, Sent, Shipment
from trunkline.egress.targets import open_sender
from trunkline.model.commits import Commit, RepoName
from trunkline.model.egress import Target

Rows = Sequence[Mapping[str, Any]]


class Dock:
    """Sends versions of `report`; `before` is what the lake knows that the target has."""

    def __init__(self, lake: tl.Lake, kind: str, options: Mapping[str, Any]) -> None:
        self.lake = lake
        self.kind = kind
        self.options = dict(options)
        self.secrets: dict[str, str] = {}
        self.before: Commit | None = None

    def write(self, rows: Rows | pa.Table) -> Commit:
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows))
        self.lake.write_table(REPO, table, mode="overwrite")
        return next(iter(self.lake.log(REPO)))

    def send(self, commit: Commit) -> Sent:
        names = tuple((name, name) for name in self.secrets)
        target = Target("out", self.kind, options=self.options, secrets=names)
        options = {**self.options, **self.secrets}
        berth = Berth(RepoName("default", REPO), target, options, threading.Event(), "L")
        sender = open_sender(berth)
        try:
            sent = sender.send(Shipment(self.lake._core, commit, "/", self.before))
        finally:
            sender.close()
        self.before = commit
        return sent

    def deliver(self, rows: Rows | pa.Table) -> str:
        return self.send(self.write(rows)).note
