"""Write docs/cli.md from the command's own help: `python -m tests.docs.generate_cli`."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any

from tests.docs.console import ROOT
from trunkline.cli import main
from trunkline.cli.app import build

PAGE = ROOT / "docs" / "cli.md"
HEAD = """# The command line

Made from `--help` by `python -m tests.docs.generate_cli`. Do not edit it by hand.

`trunkline` and its short form `tl` are the same command. Every command takes `--json`, `--lake`,
`--project` and `--quiet`, before or after its name. Results go to stdout, errors to stderr.
The exit codes are in [operating.md](operating.md#exit-codes), the error codes in
[errors.md](errors.md). Colours and progress bars appear on a terminal only.

`trunkline --install-completion` installs tab completion. It offers commands, repos, branches,
tags, paths, pipelines, streams, ingests and jobs.
"""


def page() -> str:
    parts = [HEAD]
    for words in [(), *commands(build())]:
        title = " ".join(("trunkline", *words))
        parts.append(f"## {title}\n\n```text\n{help_of(words)}\n```\n")
    return "\n".join(parts)


def commands(app: Any) -> Iterator[tuple[str, ...]]:
    """Every command: groups before what is in them."""
    for name, command in app.commands.items():
        yield (name,)
        for below in getattr(command, "commands", ()):
            yield name, below


def help_of(words: tuple[str, ...]) -> str:
    """What `--help` prints at a width of 80."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            main([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    lines = printed.getvalue().rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
