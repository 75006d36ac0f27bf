"""Settings as anybody may see them who may see them at all: without what is secret."""

from __future__ import annotations

import re

from trunkline.model.overview import SettingInfo
from trunkline.settings import SETTINGS, Kind, Scalar, Settings, parse_pairs

HIDDEN = "(hidden)"
SECRET = ("token", "notify.webhook", "notify.slack")
"""The addresses of webhooks let whoever has them write there."""
_names = re.compile(r"secret|passw|token|credential|key", re.IGNORECASE)
_values = re.compile(r"secret|passw|token|credential", re.IGNORECASE)


def shown_settings(found: Settings) -> list[SettingInfo]:
    return [
        SettingInfo(
            name,
            _text(name, found[name].value),
            str(found[name].source),
            SETTINGS[name].sentence,
        )
        for name in found
    ]


def _text(name: str, value: Scalar) -> str:
    if value is None:
        return ""
    if name in SECRET:
        return HIDDEN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if SETTINGS[name].kind is Kind.PAIRS:
        return "\n".join(_pair(*pair) for pair in parse_pairs(str(value)).items())
    return _address(str(value)) if "://" in str(value) else str(value)


def _pair(name: str, value: str) -> str:
    """A setting of Spark's own, such as the key of an object store."""
    if _names.search(name) or _values.search(value):
        return f"{name}={HIDDEN}"
    return f"{name}={_address(value) if '://' in value else value}"


def _address(url: str) -> str:
    """Without who logs in and how, and without parameters, where tokens are."""
    return re.sub(r"[?;#].*", "", re.sub(r"//.*@", "//", url))
