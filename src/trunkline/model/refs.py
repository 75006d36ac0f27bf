"""References: `[project/]repo@ref[:/path]`, parsed once.

    orders                      the head of orders@main
    orders@main:/day=1/a.csv    a file
    shop/orders@v1.0^2          two commits before the tag v1.0, in the project shop
    orders@main.3               the third commit of main, unless a branch or tag has that name

Whether `main.3` is a name or a name and a step cannot be known without a lake, so a
`Revision` offers every reading, the one with the longest name first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn

from trunkline.errors import InvalidName, InvalidRef
from trunkline.model.commits import DEFAULT_BRANCH, DEFAULT_PROJECT, RepoName
from trunkline.model.paths import LONGEST_NAME, NAME_PATTERN, normalize_path, validate_name
from trunkline.model.suggest import shown

_STEPS_HINT = "Write a branch, a tag or 8 and more digits of an id, then steps such as ^, ~2 or .3."
EXAMPLE = "A ref looks like orders@main, orders@main~2 or orders@main:/day/a.csv."

# Nine digits outlast every history, and keep int() away from endless input.
_NUMBER = "[0-9]{1,9}"
_HEAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_STEP = re.compile(rf"[\^~]({_NUMBER})?(?![0-9])|\.({_NUMBER})(?![0-9])")
_LAST_DOT = re.compile(rf"(.+)\.({_NUMBER})")
_name = re.compile(NAME_PATTERN).fullmatch
_url = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://").match


class Need(Enum):
    """Whether a part of a ref must, may or must not be there."""

    REQUIRED = auto()
    OPTIONAL = auto()
    FORBIDDEN = auto()


@dataclass(frozen=True, slots=True)
class Ancestor:
    """`n` commits back along first parents. Zero is the commit itself."""

    n: int


@dataclass(frozen=True, slots=True)
class Nth:
    """The `n`-th commit of the chain, 1 being the first ever made."""

    n: int


Step = Ancestor | Nth


@dataclass(frozen=True, slots=True)
class Revision:
    """What stands after the `@`: a branch, a tag or an id, then steps from there."""

    text: str

    def __post_init__(self) -> None:
        if next(self.candidates(), None) is None:
            raise InvalidRef(f"The revision {shown(self.text)} {self._flaw()}.", hint=_STEPS_HINT)

    def __str__(self) -> str:
        return self.text

    def candidates(self) -> Iterator[tuple[str, tuple[Step, ...]]]:
        """Every reading as (name, steps), from the longest name to the shortest."""
        head = _HEAD.match(self.text)
        if head is None:
            return
        base = head[0]
        steps, end = _read_steps(self.text, head.end())
        if end < len(self.text):
            return
        while True:
            if _name(base):
                yield base, steps
            shorter = _LAST_DOT.fullmatch(base)
            if shorter is None or int(shorter[2]) == 0:
                return
            base, steps = shorter[1], (Nth(int(shorter[2])), *steps)

    @property
    def is_name(self) -> bool:
        """Whether the whole text may be the name of a branch or tag."""
        return _name(self.text) is not None

    def _flaw(self) -> str:
        head = _HEAD.match(self.text)
        if head is None:
            return "does not start with a letter or digit"
        _, end = _read_steps(self.text, head.end())
        if end < len(self.text):
            return f"cannot be read from {shown(self.text[end:])} on"
        return f"names something longer than {LONGEST_NAME} characters"


def _read_steps(text: str, position: int) -> tuple[tuple[Step, ...], int]:
    """Steps such as `^^~3.2`, ancestors in a row added up, and where they stop making sense."""
    steps: list[Step] = []
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None or (found[2] and int(found[2]) == 0):
            break
        position = found.end()
        if found[2]:
            steps.append(Nth(int(found[2])))
            continue
        back = int(found[1] or 1)
        if steps and isinstance(steps[-1], Ancestor):
            back += steps.pop().n
        steps.append(Ancestor(back))
    return tuple(steps), position


@dataclass(frozen=True, slots=True)
class Ref:
    """A repo at a revision, and perhaps a path in it (raw text where it is a glob)."""

    repo: RepoName
    ref: str = DEFAULT_BRANCH
    path: str | None = None

    def __str__(self) -> str:
        place = f"{self.repo}@{self.ref}"
        return place if self.path is None else f"{place}:{self.path}"

    @property
    def revision(self) -> Revision:
        return Revision(self.ref)


def parse_ref(
    text: str,
    *,
    project: str = DEFAULT_PROJECT,
    default_branch: str = DEFAULT_BRANCH,
    revision: Need = Need.OPTIONAL,
    path: Need = Need.OPTIONAL,
    pattern: bool = False,
) -> Ref:
    """Parse `[project/]repo[@ref][:/path]`.

    Without a revision the ref means `default_branch`, unless one is required.
    `pattern` keeps the path as it was typed (it may be a glob) but for its slashes.
    """
    if not text.strip():
        raise InvalidRef("The ref is empty.", hint=EXAMPLE)
    _refuse_addresses(text)
    place, colon, tail = text.partition(":")
    name, at, rev = place.partition("@")
    if not name:
        _refuse(text, "names no repo")
    if "@" in rev:
        _refuse(text, f'has a second "@" at character {len(name) + 2 + rev.index("@")}')
    if at and not rev:
        _refuse(text, 'has nothing after "@"')
    if colon and not tail:
        _refuse(text, 'has nothing after ":"', hint=f"Write {place}:/ for the root.")
    _check_need(text, "revision", revision, bool(at), example=f"{name}@{default_branch}")
    _check_need(text, "path", path, bool(colon), example=f"{place}:/a.csv")
    repo = _parse_repo_name(text, name, project)
    if at:
        Revision(rev)
    if not colon:
        where = None
    elif pattern:
        where = _without_trailing_slash(tail if tail.startswith("/") else "/" + tail)
    else:
        where = normalize_path(tail)
    return Ref(repo, rev or default_branch, where)


def parse_repo(text: str, *, project: str = DEFAULT_PROJECT) -> RepoName:
    """Parse `[project/]repo`, and nothing more."""
    return parse_ref(text, project=project, revision=Need.FORBIDDEN, path=Need.FORBIDDEN).repo


def parse_branch(
    text: str,
    *,
    project: str = DEFAULT_PROJECT,
    revision: Need = Need.REQUIRED,
    path: Need = Need.FORBIDDEN,
    kind: str = "branch",
) -> Ref:
    """Parse `repo@name`, where the name is that of a branch or tag to make, move or write to."""
    ref = parse_ref(text, project=project, revision=revision, path=path)
    validate_name(kind, ref.ref)
    return ref


def _parse_repo_name(text: str, name: str, project: str) -> RepoName:
    first, slash, second = name.partition("/")
    if slash and not (first and second):
        _refuse(text, f"has nothing {'before' if not first else 'after'} the /")
    if "/" in second:
        _refuse(text, 'has more than one / before "@"', hint="Write project/repo@branch:/path.")
    try:
        if slash:
            return RepoName(validate_name("project", first), validate_name("repo", second))
        return RepoName(validate_name("project", project), validate_name("repo", first))
    except InvalidName as error:
        raise InvalidRef(error.message, hint=f"{error.hint} {EXAMPLE}") from None


def _refuse_addresses(text: str) -> None:
    """Things people pass by mistake that would otherwise read as a repo and a path."""
    if _url(text):
        _refuse(text, "is a URL")
    if text.startswith(("/", "./", "../", "~/")):
        _refuse(text, "is a path on this computer")


def _check_need(text: str, part: str, need: Need, there: bool, *, example: str) -> None:
    if need is Need.REQUIRED and not there:
        _refuse(text, f"names no {part}", hint=f"Write {example}.")
    if need is Need.FORBIDDEN and there:
        what = "a repo" if part == "revision" else "no path"
        _refuse(text, f"has a {part}, but {what} is wanted here", hint="Leave it out.")


def _without_trailing_slash(pattern: str) -> str:
    if pattern == "/" or pattern.endswith("\\/"):
        return pattern
    return pattern.removesuffix("/")


def _refuse(text: str, flaw: str, hint: str = EXAMPLE) -> NoReturn:
    raise InvalidRef(f"The ref {shown(text)} {flaw}.", hint=hint)
