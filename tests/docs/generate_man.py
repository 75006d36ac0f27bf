"""Write man/ from the command, and its completions: `python -m tests.docs.generate_man`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from typer._completion_shared import get_completion_script

from tests.docs.console import ROOT
from tests.docs.generate_cli import commands
from trunkline import __version__
from trunkline.cli.app import build

FOLDER = ROOT / "man"
_EVERYWHERE = {"shared_json", "shared_lake", "shared_project", "shared_quiet", "help"}
"""Options of every command, which are told once."""
SHELLS = {"bash": "trunkline.bash", "zsh": "_trunkline", "fish": "trunkline.fish"}
_START = """\
.TH TRUNKLINE 1 "" "trunkline {version}" "Trunkline"
.SH NAME
trunkline, tl \\- a data lake you can branch, diff, merge and trust
.SH SYNOPSIS
.B trunkline
.I COMMAND
.RI [ ARGUMENTS ]
.RI [ OPTIONS ]
.SH DESCRIPTION
Repos hold files and tables with commits, branches and provenance. Pipelines run on Spark when the
data changes, and their output is a commit in a repo of their own.
Every command takes
.BR \\-\\-json ,
.BR \\-\\-lake ,
.B \\-\\-project
and
.BR \\-\\-quiet ,
before or after its name. Results go to stdout, errors to stderr.
.SH COMMANDS
"""
_END = """\
.SH EXIT STATUS
0 ok, 1 failed, 2 usage, 3 not found, 4 conflict, 5 not allowed, 6 precondition,
7 unavailable (try again), 124 timeout, 130 interrupted.
.SH ENVIRONMENT
.TP
.B TRUNKLINE_LAKE
The lake that is meant: a folder or the address of a server.
.TP
.B TRUNKLINE_TOKEN
Who you are, to a server.
.TP
.B TRUNKLINE_...
Every setting has a variable:
.BR "trunkline config list" .
.SH FILES
.TP
.I .trunkline/
A lake: in the current folder or the nearest one above it.
.TP
.I ~/.config/trunkline/config.toml
Settings of the user.
"""


def man() -> str:
    tree = build()
    parts = [_START.format(version=__version__)]
    for words in commands(tree):
        parts.append("\n".join(_command(tree, words)) + "\n")
    return "".join(parts) + _END


def _command(tree: Any, words: tuple[str, ...]) -> Iterator[str]:
    command = tree
    context = click.Context(tree, info_name="trunkline")
    for word in words:
        command = command.commands[word]
        context = click.Context(command, info_name=word, parent=context)
    yield f".SS {_escaped(' '.join(('trunkline', *words)))}"
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        yield _escaped(" ".join(paragraph.split()))
        yield ".PP"
    if hasattr(command, "commands"):
        return
    yield f".B trunkline {_escaped(' '.join(words))}"
    yield f".I {_escaped(' '.join(command.collect_usage_pieces(context)))}"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name not in _EVERYWHERE:
            yield ".TP"
            yield f".B {_escaped(record[0])}"
            yield _escaped(" ".join(record[1].split())) or "\\&"


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def completion(shell: str) -> str:
    """What `--show-completion` prints for a shell, for the names that the command has."""
    both = [
        get_completion_script(
            prog_name=name, complete_var=f"_{name.upper()}_COMPLETE", shell=shell
        ).strip()
        for name in ("trunkline", "tl")
    ]
    if shell == "zsh":
        # In a folder of functions the file itself is the function, for all that it lists.
        (line,) = (line for line in both[0].splitlines() if "eval" in line)
        return f"#compdef trunkline tl\n\n{line.strip()}\n"
    return "\n\n".join(both) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    yield FOLDER / "trunkline.1", man()
    yield FOLDER / "tl.1", ".so man1/trunkline.1\n"
    for shell, name in SHELLS.items():
        yield FOLDER / "completions" / name, completion(shell)


if __name__ == "__main__":
    for path, text in files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
