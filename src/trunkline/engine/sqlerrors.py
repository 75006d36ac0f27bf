"""Spark's errors about tables in one line each, with the place in the SQL and paths of the lake."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from trunkline.engine.failures import last_line, raised
from trunkline.errors import DiskFull, TransformFailed, TrunklineError
from trunkline.pipelines.sqltext import Step, caret

if TYPE_CHECKING:
    from trunkline.model.tables import Scan


class Read(Protocol):
    """A table that Spark reads."""

    @property
    def scans(self) -> Sequence[Scan]: ...


_POSITION = re.compile(r"\(line (\d+), pos (\d+)\)|line (\d+) pos (\d+)")
_LINE = re.compile(
    r"== SQL \(line (\d+), position (\d+)\) ==|== SQL of .*? \(line (\d+), position (\d+)\) =="
)


def short(error: BaseException) -> str:
    """What Spark said, without codes and plans."""
    text = str(error)
    found = re.search(r"\[[A-Z_.0-9]+\] (.+?)(?: SQLSTATE: \w+|\n|$)", text, re.DOTALL)
    return " ".join((found[1] if found else last_line(text)).split()).rstrip(".;")[:500]


@contextlib.contextmanager
def at(step: Step, script: str) -> Iterator[None]:
    """Errors of one step say where in the script they are."""
    try:
        yield
    except TrunklineError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        place = _place(error)
        line, column = place or (1, 1)
        if line == 1:
            column += step.column - 1
        raise TransformFailed(
            caret(script, step.line + line - 1, column, f"{short(error)}.")
        ) from None


def _place(error: Any) -> tuple[int, int] | None:
    text = str(error)
    if found := _LINE.search(text) or _POSITION.search(text):
        line, column = (int(one) for one in found.groups() if one is not None)
        # Positions count from 0 in one of Spark's two forms.
        return line, column + (1 if "position" not in found[0] else 0)
    return None


@contextlib.contextmanager
def in_words(inputs: Mapping[str, Read]) -> Iterator[None]:
    """Errors of Spark while a table is computed, in the words of the lake."""
    try:
        yield
    except TrunklineError:
        raise
    except Exception as error:
        text = str(error)
        if "cancelled" in text or not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        if found := _explained(text, inputs):
            raise found from None
        raise


@contextlib.contextmanager
def naming_files(inputs: Mapping[str, Read]) -> Iterator[None]:
    """Errors of Spark about a file name it as the lake does; all others stay as they are."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.startswith(("pyspark.", "py4j.")):
            found = about_file(str(error), inputs)
            if found and _file(str(error), inputs):
                raise found from None
        raise


def about_file(text: str, inputs: Mapping[str, Read]) -> TrunklineError | None:
    """An error about a file of these tables, under the name that it has in the lake."""
    if lost := re.search(r"FILE_NOT_EXIST|FileNotFoundException|CRC checksum verification", text):
        what = "damaged" if lost[0].startswith("CRC") else "not in the store"
        return TransformFailed(
            f"{_file(text, inputs) or 'A file of an input'} cannot be read: its bytes are {what}.",
            hint="trunkline fsck --deep says what else is; put it again, or copy the object back.",
        )
    if "FAILED_READ_FILE" in text or "is not a Parquet file" in text or "MALFORMED" in text:
        where = _file(text, inputs)
        why = re.search(r"is not a Parquet file|MALFORMED_RECORD[^\n]*|Malformed [^\n]*", text)
        return TransformFailed(
            f"{where or 'A file of an input'} cannot be read as what its table is"
            + (f": {why[0][:200]}" if why else "")
            + ".",
            hint="Replace the file, or say how it is written: trunkline table set.",
        )
    return None


def _explained(text: str, inputs: Mapping[str, Read]) -> TrunklineError | None:
    if found := about_file(text, inputs):
        return found
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return DiskFull(
            "There is no space left where Spark writes: in the lake's store, or in its own folder.",
            hint="Free some; trunkline gc removes what no commit needs. Then: trunkline job rerun.",
        )
    if "OutOfMemoryError" in text or "UNABLE_TO_ACQUIRE_MEMORY" in text:
        return TransformFailed(
            "Spark ran out of memory.", hint="Raise spark.memory, or read less at once."
        )
    if found := raised(text):
        return found
    if re.search(r"\[[A-Z_.0-9]+\]", text) and "PYTHON_EXCEPTION" not in text:
        return TransformFailed(f"{short(Exception(_cause(text)))}.")
    return None


def _cause(text: str) -> str:
    """The last error with a code: what went wrong, not what it made fail."""
    found = re.findall(r"\[[A-Z][A-Z_.0-9]+\] [^\n]+", text)
    telling = [one for one in found if not one.startswith(("[TASK_WRITE_FAILED", "[FAILED_EXEC"))]
    return str((telling or found or [text])[0])


def _file(text: str, inputs: Mapping[str, Read]) -> str:
    """The file of an input that an error names by its object."""
    for name, source in inputs.items():
        for scan in source.scans:
            for file in scan.files:
                if file.uri.rpartition("/")[2] in text or file.uri in text:
                    return f"{(scan.name or name).partition(':')[0]}:{file.path}"
    return ""
