"""What a folder or a bucket was given: a note that lies at the target, so that the next delivery
knows what is there, and what it may remove."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trunkline.egress.base import Berth, Sent
from trunkline.egress.targets.parcels import NOTES, Parcel
from trunkline.errors import Precondition
from trunkline.model.ids import ID_LENGTH, is_id_prefix

KIND = "trunkline-egress 1"


class Notes:
    """`files` of a mirror are names with hash and size; `versions` commits, oldest first, with
    what of them there is."""

    def __init__(self, berth: Berth, mode: str, files: dict[str, Any], versions: dict[str, Any]):
        self._head = {
            "kind": KIND,
            "from": f"{berth.lake}/{berth.pipeline}",
            "pipeline": str(berth.pipeline),
            "mode": mode,
        }
        self.files = files
        self.versions = versions

    @classmethod
    def read(cls, text: bytes | None, berth: Berth, mode: str, where: str) -> Notes:
        """Those at a target. Refuses a target that somebody else delivers to."""
        made = cls(berth, mode, {}, {})
        if text is None:
            return made
        try:
            raw = json.loads(text)
            owner, made.files, made.versions = raw["from"], raw["files"], raw["versions"]
            before = raw["mode"]
            if not all(map(_is_below, made.files)) or not all(map(_is_commit, made.versions)):
                raise ValueError  # whoever wrote this wants something removed that is not ours
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Precondition(
                f"{NOTES} in {where} cannot be read.", hint="Deliver to another place."
            ) from None
        if owner != made._head["from"] or before != mode:
            who = f"{raw.get('pipeline')} of another lake"
            if owner.partition("/")[0] == berth.lake:
                who = f"{raw.get('pipeline')} as {before}"
            raise Precondition(
                f"{where} is where {who} is delivered to.",
                hint=f"Deliver to another place, or remove {NOTES} there to take it over.",
            )
        return made

    def coming(self, changed: Sequence[Parcel]) -> dict[str, Any]:
        """While files are on their way: all that is there, and all that may be."""
        # Without their hashes: which of two versions is there is not known.
        for one in changed:
            self.files[one.name] = []
        return self.encoded("")

    def done(self, commit: str, parcels: Sequence[Parcel]) -> dict[str, Any]:
        self.files = {one.name: one.identity for one in parcels}
        return self.encoded(commit)

    def add_version(self, commit: str, what: list[Any]) -> None:
        """The commit is the newest now."""
        self.versions.pop(commit, None)
        self.versions[commit] = what

    def drop_versions(self, keep: int | None) -> list[str]:
        """Forget all but the newest; those that go."""
        gone = list(self.versions)[:-keep] if keep else []
        for old in gone:
            del self.versions[old]
        return gone

    def encoded(self, commit: str) -> dict[str, Any]:
        return {**self._head, "commit": commit, "files": self.files, "versions": self.versions}


def _is_below(name: str) -> bool:
    """Whether it is the name of a file inside the target."""
    return not name.startswith("/") and not {"", ".", ".."} & set(name.split("/"))


def _is_commit(name: str) -> bool:
    return len(name) == ID_LENGTH and is_id_prefix(name)


def described(where: Path | str, parcels: Sequence[Parcel], sent: int, removed: int) -> Sent:
    """`3 files to /mnt/out, 1 of them new, 2 removed`."""
    total = len(parcels)
    note = f"{total:,} {'file' if total == 1 else 'files'} in {where}"
    if sent != total:
        note += f", {sent:,} of them new or changed" if sent else ", none of them new or changed"
    if removed:
        note += f", {removed:,} removed"
    size = sum(one.size for one in parcels)
    return Sent(note, files=total, bytes=size, more={"sent": sent, "removed": removed})
