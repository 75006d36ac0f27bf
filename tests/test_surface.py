"""What we offer: the names of the package, the words of the command line."""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import trunkline
from trunkline import errors
from trunkline.cli.app import MODULES, NOUNS, build

COMMANDS = """
init demo doctor status migrate adopt gc fsck forget erase
put get cat ls rm cp glob diff log show merge revert cherry-pick undelete
project create|list|delete
repo create|list|inspect|delete
branch create|list|move|delete|trigger
tag create|list|delete
commit start|finish|list|inspect|squash|drop
transaction run
config list|get|set|unset
context add|list|remove|show|use
draw lineage login logout plan run serve sql tick whoami worker export verify
audit abuse
user create|delete|disable|enable|inspect|list|password
role grant|list|revoke
token create|list|revoke
checks list|replay
backfill cancel|inspect|list|pause|resume
backup create|list|restore|verify
datum inspect|list
job cancel|inspect|list|logs|rerun|wait|why
pipeline apply|backfill|delete|inspect|list|pause|restore|resume|run|schema|versions|why
ingest add|list|pause|start|status
egress inspect|list|retry|run|skip
env create|delete|diff|list|merge|status|sync
pool delete|list|set
secret delete|list|set
spark list|stop
stream batches|list|restart|rewind|savepoint|savepoints|status
table changes|compact|delete|diff|head|history|list|merge|profile|schema|set|update|write
"""


def wanted() -> Iterator[str]:
    for line in COMMANDS.strip().splitlines():
        noun, _, verbs = line.partition(" ")
        if "|" in verbs or noun == "transaction":
            yield from (f"{noun} {verb}" for verb in verbs.split("|"))
        else:
            yield from line.split()


@cache
def offered() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in build().commands.items():
        below = getattr(command, "commands", None)
        if below is None:
            found[name] = command
        else:
            found |= {f"{name} {verb}": inner for verb, inner in below.items()}
    return found


def test_all_is_what_imports():
    for name in trunkline.__all__:
        assert getattr(trunkline, name) is not None
    with pytest.raises(AttributeError):
        trunkline.nothing_of_that_name  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, trunkline; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"sqlalchemy", "alembic", "pyarrow", "numpy", "pyspark", "fastapi", "pydantic", "rich",
             "typer", "obstore", "psycopg", "zstandard"}  # fmt: skip
    assert heavy.isdisjoint(done.stdout.split())


def test_every_error_has_a_code_of_its_own():
    def below(
        error: type[errors.TrunklineError],
    ) -> Iterator[type[errors.TrunklineError]]:
        for child in error.__subclasses__():
            yield child
            yield from below(child)

    tree = list(below(errors.TrunklineError))
    codes = [error.code for error in tree if "code" in vars(error)]
    assert len(codes) == len(set(codes))
    assert all(
        error.__name__ in (errors.__doc__ or "")
        for error in tree
        if error.__module__ == errors.__name__
    )


def test_every_command_is_there():
    assert set(wanted()) == set(offered())


def test_every_command_is_found_by_its_first_word():
    for name in offered():
        word = name.partition(" ")[0]
        assert word in NOUNS or any(word in words for words in MODULES.values())
        assert word in build([word]).commands


@pytest.mark.parametrize("name", sorted(set(wanted())))
def test_every_command_has_the_shared_options_and_a_sentence(name):
    command = offered()[name]
    options = {option for param in command.params for option in param.opts}
    assert {"--json", "--lake", "--project", "--quiet"} <= options
    assert command.help
    assert command.help[0].isupper()
    assert all(
        getattr(param, "help", "") for param in command.params if param.param_type_name == "option"
    )
