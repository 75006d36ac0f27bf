"""The Python pipelines of `graph`. This file travels to executors, which have no tests."""

import os

import trunkline as tl


@tl.pipeline(input=tl.pfs("upper", glob="/"))
def total(datum):
    """Every word, in the order of their names."""
    files = sorted(datum.inputs["upper"], key=lambda file: file.path)
    datum.write("/total", b"".join(file.read() for file in files))


@tl.pipeline(
    input=tl.join(
        tl.pfs("words", glob="/(*)", join_on="$1"), tl.pfs("upper", glob="/(*)", join_on="$1")
    )
)
def pair(datum):
    word, loud = datum.file("words"), datum.file("upper")
    datum.write(f"/{word.name}", word.read() + loud.read())


def loudly(datum):
    """As `upper` of the graph, and what the version says after it; fails where a file says so."""
    word = datum.file("words")
    if os.path.exists(f"{datum.env['FLAGS']}/fail-{word.name}"):
        raise RuntimeError("told to fail")
    datum.write(f"/{word.name}", word.read().upper() + datum.env["MARK"].encode())
