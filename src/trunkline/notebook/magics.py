"""`%tl COMMAND` and `%%tl sql`."""

from __future__ import annotations

import re
import shlex
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import MagicArgumentParser as Parser

from trunkline.errors import TrunklineError


def _parser() -> Any:
    made: Any = Parser  # its library says nothing of types
    parser = made(prog="%%tl sql", add_help=False)
    parser.add_argument("--engine", default="duckdb", choices=("duckdb", "spark"))
    parser.add_argument("--at", default=None, help="every table as of this commit set")
    parser.add_argument("--as", dest="name", default="", help="a variable that gets the answer")
    parser.add_argument("--into", default="", help="REPO@BRANCH: write the rows as a table")
    return parser


@magics_class
class LakeMagics(Magics):
    """The lake is the variable `lake` of the notebook if there is one, else the nearest."""

    _opened: Any = None

    @line_cell_magic
    def tl(self, line: str, cell: str | None = None) -> Any:
        """`%tl log orders` runs a command. `%%tl sql` asks what the cell says."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"%tl: {error}") from None
        try:
            if cell is not None:
                return self._cell(words, cell)
            if words[:1] == ["run"] and len(words) == 1:
                return self._run()
        except TrunklineError as error:
            raise UsageError(_line(error)) from None
        return self._command(words)

    def _cell(self, words: list[str], cell: str) -> Any:
        if words[:1] != ["sql"]:
            raise UsageError("A cell is SQL: it begins with %%tl sql.")
        given = _parser().parse_args(words[1:])
        asked = set(re.findall(r"\$(\w+)", cell))
        params = {name: value for name, value in self._variables().items() if name in asked}
        result = self._lake().sql(cell, engine=given.engine, at=given.at, params=params or None)
        answer = result.into(given.into) if given.into else result
        if given.name:
            self._namespace()[given.name] = answer
            return None
        return answer

    def _run(self) -> Any:
        from trunkline.notebook.display import Progress

        report = self._lake().run(listener=Progress())
        if report.failed:
            raise UsageError(f"{report.failed} failed: %tl job list says which.")
        return None

    def _command(self, words: list[str]) -> None:
        from trunkline.cli import main

        lake: Any = self._namespace().get("lake")
        where = ["--lake", lake.location] if _is_lake(lake) and "--lake" not in words else []
        code = main([*words, *where] if words else ["--help"])
        if code:
            # What is wrong was said: a notebook that runs by itself must not go on.
            raise UsageError(f"trunkline {shlex.join(words)} ended with exit code {code}")

    def _lake(self) -> Any:
        named = self._namespace().get("lake")
        if _is_lake(named):
            return named
        if self._opened is None:
            import trunkline

            self._opened = trunkline.open()
        return self._opened

    def _namespace(self) -> dict[str, Any]:
        assert self.shell is not None
        found: dict[str, Any] = self.shell.user_ns
        return found

    def _variables(self) -> dict[str, Any]:
        """Those of the notebook that a query may name as $name."""
        plain = (str, int, float, bool, type(None))
        return {
            name: value
            for name, value in self._namespace().items()
            if not name.startswith("_") and isinstance(value, plain)
        }


def _is_lake(value: object) -> bool:
    return hasattr(value, "sql") and hasattr(value, "location")


def _line(error: TrunklineError) -> str:
    excerpt = getattr(error, "excerpt", "")
    parts = [error.message, excerpt, f"hint: {error.hint}" if error.hint else ""]
    return "\n".join(part for part in parts if part)
