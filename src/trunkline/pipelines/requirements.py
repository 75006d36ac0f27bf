"""Python packages that a function needs: are they here, and in a version that fits?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from trunkline.errors import InvalidSpec
from trunkline.model.suggest import shown

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def parse_requirement(text: str) -> Requirement:
    """`pandas>=2`, as pip takes it. An address is refused: nothing tells if that is installed."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        found = Requirement(text)
    except InvalidRequirement:
        raise InvalidSpec(
            f"{shown(text)} is not a requirement.", hint='Write "pandas", or "pandas>=2,<3".'
        ) from None
    if found.url is not None:
        raise InvalidSpec(
            f"{shown(text)} names an address, which cannot be checked.",
            hint=f"Write the name and version: {found.name}>=1.0.",
        )
    return found


def unmet(requirements: Iterable[str]) -> list[str]:
    """What this environment lacks, in words: 'pandas>=3: 2.3.3 is installed'."""
    return [problem for text in requirements for problem in _problems(text)]


def _problems(text: str) -> Iterator[str]:
    wanted = parse_requirement(text)
    if wanted.marker is not None and not wanted.marker.evaluate():
        return
    shown_as = f"{wanted.name}{wanted.specifier}"
    try:
        found = metadata.distribution(wanted.name)
    except metadata.PackageNotFoundError:
        yield f"{shown_as}: not installed"
        return
    if not wanted.specifier.contains(found.version, prereleases=True):
        yield f"{shown_as}: {found.version} is installed"
    for extra in sorted(wanted.extras):
        yield from _of_extra(found, wanted.name, extra)


def _of_extra(found: metadata.Distribution, name: str, extra: str) -> Iterator[str]:
    """An extra is there if the packages that it stands for are."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    offered = {canonicalize_name(one) for one in found.metadata.get_all("Provides-Extra") or ()}
    if canonicalize_name(extra) not in offered:
        yield f"{name}[{extra}]: {found.version} has no such extra"
    for text in found.requires or ():
        part = Requirement(text)
        marker, part.marker = part.marker, None
        if marker is not None and not marker.evaluate() and marker.evaluate({"extra": extra}):
            part.extras, part.url = set(), None
            yield from (f"{name}[{extra}]: {problem}" for problem in _problems(str(part)))
