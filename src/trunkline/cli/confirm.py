"""Asking before what cannot be undone."""

from __future__ import annotations

import sys

import typer

from trunkline.errors import Usage


def is_answered() -> bool:
    """Whether a person is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, yes: bool) -> None:
    """Ask a person. A script has nobody to answer, and means what it says."""
    if yes or not is_answered():
        return
    typer.confirm(question, abort=True, err=True)


def must_confirm(question: str, yes: bool) -> None:
    """Ask a person; a script must say that it means it."""
    if yes:
        return
    if not is_answered():
        raise Usage(f"{question} Nobody is there to answer.", hint="To do it: --yes.")
    typer.confirm(question, abort=True, err=True)
