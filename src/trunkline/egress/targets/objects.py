"""A folder of a bucket: S3, GCS, Azure.

mirror     The folder has the newest version. A bucket cannot switch several objects at once: new
           and changed ones are put first, those that are no longer in the output are deleted last.
           Who reads meanwhile may see some of both.
versions   Each version lies below its commit's id and is never changed. `latest.json` is put last
           and names the newest, its folder and its files: who reads what that names sees one
           version, whole. Other folders may be incomplete, if a delivery was broken off.

What was delivered is noted in `.trunkline.json`.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trunkline.egress.base import Berth, Sender, Sent, Shipment
from trunkline.egress.targets.notes import Notes, described
from trunkline.egress.targets.parcels import NOTES, Parcel, parcels_of
from trunkline.errors import Precondition, Unavailable
from trunkline.lake.identity import refuse_store
from trunkline.model.time import to_rfc3339
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.open import open_foreign

LATEST = "latest.json"
_AT_ONCE = 8


class ObjectsSender(Sender):
    def __init__(self, berth: Berth) -> None:
        super().__init__(berth)
        self._url = str(berth.options["url"]).rstrip("/")
        options = {name: str(value) for name, value in berth.options["options"].items()}
        self._store = open_foreign(self._url, options)

    def send(self, shipment: Shipment) -> Sent:
        refuse_store(self._store)
        with tempfile.TemporaryDirectory(prefix="trunkline-egress-") as made:
            parcels = parcels_of(shipment, str(self.berth.options["format"]), Path(made))
            if self.berth.options["mode"] == "versions":
                return self._version(shipment, parcels)
            return self._mirror(shipment, parcels)

    def _mirror(self, shipment: Shipment, parcels: Sequence[Parcel]) -> Sent:
        notes = Notes.read(self._get(NOTES), self.berth, "mirror", self._url)
        there = {info.key: info.size for info in self._store.list()}
        changed = [
            one
            for one in parcels
            if notes.files.get(one.name) != one.identity or there.get(one.name) != one.size
        ]
        for one in changed:
            if one.name in there and one.name not in notes.files:
                raise Precondition(
                    f"{self._url}/{one.name} is there already, and was not delivered.",
                    hint="Remove it, or deliver to another folder.",
                )
        stale = notes.files.keys() - {one.name for one in parcels}
        if changed:
            # Noted before they are there: what a crash leaves half done is known to be ours.
            self._put(NOTES, notes.coming(changed))
            self._put_all(shipment, changed, "")
        self._store.delete(sorted(stale & there.keys()))
        self._put(NOTES, notes.done(shipment.commit.id, parcels))
        return described(self._url, parcels, len(changed), len(stale))

    def _version(self, shipment: Shipment, parcels: Sequence[Parcel]) -> Sent:
        notes = Notes.read(self._get(NOTES), self.berth, "versions", self._url)
        name = shipment.commit.id
        what = [self.berth.target.path, self.berth.options["format"]]
        if not notes.versions and self._get(LATEST) is not None:
            raise Precondition(
                f"{self._url}/{LATEST} is there already, and was not delivered.",
                hint="Remove it, or deliver to another folder.",
            )
        if notes.versions.get(name) != what:
            self._put_all(shipment, parcels, f"{name}/")
        latest = {
            "commit": name,
            "folder": f"{self._url}/{name}/",
            "finished": to_rfc3339(shipment.commit.finished or shipment.commit.started),
            "files": [{"path": one.name, "size": one.size} for one in parcels],
        }
        # Noted before it is there: what a crash leaves is known to be ours.
        notes.add_version(name, what)
        self._put(NOTES, notes.encoded(name))
        self._put(LATEST, latest)
        if gone := notes.drop_versions(self.berth.options.get("keep")):
            for old in gone:
                self._store.delete(info.key for info in self._store.list(f"{old}/"))
            self._put(NOTES, notes.encoded(name))
        return described(f"{self._url}/{name}", parcels, len(parcels), 0)

    def _put_all(self, shipment: Shipment, parcels: Sequence[Parcel], prefix: str) -> None:
        done, lock = 0, threading.Lock()

        def put(one: Parcel) -> None:
            nonlocal done
            if self.berth.stop.is_set():
                raise Unavailable("The delivery was stopped.")
            with self._store.writer(f"{prefix}{one.name}", one.size) as writer:
                for piece in one.pieces(shipment):
                    writer.write(piece)
            with lock:
                done += 1
                self.berth.progress(done)
            crashpoint("egress.sending")

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            _all(pool.map(put, parcels))

    def _get(self, key: str) -> bytes | None:
        try:
            return self._store.get(key)
        except FileNotFoundError:
            return None

    def _put(self, key: str, value: Any) -> None:
        self._store.put(key, json.dumps(value, indent=1, ensure_ascii=False).encode())


def _all(results: Iterable[object]) -> None:
    for _ in results:
        pass
