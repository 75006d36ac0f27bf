"""The JSON schema of a spec, for editors. `python -m trunkline.pipelines.spec.schema` writes it."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import models_json_schema

from trunkline.pipelines.spec.ingestfields import IngestSpecField
from trunkline.pipelines.spec.model import SpecField
from trunkline.pipelines.spec.places import SCHEMA_FILE


def json_schema() -> dict[str, Any]:
    """The schema, made from the models: every field with its description."""
    _, schema = models_json_schema(
        [(SpecField, "validation"), (IngestSpecField, "validation")], by_alias=True
    )
    _drop_titles(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "pipeline.schema.json",
        "title": "Trunkline pipeline",
        "description": "A pipeline: what it reads, what it does with it, and when; or an ingest: "
        "where data comes from.",
        "type": "object",
        "if": {"required": ["ingest"]},
        "then": {"$ref": "#/$defs/IngestSpecField"},
        "else": {"$ref": "#/$defs/SpecField"},
        **schema,
    }


def text() -> str:
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _drop_titles(part: Any) -> None:
    """Made-up titles such as "Datum Tries" say nothing; a property may be called title."""
    if isinstance(part, list):
        for member in part:
            _drop_titles(member)
    elif isinstance(part, dict):
        if isinstance(part.get("title"), str):
            del part["title"]
        for member in part.values():
            _drop_titles(member)


if __name__ == "__main__":
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
