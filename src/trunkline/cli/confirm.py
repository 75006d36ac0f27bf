"""Asking before what cannot be undone."""

from __future__ import annotations

import sys

import typer


def confirm(question: str, yes: bool) -> None:
    """Ask a person. A script has nobody to answer, and means what it says."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    typer.confirm(question, abort=True, err=True)
