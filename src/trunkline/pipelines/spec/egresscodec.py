"""Targets of egress as JSON and back, in the user's own field names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trunkline.model.egress import Target
from trunkline.pipelines.spec.flowcodec import number

TARGETS: Mapping[str, Mapping[str, Any]] = {
    "folder": {"mode": "mirror", "format": "keep"},
    "objects": {"mode": "mirror", "format": "keep", "options": {}},
    "webhook": {"body": "event", "most": 1000, "timeout": 30.0},
    "kafka": {"key": [], "value": "json", "changes": False, "options": {}},
    "delta": {"mode": "replace", "key": [], "delete": False, "partition_by": [], "options": {}},
    "iceberg": {
        "mode": "replace",
        "key": [],
        "delete": False,
        "partition_by": [],
        "create": True,
    },
    "sql": {"mode": "replace", "key": [], "delete": False, "create": True},
}
"""The kinds of targets, each with its options that may be left out and what they are then."""

HIDDEN: Mapping[str, tuple[str, ...]] = {"webhook": ("token", "sign"), "sql": ("password",)}
"""Fields that have the name of a secret. Other secrets stand in the map `secrets`."""

_DEFAULT = Target("", "")
_OWN = ("name", "path", "tries", "backoff")


def target_to(target: Target) -> dict[str, Any]:
    defaults = TARGETS.get(target.kind, {})
    body = {
        name: number(value) if isinstance(value, float) else value
        for name, value in target.options.items()
        if name not in defaults or value != defaults[name]
    }
    hidden = HIDDEN.get(target.kind, ())
    body |= {name: secret for name, secret in target.secrets if name in hidden}
    if others := {name: secret for name, secret in target.secrets if name not in hidden}:
        body["secrets"] = others
    default = {"name": target.kind, **{name: getattr(_DEFAULT, name) for name in _OWN[1:]}}
    own = {name: getattr(target, name) for name in _OWN}
    shown = {name: value for name, value in own.items() if value != default[name]}
    if "backoff" in shown:
        shown["backoff"] = number(shown["backoff"])
    return {**shown, target.kind: body}


def target_from(raw: Mapping[str, Any]) -> Target:
    """The target that `target_to` gave."""
    ((kind, body),) = ((name, value) for name, value in raw.items() if name not in _OWN)
    defaults = TARGETS.get(kind, {})
    options = {**defaults, **body}
    secrets = dict(options.pop("secrets", {}))
    secrets |= {name: options.pop(name) for name in HIDDEN.get(kind, ()) if name in options}
    for name, value in defaults.items():
        if isinstance(value, float):
            options[name] = float(options[name])
    return Target(
        raw.get("name", kind),
        kind,
        raw.get("path", _DEFAULT.path),
        options,
        tuple(sorted(secrets.items())),
        raw.get("tries", _DEFAULT.tries),
        float(raw.get("backoff", _DEFAULT.backoff)),
    )
