"""A lake whose repo `report` is delivered: versions, what waits, and who sends it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trunkline import Lake
from trunkline.egress.deliverer import Deliverer
from trunkline.model.egress import Delivery, DeliveryState, Target
from trunkline.pipelines.spec.codec import target_to
from trunkline.pipelines.spec.egressaddresses import checked
from trunkline.storage.catalog import deliveries, repos

REPO = "report"


class World:
    """What is sent here is what jobs would have made: the commits of `report`."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.told: list[str] = []

    def commit(self, **files: str | None) -> str:
        """One commit with these files, named without their slash; None removes one. Its id.

        `__` in a name stands for a slash.
        """
        with self.lake.commit(REPO) as commit:
            for name, content in files.items():
                path = "/" + name.replace("__", "/")
                if content is None:
                    commit.delete(path)
                else:
                    commit.put(path, content.encode())
        return commit.result.id

    def enqueue(self, commit: str, raw: Mapping[str, Any]) -> Target:
        target = checked(raw)
        core = self.lake._core
        with core.database.write() as session:
            key = repos.key_of(session, self.lake._repo(REPO))
            assert key is not None
            deliveries.enqueue(session, key, commit, target.name, target.kind, target_to(target))
        return target

    def deliverer(self, **how: Any) -> Deliverer:
        return Deliverer(
            self.lake._core, listener=lambda event: self.told.append(event.text), **how
        )

    def drain(self, secrets: Mapping[str, str] | None = None, **how: Any) -> list[Delivery]:
        """Send all that waits; what became of it."""
        deliverer = self.deliverer(secrets=(secrets or {}).get, **how)
        deliverer.drain(threading.Event())
        return deliverer.ended

    def send(self, commit: str, raw: Mapping[str, Any], **how: Any) -> Delivery:
        self.enqueue(commit, raw)
        (done,) = self.drain(**how)
        return done

    def listed(self) -> list[Delivery]:
        """Oldest first."""
        core = self.lake._core
        with core.database.read() as session:
            return [row.shown for row in deliveries.listed(session)][::-1]

    def states(self) -> list[str]:
        return [str(one.state) for one in self.listed()]


def there(folder: Path) -> dict[str, str]:
    """The files below a folder, hidden ones left out."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


DONE = DeliveryState.DONE
FAILED = DeliveryState.FAILED
