"""Reading specs: a text in, checked specs out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from trunkline.errors import InvalidSpec, Usage
from trunkline.model.commits import RepoName
from trunkline.pipelines.spec.build import build
from trunkline.pipelines.spec.ingestfields import IngestSpecField
from trunkline.pipelines.spec.ingests import build_ingest
from trunkline.pipelines.spec.jsonnettext import ReadImport, jsonnet_documents
from trunkline.pipelines.spec.jsontext import json_documents
from trunkline.pipelines.spec.messages import first_flaw, refuse_other_than_map
from trunkline.pipelines.spec.places import Document, Flaw, Loc, SourcedSpec, Specs
from trunkline.pipelines.spec.shape import Shape, model_of
from trunkline.pipelines.spec.tables import ReadFile

_LARGEST = 16_000_000


def read_specs(
    text: str | bytes,
    *,
    name: str,
    project: str,
    args: Mapping[str, str] | None = None,
    read_import: ReadImport | None = None,
    read_file: ReadFile | None = None,
) -> Specs:
    """The specs of a file called `name`, whose suffix tells what it is written in.

    `args` are for jsonnet. `read_import(folder, path)` gives it the text of what it imports.
    `read_file(path)` gives the text of a file that a spec names, from the spec's folder.
    """
    specs: list[SourcedSpec] = []
    ignored: dict[str, None] = {}
    seen: dict[RepoName, str] = {}
    shown_name = "stdin" if name in ("", "-") else name
    for document in _documents(_decoded(text, shown_name), shown_name, args or {}, read_import):
        made, unused = _read(document, project, read_file)
        other = seen.setdefault(made.spec.name, made.where)
        if other is not made.where:
            raise InvalidSpec(
                f"{made.where}: the pipeline {made.spec.name} is already declared at {other}."
            )
        specs.append(made)
        ignored |= unused
    if not specs:
        raise InvalidSpec(f"{shown_name}: there is no pipeline in it.")
    return Specs(tuple(specs), tuple(ignored))


def read_raw(
    raw: Mapping[str, Any], *, where: str, project: str, read_file: ReadFile | None = None
) -> Specs:
    """One spec that is plain data already, as Python's builders make it."""
    made, ignored = _read(Document(where, dict(raw)), project, read_file)
    return Specs((made,), tuple(ignored))


def _read(
    document: Document, project: str, read_file: ReadFile | None
) -> tuple[SourcedSpec, dict[str, None]]:
    shape = Shape()
    try:
        refuse_other_than_map(document.value)
        assert isinstance(document.value, dict)
        raw = shape.spec(document.value)
        fields = model_of(document.value).model_validate(raw)
        if isinstance(fields, IngestSpecField):
            spec = build_ingest(fields, project)
        else:
            spec = build(fields, project, read_file)
    except ValidationError as error:
        raise document.refusal(first_flaw(error, shape, document)) from None
    except Flaw as flaw:
        flaw.loc = shape.original(flaw.loc)
        raise document.refusal(flaw) from None
    made = SourcedSpec(spec, document.where(), spec.transform.code, document.value)
    return made, shape.ignored


def _documents(
    text: str, name: str, args: Mapping[str, str], read_import: ReadImport | None
) -> Iterator[Document]:
    suffix = name.rpartition(".")[2].lower()
    if suffix == "jsonnet":
        found = jsonnet_documents(text, name, args, read_import)
    elif args:
        raise Usage(f"{name} takes no arguments.", hint="Only jsonnet files do.")
    elif suffix == "json" or text.lstrip()[:1] in ("{", "["):
        found = _json_or_yaml(text, name, suffix)
    else:
        from trunkline.pipelines.spec.yamltext import yaml_documents

        found = yaml_documents(text, name)
    for document in found:
        if isinstance(document.value, list):
            yield from _members(document)
        else:
            yield document


def _json_or_yaml(text: str, name: str, suffix: str) -> Iterator[Document]:
    """What starts like JSON is JSON; what then is not, may still be YAML's flow style."""
    try:
        return iter(list(json_documents(text, name)))
    except InvalidSpec as error:
        if suffix == "json":
            raise
        flaw = error
    from trunkline.pipelines.spec.yamltext import yaml_documents

    try:
        return iter(list(yaml_documents(text, name)))
    except InvalidSpec:
        raise flaw from None


def _members(document: Document) -> Iterator[Document]:
    assert isinstance(document.value, list)
    lines_of: dict[Loc, dict[Loc, int]] = {}
    for loc, line in document.lines.items():
        lines_of.setdefault(loc[:1], {})[loc[1:]] = line
    for i, value in enumerate(document.value):
        lines = lines_of.get((i,), {})
        name = document.name if lines else f"{document.name}[{i}]"
        yield Document(name, value, lines)


def _decoded(given: str | bytes, name: str) -> str:
    try:
        text = given if isinstance(given, str) else given.decode()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidSpec(
            f"{name}:{line}: this is not UTF-8.", hint="Save the file as UTF-8."
        ) from None
    if len(text) > _LARGEST:
        raise InvalidSpec(f"{name}: a spec of more than {_LARGEST:,} characters is not read.")
    return text.removeprefix("\ufeff")
