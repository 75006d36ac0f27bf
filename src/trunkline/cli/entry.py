"""The way in and the only way out: whatever happens becomes an exit code and one line."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence

import typer

from trunkline.cli.command import PIPE_CLOSED
from trunkline.cli.text import printable, sides
from trunkline.errors import DiskFull, MergeConflict, TrunklineError

INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if args is None else args)
    _settle_streams()
    as_json = _wants_json(arguments)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _refuse_arguments(error, arguments, as_json)
    except typer.Abort:
        code = INTERRUPTED
    except TrunklineError as error:
        return _report(error, as_json)
    except BrokenPipeError:
        code = PIPE_CLOSED
    except OSError as error:
        return _report_os_error(error, as_json)
    except Exception as error:  # every other way out is a bug, and says so
        return _report_bug(error, as_json)
    if code == INTERRUPTED:
        _say({"code": "interrupted", "message": "interrupted", "hint": ""}, as_json)
    if code == PIPE_CLOSED:
        _abandon_stdout()
    return code


def _settle_streams() -> None:
    """A stream that was closed swallows what is written; what it cannot spell is escaped."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _run(arguments: list[str]) -> int:
    from trunkline.cli import complete
    from trunkline.cli.app import build

    complete.rejoin_bash_words(os.environ)
    # Typer answers an interrupt and `Exit` with their code; a command that ends well, with None.
    code = build(arguments).main(arguments, prog_name=_program(), standalone_mode=False)
    return code if isinstance(code, int) else 0


def _program() -> str:
    name = os.path.basename(sys.argv[0])
    return name if name in ("trunkline", "tl") else "trunkline"


def _wants_json(arguments: Sequence[str]) -> bool:
    """Known before the arguments are parsed, since parsing them may be what fails."""
    before_dashes = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in before_dashes:
        return True
    return os.environ.get("TRUNKLINE_JSON", "").lower() in ("1", "true", "yes", "on")


def _refuse_arguments(error: typer.TyperException, arguments: Sequence[str], as_json: bool) -> int:
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "trunkline"
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(error.format_message().rstrip() + "\n")
        return error.exit_code
    hint = f"See {path} --help."
    if message.startswith(("No such command", "No such option")):
        from trunkline.cli.app import NOUNS
        from trunkline.cli.synonyms import instead

        group = path.partition(" ")[2]
        if known := instead(arguments, NOUNS, group, getattr(error, "option_name", "")):
            # Names that are spelt alike would lead astray.
            message = message.partition(" Did you mean ")[0].partition(" (Possible ")[0]
            hint = known
    _say({"code": "usage", "message": message, "hint": hint}, as_json)
    return error.exit_code


def _report(error: TrunklineError, as_json: bool) -> int:
    _say(error.to_dict(), as_json)
    if isinstance(error, MergeConflict) and not as_json:
        for conflict in error.conflicts:
            _to_stderr(f"  {printable(conflict['path'])}  ({sides(conflict)})")
    _debug()
    return error.exit_code


def _report_os_error(error: OSError, as_json: bool) -> int:
    import errno

    try:
        sys.stdout.flush()
    except OSError:
        # What it still holds would fail once more when the process ends.
        _abandon_stdout()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        full = DiskFull("The disk is full.", hint="Make room and try again; nothing was changed.")
        return _report(full, as_json)
    where = f"{error.filename}: " if error.filename else ""
    return _report(TrunklineError(f"{where}{error.strerror or error}."), as_json)


def _report_bug(error: Exception, as_json: bool) -> int:
    message = f"{type(error).__name__}: {' '.join(str(error).split())} (this is a bug)"
    hint = "" if _debugging() else "TRUNKLINE_DEBUG=1 shows where it happened; please report it."
    _say({"code": "bug", "message": message, "hint": hint}, as_json)
    _debug()
    return 1


def _say(error: dict[str, object], as_json: bool) -> None:
    if as_json:
        _to_stderr(json.dumps(error, ensure_ascii=False))
        return
    message, picture = _without_picture(str(error["message"]))
    _to_stderr("interrupted" if error["code"] == "interrupted" else f"error: {_line(message)}")
    for line in picture:
        _to_stderr(f"  {_line(line)}")
    for line in str(error.get("excerpt", "")).splitlines():
        _to_stderr(f"  {printable(line)}")
    if error["hint"]:
        _to_stderr(f"hint: {_line(error['hint'])}")


def _without_picture(message: str) -> tuple[str, list[str]]:
    """The message, and the two lines that show a place in SQL: they must stay lines."""
    lines = message.split("\n")
    if len(lines) > 2 and lines[-1].lstrip().startswith("| ") and lines[-1].endswith("^"):
        return " ".join(lines[:-2]), lines[-2:]
    return message, []


def _line(text: object) -> str:
    return printable(" ".join(str(text).splitlines()))


def _to_stderr(line: str) -> None:
    # With stderr gone there is nobody left to tell.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(line + "\n")


def _debugging() -> bool:
    return os.environ.get("TRUNKLINE_DEBUG", "") not in ("", "0")


def _debug() -> None:
    if _debugging():
        import traceback

        traceback.print_exc()


def _abandon_stdout() -> None:
    """Who read our output has left: keep the interpreter from complaining at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
