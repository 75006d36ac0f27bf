"""Targets as people write them on a command line: a folder, s3://bucket/dir, postgresql://…#table.

They become the same map that a spec has, and are checked by the same fields.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from trunkline.errors import Usage
from trunkline.model.egress import Target
from trunkline.model.suggest import shown

_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL).fullmatch
_BUCKETS = ("s3", "gs", "az")
_DATABASES = ("postgresql", "postgres", "mysql", "mariadb", "sqlite", "mssql", "oracle", "duckdb")
GIVEN = "given"
"""The name under which a password of an address is handed on; no secret has it."""


def target_of(
    address: str, options: Mapping[str, Any], path: str = "/"
) -> tuple[Target, str | None]:
    """The target of an address with the options of its kind; and a password that was in it."""
    kind, body, password = read_address(address)
    given = {name: value for name, value in options.items() if value not in (None, [], {})}
    if kind == "iceberg" and "options" in given:
        given["catalog"] = given.pop("options")
    if kind == "folder":
        body["path"] = os.path.abspath(os.path.expanduser(body["path"]))
    raw: dict[str, Any] = {kind: {**body, **given}, "path": path}
    if password is not None:
        raw[kind]["password"] = GIVEN
    return checked(raw), password


def checked(raw: Mapping[str, Any]) -> Target:
    """A target as a spec would have it, or what is wrong with it."""
    from pydantic import ValidationError

    from trunkline.pipelines.spec.egress import targets_of
    from trunkline.pipelines.spec.egressfields import TargetField
    from trunkline.pipelines.spec.messages import first_flaw
    from trunkline.pipelines.spec.places import Document, Flaw
    from trunkline.pipelines.spec.shape import Shape

    shape, document = Shape(), Document("export", dict(raw))
    try:
        fields = TargetField.model_validate(shape.map(TargetField, raw))
        (target,) = targets_of([fields])
    except ValidationError as error:
        flaw = first_flaw(error, shape, document)
    except Flaw as found:
        flaw = found
    else:
        return target
    raise Usage(flaw.text.replace("egress[0].", ""), hint=flaw.hint)


def read_address(address: str) -> tuple[str, dict[str, Any], str | None]:
    """The kind of target, what of its fields the address tells, and a password that was in it."""
    found = _scheme(address)
    scheme = found[1].lower() if found else ""
    rest = found[2] if found else ""
    if scheme in _BUCKETS:
        return "objects", {"url": address}, None
    if scheme in ("http", "https"):
        return "webhook", {"url": address}, None
    if scheme == "delta":
        return "delta", {"url": rest}, None
    if scheme == "iceberg":
        return "iceberg", {"table": rest}, None
    if scheme == "kafka":
        servers, _, topic = rest.removeprefix("//").partition("/")
        return "kafka", {"servers": servers, **({"topic": topic} if topic else {})}, None
    if scheme.partition("+")[0] in _DATABASES:
        return "sql", *_database(address)
    if scheme and rest.startswith("//") and scheme != "file":
        raise Usage(
            f"{shown(scheme + '://')} is nothing to export to.",
            hint="A folder, s3://bucket/dir, postgresql://host/db#table, delta:DIR, "
            "iceberg:NAMESPACE.TABLE, kafka://host:9092/topic or https://host/path.",
        )
    place = unquote(rest.removeprefix("//")) if scheme == "file" else address
    return "folder", {"path": place}, None


def _database(address: str) -> tuple[dict[str, Any], str | None]:
    """The address without table and password."""
    url, _, table = address.partition("#")
    password = None
    parts = urlsplit(url)
    if parts.password is not None:
        password = unquote(parts.password)
        user, _, host = parts.netloc.rpartition("@")
        url = parts._replace(netloc=f"{user.partition(':')[0]}@{host}").geturl()
    return {"url": url, **({"table": table} if table else {})}, password
