"""Paths of files in a repo, and names of everything else.

A path is `/` followed by parts joined by `/`; the root is `/`. Paths are keys: nothing here
or elsewhere joins one to a folder on disk without checking where it ends up.
"""

from __future__ import annotations

import re
import unicodedata

from trunkline.errors import InvalidName, InvalidPath
from trunkline.model.suggest import shown

ROOT = "/"
LONGEST_PATH = 1024
LONGEST_NAME = 63

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"

# Nearly every path is plain ASCII and already in order: one match decides.
_plain_path = re.compile(r"(?:/(?!\.\.?(?:/|\Z))[ -.0-\[\]-~]+)+").fullmatch
_forbidden = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\\\\\ud800-\udfff]").search
_name = re.compile(NAME_PATTERN).fullmatch
_not_in_names = re.compile(r"[^A-Za-z0-9._-]+")


def normalize_path(text: str) -> str:
    """The one spelling of a path: in NFC, with a leading and without a trailing slash."""
    if len(text) <= LONGEST_PATH and _plain_path(text):
        return text
    return _normalize_slowly(text)


def _normalize_slowly(text: str) -> str:
    if not text:
        raise InvalidPath("The path is empty.", hint="Write / for the root.")
    if bad := _forbidden(text):
        raise InvalidPath(
            f"The path {shown(text)} has {_kind_of(bad[0])} at character {bad.start() + 1}.",
            hint=_REMEDY.get(bad[0], "Take it out or put another character in its place."),
        )
    path = unicodedata.normalize("NFC", text if text.startswith("/") else "/" + text)
    if path == ROOT:
        return path
    path = path.removesuffix("/")
    for number, part in enumerate(path.split("/")[1:], start=1):
        if part in ("", ".", ".."):
            what = f"is {shown(part)}" if part else "is empty"
            raise InvalidPath(
                f"Part {number} of the path {shown(text)} {what}.",
                hint='Write the path from the root, with no "//", "." or ".." in it.',
            )
    if (size := len(path.encode())) > LONGEST_PATH:
        raise InvalidPath(
            f"The path {shown(text)} is {size:,} bytes long.",
            hint=f"Use at most {LONGEST_PATH:,} bytes of UTF-8.",
        )
    return path


_REMEDY = {"\\": "Separate folders by /."}


def _kind_of(character: str) -> str:
    if character == "\\":
        return "a backslash"
    if "\ud800" <= character <= "\udfff":
        return "a byte that is not UTF-8"
    return f"the control character U+{ord(character):04X}"


def join(folder: str, *parts: str) -> str:
    """The path of `parts` below `folder`."""
    return normalize_path("/".join((folder.rstrip("/"), *(part.strip("/") for part in parts))))


def parent(path: str) -> str:
    """The folder a path is in. The root is its own parent."""
    return path[: path.rindex("/")] or ROOT


def base_name(path: str) -> str:
    return path[path.rindex("/") + 1 :]


def is_under(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or anywhere below it."""
    return folder == ROOT or path == folder or path.startswith(folder + "/")


def is_name(text: str) -> bool:
    return _name(text) is not None


def validate_name(kind: str, text: str) -> str:
    """The name itself, if it may name a `kind` (as in "repo", "branch", "tag")."""
    if _name(text):
        return text
    if not text:
        raise InvalidName(f"The name of a {kind} is empty.", hint=_NAME_RULE)
    near = nearest_name(text)
    raise InvalidName(
        f"{shown(text)} cannot be the name of a {kind}: {_flaw(text)}.",
        hint=f"Try {shown(near)}. {_NAME_RULE}" if near else _NAME_RULE,
    )


_NAME_RULE = (
    f"Names are 1 to {LONGEST_NAME} letters A-Z a-z, digits, dots, dashes and underscores, "
    "and start with a letter or digit."
)


def _flaw(text: str) -> str:
    if bad := _not_in_names.search(text):
        return f"{shown(bad[0][0])} at character {bad.start() + 1} is not allowed"
    if len(text) > LONGEST_NAME:
        return f"it has {len(text)} characters"
    return f"it starts with {shown(text[0])}"


def nearest_name(text: str) -> str:
    """A legal name that looks like `text`, or '' if none does."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = _not_in_names.sub("-", plain).strip("-").lstrip("._-")[:LONGEST_NAME]
    return name if _name(name) else ""
