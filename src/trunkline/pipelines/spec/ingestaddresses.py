"""Sources as people write them on a command line: a folder, s3://bucket/, postgresql://…#table.

They become the same map that a spec has, and are checked by the same fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from trunkline.errors import NotAllowed, Usage
from trunkline.pipelines.spec.egressaddresses import read_address

_OWN_SECRETS = ("password", "token")


def source_of(
    address: str, fields: Mapping[str, Any], secrets: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """The source of an address, with more fields of its kind and the names of its secrets."""
    try:
        kind, body, password = read_address(address)
    except Usage as error:
        scheme = address.partition(":")[0]
        raise Usage(f'Nothing can be brought in from "{scheme}://".', hint=error.hint) from None
    if password is not None:
        raise NotAllowed(
            "A password does not belong into a spec.",
            hint="trunkline secret set NAME, and then --secret password=NAME.",
        )
    kind, body = _as_source(kind, body)
    given = {name: value for name, value in fields.items() if value not in (None, "", [])}
    if both := sorted(set(given) & set(body) - {"catalog"}):
        raise Usage(f"The address says {both[0]} already.")
    own = {name: secrets[name] for name in _OWN_SECRETS if name in secrets}
    others = {name: value for name, value in secrets.items() if name not in own}
    return {kind: {**body, **given, **own, **({"secrets": others} if others else {})}}


def _as_source(kind: str, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What is an address of a target is one of a source, by another name here and there."""
    match kind:
        case "webhook":
            return "api", body
        case "kafka":
            topic = body.pop("topic", None)
            return kind, {**body, **({"topics": [topic]} if topic else {})}
        case "folder":
            return kind, {"path": os.path.abspath(os.path.expanduser(body["path"]))}
        case "sql" if body["url"].startswith("sqlite:///"):
            # As a path of the one who types it: a spec counts from its own folder.
            file = body["url"].removeprefix("sqlite:///")
            return kind, {**body, "url": f"sqlite:///{os.path.abspath(file)}"}
    return kind, body
