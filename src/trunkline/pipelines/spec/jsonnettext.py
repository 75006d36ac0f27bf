"""jsonnet to plain data. Arguments are a function's parameters, and external variables."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from trunkline.errors import InvalidSpec, TrunklineError
from trunkline.pipelines.spec.places import Document

ReadImport = Callable[[str, str], str]

_static = re.compile(r"STATIC ERROR: (?:(.+?):(\d+):[^ ]*: )?(.*)")
_runtime = re.compile(r"RUNTIME ERROR: (.*)")
_frame = re.compile(r"^\t(.+?):\(?(\d+)[:-]", re.MULTILINE)


def jsonnet_documents(
    text: str, name: str, args: Mapping[str, str], read_import: ReadImport | None
) -> Iterator[Document]:
    """What a jsonnet text evaluates to: there are no lines to tell afterwards."""
    import _jsonnet

    refused: list[TrunklineError] = []

    def imported(folder: str, wanted: str) -> tuple[str, bytes]:
        if read_import is None:
            raise ValueError("imports are not possible here")
        try:
            content = read_import(folder, wanted)
        except TrunklineError as error:
            refused.append(error)
            raise ValueError(error.message) from None
        return posixpath.normpath(posixpath.join(folder, wanted)), content.encode()

    if "\0" in text or any("\0" in part for pair in args.items() for part in pair):
        raise InvalidSpec(f"{name}: the character U+0000 may not be in jsonnet.")
    try:
        made = _jsonnet.evaluate_snippet(
            name, text, tla_vars=dict(args), ext_vars=dict(args), import_callback=imported
        )
    except RuntimeError as error:
        if refused:
            raise refused[0] from None
        raise _spoken(str(error), name) from None
    value = json.loads(made)
    if value is not None:
        yield Document(name, value)


def _spoken(said: str, name: str) -> InvalidSpec:
    """jsonnet's own words on one line, with the first place it names."""
    if found := _static.match(said):
        file, line, text = found.groups()
        return InvalidSpec(f"{file or name}{f':{line}' if line else ''}: {text.rstrip('.')}.")
    found = _runtime.match(said)
    text = found[1] if found else said.strip().partition("\n")[0]
    hint = ""
    if wanted := re.match(r"function parameter (\w+) not bound", text):
        text = f'the parameter "{wanted[1]}" has no value'
        hint = f"Give it one: --arg {wanted[1]}=VALUE."
    elif wanted := re.match(r"undefined external variable: (\w+)", text):
        text = f'the variable "{wanted[1]}" has no value'
        hint = f"Give it one: --arg {wanted[1]}=VALUE."
    elif wanted := re.match(r"function has no parameter (\w+)", text):
        text = f'there is no parameter "{wanted[1]}"'
    frame = _frame.search(said)
    place = f"{frame[1]}:{frame[2]}" if frame else name
    return InvalidSpec(f"{place}: {text.rstrip('.')}.", hint=hint)
