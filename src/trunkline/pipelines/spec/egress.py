"""From the checked fields of `egress` to targets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import normpath
from typing import Any

from trunkline.model.egress import Target
from trunkline.pipelines.spec.egressfields import ObjectsTargetField, TargetField
from trunkline.pipelines.spec.fields import Fields
from trunkline.pipelines.spec.kafkafields import check_kafka
from trunkline.pipelines.spec.kinds import TARGET_SECRETS, check_settings
from trunkline.pipelines.spec.lakehousefields import check_lakehouse
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.sqlfields import check_target

_OWN = ("name", "path", "tries", "backoff", "pachyderm_url", "object_storage")
KINDS = tuple(name for name in TargetField.model_fields if name not in _OWN)


def targets_of(fields: Sequence[TargetField]) -> tuple[Target, ...]:
    """The targets, or the `Flaw` that keeps them from making sense."""
    found: dict[str, Target] = {}
    for i, one in enumerate(fields):
        loc: Loc = ("egress", i)
        target = _target(one, loc)
        if target.name in found:
            raise Flaw(loc, f"Two targets of egress are called {target.name}.",
                       "Give one of them a name: name: NAME.")  # fmt: skip
        for other in found.values():
            if (place := _place(target)) is not None and place == _place(other):
                raise Flaw(loc, f"Two targets deliver to {place[0]}: each would remove the "
                           "other's files.", "Give each a folder of its own.")  # fmt: skip
        found[target.name] = target
    return tuple(found.values())


def _place(target: Target) -> tuple[str, ...] | None:
    """Where files go. Buckets of two stores may have one name."""
    if target.kind == "folder":
        return (normpath(target.options["path"]),)
    if target.kind == "objects":
        given = sorted({**target.options["options"], **dict(target.secrets)}.items())
        store = [str(value) for name, value in given if re.search("endpoint|account_name", name)]
        return (target.options["url"], *store)
    return None


def _target(fields: TargetField, loc: Loc) -> Target:
    bodies: dict[str, Fields] = {
        kind: body for kind in KINDS if (body := getattr(fields, kind)) is not None
    }
    pachyderms = fields.pachyderm_url or (fields.object_storage and fields.object_storage.url)
    if pachyderms:
        bodies["objects"] = ObjectsTargetField(url=pachyderms)
    if len(bodies) != 1:
        *first, last = KINDS
        what = f"has {' and '.join(bodies)}" if bodies else "names no target"
        raise Flaw(loc, f"{path_text(loc)} {what}, but takes exactly one of "
                   f"{', '.join(first)} and {last}.")  # fmt: skip
    ((kind, body),) = bodies.items()
    hidden = TARGET_SECRETS.get(kind, ())
    given = {name: getattr(body, name) for name in type(body).model_fields}
    secrets: dict[str, str] = {name: given[name] for name in hidden if given[name] is not None}
    secrets |= given.get("secrets") or {}
    options: dict[str, Any] = {
        name: value
        for name, value in given.items()
        if name not in hidden and name != "secrets" and value is not None
    }
    place: Loc = (*loc, kind)
    _check(kind, options, secrets, place)
    return Target(
        fields.name or kind,
        kind,
        fields.path,
        options,
        tuple(sorted(secrets.items())),
        fields.tries,
        fields.backoff,
    )


def _check(kind: str, options: dict[str, Any], secrets: dict[str, str], loc: Loc) -> None:
    if kind == "sql":
        check_target(options, loc)
    elif kind == "kafka":
        check_kafka(options, secrets, loc)
    elif kind in ("delta", "iceberg"):
        check_lakehouse(options, loc)
    if kind == "webhook" and ("url" in options) == ("url" in secrets):
        what = "twice" if "url" in options else "missing"
        raise Flaw(loc, f"{path_text(loc)}: the address is {what}.", "Write url: https://…")
    if options.get("keep") and options.get("mode") != "versions":
        raise Flaw((*loc, "keep"), f"{path_text((*loc, 'keep'))} goes with mode: versions.")
    for name in secrets.keys() & options.get("options", {}).keys():
        raise Flaw(loc, f"{path_text(loc)} has {name} both in options and in secrets.")
    check_settings(kind, options, secrets, loc)
