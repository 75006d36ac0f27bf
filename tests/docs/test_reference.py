"""Reference pages are complete: every command, setting, error and method has its place."""

import inspect
import re
from collections.abc import Iterator

import pytest

import trunkline
from tests.docs import generate_api, generate_cli, generate_man, generate_openapi, generate_spec
from tests.docs.console import ROOT
from trunkline import errors
from trunkline.sdk.lake import Lake
from trunkline.sdk.results import Diff
from trunkline.sdk.writer import CommitWriter, LakeTransaction
from trunkline.settings import SETTINGS


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def rows(name: str) -> dict[str, list[str]]:
    """The rows of all tables of a page whose first cell is code, by that code."""
    found = {}
    for line in page(name).splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found[cells[0].strip("`")] = cells
    return found


def test_cli_page_is_what_the_command_says():
    assert page("cli.md") == generate_cli.page(), "run: python -m tests.docs.generate_cli"


def test_spec_page_is_what_the_schema_says():
    assert page("spec.md") == generate_spec.page(), "run: python -m tests.docs.generate_spec"


def test_man_page_and_completions_are_those_of_the_command():
    for path, text in generate_man.files():
        assert path.read_text(encoding="utf-8") == text, "run: python -m tests.docs.generate_man"


def test_the_table_of_routes_is_what_the_server_has():
    text = page("api.md")
    assert text == generate_api.page(text), "run: python -m tests.docs.generate_api"


def test_the_console_knows_the_api_that_the_server_has():
    told = generate_openapi.FILE.read_text(encoding="utf-8")
    assert told == generate_openapi.text(), "run: make docs"


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_row(name):
    setting = SETTINGS[name]
    _, kind, default, variable, sentence = rows("settings.md")[name]
    assert variable == f"`{setting.variable}`"
    assert default == ("–" if setting.default is None else f"`{setting.default}`")
    assert sentence.startswith(setting.sentence)
    if setting.choices:
        assert kind == " or ".join(f"`{choice}`" for choice in setting.choices)
    else:
        assert kind == setting.kind


def every_error(above: type[errors.TrunklineError]) -> Iterator[type[errors.TrunklineError]]:
    for error in above.__subclasses__():
        if error.__module__ == errors.__name__:
            yield error
            yield from every_error(error)


@pytest.mark.parametrize("error", [*every_error(errors.TrunklineError)], ids=lambda e: e.__name__)
def test_every_error_has_a_row(error):
    _, name, exit_code, when, remedy = rows("errors.md")[error.code]
    assert name.strip("*`") == error.__name__
    assert exit_code == str(error.exit_code)
    assert when
    assert remedy


def test_no_row_without_a_setting_or_error():
    documented = {name for name, cells in rows("settings.md").items() if len(cells) == 5}
    assert documented == set(SETTINGS)
    codes = {name for name, cells in rows("errors.md").items() if len(cells) == 5}
    assert codes == {error.code for error in every_error(errors.TrunklineError)}


def test_every_exit_code_is_listed():
    codes = {str(error.exit_code) for error in every_error(errors.TrunklineError)}
    listed = re.findall(r"^\| (\d+) \|", page("operating.md"), re.MULTILINE)
    assert codes <= set(listed)


def methods() -> Iterator[tuple[str, str]]:
    owners = {
        "tl": (trunkline, ("init", "migrate", "open")),
        "lake": (Lake, dir(Lake)),
        "commit": (CommitWriter, dir(CommitWriter)),
        "transaction": (LakeTransaction, dir(LakeTransaction)),
    }
    for noun, (owner, names) in owners.items():
        for name in names:
            if not name.startswith("_"):
                is_property = isinstance(inspect.getattr_static(owner, name, None), property)
                yield noun, name if is_property else f"{name}("
    yield "diff", "summary("


@pytest.mark.parametrize("noun, method", [*methods()])
def test_every_public_method_is_on_the_python_page(noun, method):
    text = page("python.md")
    if noun == "diff":
        assert hasattr(Diff, method.strip("("))
        assert f"`{method}" in text
    else:
        assert f"`{noun}.{method}" in text


@pytest.mark.parametrize("noun, owner", [("lake", Lake), ("commit", CommitWriter)])
def test_signatures_on_the_python_page_are_real(noun, owner):
    """Names of parameters, in their order."""
    shown = re.findall(rf"^\| `{noun}\.(\w+)\(([^`]*)\)`", page("python.md"), re.MULTILINE)
    assert shown
    for name, parameters in shown:
        real = list(inspect.signature(getattr(owner, name)).parameters)[1:]
        named = [part.split("=")[0].strip().lstrip("*") for part in parameters.split(",")]
        assert [p for p in named if p] == [_short(p) for p in real], name


def _short(parameter: str) -> str:
    """The page says `pairs` and `id` where the code is wordier."""
    return {"files": "pairs", "commit_id": "id"}.get(parameter, parameter)
