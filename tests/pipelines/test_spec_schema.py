"""The schema that editors use: current, complete, and agreeing with the reader."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.cases import load
from tests.docs.console import ROOT
from trunkline.pipelines.spec import SCHEMA_FILE, json_schema
from trunkline.pipelines.spec.schema import text

SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_shipped_file_is_current():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == text(), (
        "run: python -m trunkline.pipelines.spec.schema"
    )


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["title"]
    assert "//" not in SCHEMA["$id"]


def test_every_field_is_described():
    maps = [SCHEMA, *SCHEMA["$defs"].values()]
    for part in maps:
        for name, field in part.get("properties", {}).items():
            assert field.get("description", "").endswith("."), name


def examples() -> list[Path]:
    found = (ROOT / "examples").rglob("*")
    return [path for path in found if path.suffix in (".yaml", ".yml", ".json")]


@pytest.mark.parametrize("path", examples(), ids=lambda path: path.name)
def test_examples_are_valid(path):
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        if isinstance(document, dict) and {"pipeline", "ingest"} & document.keys():
            # A day is text to the schema, as it is in JSON.
            VALIDATOR.validate(json.loads(json.dumps(document, default=str)))


@pytest.mark.parametrize("case", load("spec.case"), ids="|".join)
def test_cases_are_valid(case):
    raw = yaml.safe_load("\n".join(line for line in case if not line.startswith("=> ")))
    VALIDATOR.validate(json.loads(json.dumps(raw)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"datum_trys": 3},
        {"datum_tries": "many"},
        {"transform": {"cmd": "a b"}},
        {"input": {"pfs": {"glob": "/"}}},
        {"pipeline": {"name": "a b"}},
        {"egress": {"ftp": "ftp://a"}},
    ],
)
def test_what_is_wrong_is_so_for_the_schema_too(wrong):
    spec = {
        "pipeline": {"name": "a"},
        "input": {"pfs": {"repo": "b", "glob": "/"}},
        "transform": {"cmd": ["c"]},
    }
    VALIDATOR.validate(spec)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**spec, **wrong})
