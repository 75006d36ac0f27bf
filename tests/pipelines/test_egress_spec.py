"""`egress` in specs: what it says, what is refused, Pachyderm's form, and that it counts for
nothing but itself."""

from pathlib import Path

import jsonschema
import pytest
import yaml

import trunkline as tl
from tests.cases import load
from trunkline.errors import InvalidSpec, Usage
from trunkline.lake.this_machine import of_target
from trunkline.model import yamltext
from trunkline.model.egress import Target
from trunkline.model.pipelines import PipelineSpec
from trunkline.pipelines.spec import (
    from_json,
    json_schema,
    read_specs,
    to_json,
    transform_digest,
)
from trunkline.pipelines.spec.egress import KINDS
from trunkline.pipelines.spec.egressaddresses import target_of
from trunkline.pipelines.spec.egressfields import TargetField
from trunkline.pipelines.spec.kinds import TARGET_SECRETS as HIDDEN
from trunkline.pipelines.spec.kinds import TARGETS
from trunkline.pipelines.spec.shape import _model_in
from trunkline.sdk.specs import gather

BASE = """
pipeline: {name: report}
input: {pfs: {repo: orders, glob: /*}}
transform: {cmd: [cp]}
"""
SCHEMA = jsonschema.Draft202012Validator(json_schema())


def one(text: str) -> PipelineSpec:
    (made,) = read_specs(text + BASE, name="a.yaml", project="default").specs
    return made.spec


@pytest.mark.parametrize("case", load("spec_egress_refused.case"), ids="|".join)
def test_refusals(case):
    text = "\n".join(line for line in case if not line.startswith(("=> ", "?? ")))
    (message,) = (line[3:] for line in case if line.startswith("=> "))
    with pytest.raises(InvalidSpec) as caught:
        one(text)
    assert caught.value.message == message
    assert "hush" not in caught.value.message + caught.value.hint
    for line in case:
        if line.startswith("?? "):
            assert caught.value.hint == line[3:]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (
            "egress: {folder: /mnt/out}",
            Target("folder", "folder", "/", {"path": "/mnt/out", **TARGETS["folder"]}),
        ),
        (
            "egress: [{objects: {url: 's3://b/d', mode: versions, keep: 3, options: {region: eu}, \
secrets: {secret_access_key: aws/key}}, path: daily, name: lake, tries: 3, backoff: 500ms}]",
            Target(
                "lake",
                "objects",
                "/daily",
                {
                    "url": "s3://b/d/",
                    "mode": "versions",
                    "format": "keep",
                    "keep": 3,
                    "options": {"region": "eu"},
                },
                (("secret_access_key", "aws/key"),),
                3,
                0.5,
            ),
        ),
        (
            "egress: {webhook: {url: 'https://a/b', sign: hook, token: t, timeout: 5s}}",
            Target(
                "webhook",
                "webhook",
                "/",
                {**TARGETS["webhook"], "url": "https://a/b", "timeout": 5.0},
                (("sign", "hook"), ("token", "t")),
            ),
        ),
        (
            "egress: {webhook: {secrets: {url: slack}}}",
            Target("webhook", "webhook", "/", {**TARGETS["webhook"]}, (("url", "slack"),)),
        ),
    ],
)
def test_targets_and_their_way_to_json_and_back(text: str, target: Target):
    spec = one(text)
    assert spec.egress == (target,)
    raw = to_json(spec)
    assert from_json(raw) == spec
    SCHEMA.validate(raw)
    assert one_again(raw) == spec


@pytest.mark.parametrize(
    "text",
    [
        "egress: {URL: 's3://bucket/dir'}",
        "egress: {objectStorage: {url: 's3://bucket/dir'}}",
        "egress: {objects: 's3://bucket/dir/'}",
    ],
)
def test_pachyderms_form_is_a_mirror_in_a_bucket(text: str):
    if "objectStorage" not in text:  # protobuf's spelling is ours to read, not an editor's
        SCHEMA.validate(yaml.safe_load(text + BASE))
    (target,) = one(text).egress
    assert (target.kind, target.options["url"], target.options["mode"]) == (
        "objects",
        "s3://bucket/dir/",
        "mirror",
    )


def one_again(raw: dict[str, object]) -> PipelineSpec:
    text = "\n".join(yamltext.lines(raw))
    return read_specs(text, name="a.yaml", project="default").specs[0].spec


def test_it_decides_on_no_result():
    plain, sent = one(""), one("egress: {folder: /mnt/out}")
    assert transform_digest(plain, [], "", "") == transform_digest(sent, [], "", "")


def test_the_defaults_of_the_codec_are_those_of_the_fields():
    for kind in KINDS:
        model = _model_in(TargetField.model_fields[kind].annotation)
        assert model is not None
        defaults = {
            name: field.default
            for name, field in model.model_fields.items()
            if not field.is_required() and field.default is not None and name != "secrets"
        }
        assert TARGETS[kind] == defaults, kind
        assert set(HIDDEN.get(kind, ())) <= set(model.model_fields)


def test_a_folder_is_seen_from_where_the_spec_is(tmp_path: Path):
    (tmp_path / "a.yaml").write_text(f"egress: {{folder: out/daily}}{BASE}")
    (declared,) = gather((str(tmp_path / "a.yaml"),), "default", {}).declared
    assert declared.spec.egress[0].options["path"] == str(tmp_path / "out/daily")


def test_declared_in_python():
    @tl.pipeline(
        tl.pfs("orders", "/*"),
        egress=[
            tl.to("out", mode="versions"),
            tl.to("s3://bucket/a", path="/daily", name="lake", backoff="2s"),
            tl.to("https://host/hook", sign="hook"),
        ],
    )
    def report(datum):
        pass

    folder, objects, webhook = report.spec("default").egress
    assert (folder.kind, folder.options["mode"]) == ("folder", "versions")
    assert (objects.name, objects.path, objects.backoff) == ("lake", "/daily", 2.0)
    assert webhook.secrets == (("sign", "hook"),)
    with pytest.raises(InvalidSpec, match="holds no password"):
        tl.to("postgresql://ada:hush@host/db#t")


@pytest.mark.parametrize(
    ("address", "kind", "main", "here"),
    [
        ("out", "folder", None, True),
        ("s3://b/c", "objects", "s3://b/c/", False),
        ("https://host/x", "webhook", "https://host/x", False),
        ("postgresql://host/db#public.t", "sql", "postgresql://host/db", False),
        ("sqlite:////tmp/a.db#t", "sql", "sqlite:////tmp/a.db", True),
        ("delta:/tmp/t", "delta", "/tmp/t", True),
        ("delta:s3://b/t", "delta", "s3://b/t", False),
        ("delta:abfss://b/t", "delta", "abfss://b/t", False),
        ("delta:file:/tmp/t", "delta", "file:/tmp/t", True),
        ("delta:S3:/tmp", "delta", "S3:/tmp", True),
    ],
)
def test_addresses(address: str, kind: str, main: str | None, here: bool):
    target, password = target_of(address, {})
    assert (target.kind, password) == (kind, None)
    assert main is None or target.options["url"] == main
    assert any(of_target(target).locals()) is here


def test_iceberg_writes_where_its_catalog_is():
    for uri, here in (("https://host", False), ("http://localhost:1", True)):
        target, _ = target_of("iceberg:a.b", {"options": {"type": "rest", "uri": uri}})
        assert any(of_target(target).locals()) is here


@pytest.mark.parametrize(
    ("one_of", "other"),
    [
        ("{folder: a}", "{folder: b, name: x}"),
        ("{objects: 's3://b/c'}", "{objects: 's3://b/d', name: x}"),
        (
            "{objects: {url: 's3://b/c', options: {endpoint: 'https://x'}}}",
            "{objects: {url: 's3://b/c', options: {endpoint: 'https://y'}}, name: x}",
        ),
    ],
)
def test_places_that_are_not_the_same(one_of: str, other: str):
    assert len(one(f"egress: [{one_of}, {other}]").egress) == 2


def test_a_password_of_an_address_goes_no_further():
    target, password = target_of("postgresql://ada:hu%73h@host/db#t", {})
    assert password == "hush"
    assert "hush" not in repr(target)
    assert target.options["url"] == "postgresql://ada@host/db"


@pytest.mark.parametrize(
    ("address", "options", "said"),
    [
        ("gopher://a/b", {}, '"gopher://" is nothing to export to.'),
        ("out", {"table": "t"}, "folder.table is not a field."),
        ("out", {"mode": "mirrored"}, "folder.mode is the text"),
        ("postgresql://host/db", {}, "sql.table is missing."),
    ],
)
def test_addresses_that_are_refused(address: str, options: dict[str, str], said: str):
    with pytest.raises(Usage) as caught:
        target_of(address, options)
    assert caught.value.message.startswith(said)
