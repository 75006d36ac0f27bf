"""`trunkline verify`: whether results are those of a run from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import complete, session
from trunkline.cli.arguments import App
from trunkline.cli.jobviews import took
from trunkline.cli.output import Style
from trunkline.cli.text import count, printable
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.model.verification import Difference, Verification, VerifyReport

app = App()

_SIGNS = {
    "equal": ("+", "✓"),
    "different": ("bad", "✗"),
    "failed": ("bad", "✗"),
    "skipped": ("~", "·"),
}
_SIDES = {"-": "published", "+": "from scratch"}


@app.command()
def verify(
    ctx: typer.Context,
    pipelines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PIPELINE[@REF]",
            help="A pipeline's newest commit, or the one named.",
            autocompletion=complete.pipelines,
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="The newest commit of every pipeline.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", help="Only N datums of each, chosen by lot."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance", metavar="X", help="How far doubles may differ, as a part of their size."
        ),
    ] = 0.0,
) -> None:
    """Compute results from scratch, beside the lake, and compare the rows.

    Exit code 1 if a row differs.
    """
    run = session.of(ctx)
    if bool(pipelines) == everything:
        raise Usage("Name pipelines to verify, or say --all.")
    style = run.output.style
    # Whoever serves the lake may go on: nothing of it is changed.
    with run.open(direct=True) as lake:
        shown = None if run.settings.flag("json") else _Shown(run, style)
        report = lake.verify(*(pipelines or ()), sample=sample, tolerance=tolerance, listener=shown)
    run.output.done(report, summary(report))
    if not report.good:
        raise typer.Exit(1)


class _Shown:
    """Each result as it comes."""

    def __init__(self, run: session.Session, style: Style) -> None:
        self._run = run
        self._style = style

    def __call__(self, one: Verification) -> None:
        self._run.output.follow([one], lambda found: lines(found, self._style))


def lines(one: Verification, style: Style) -> Iterator[str]:
    color, sign = _SIGNS[str(one.verdict)]
    name = f"{one.pipeline}@{one.commit[:12]}"
    yield f"{style(color, sign)} {printable(name)}  {printable(_said(one))}"
    for difference in one.differences:
        yield f"    {printable(difference.where)}: {_counts(difference)}"
        for side, row in difference.samples:
            yield f"      {style(side, side)} {printable(row)}  ({_SIDES[side]})"
    if one.differences and one.reason:
        yield f"    Likely: {printable(one.reason)}."


def _said(one: Verification) -> str:
    compared = count(one.rows, "row") if one.rows is not None else count(one.files, "file")
    if one.datums:  # streams have none
        compared += f" of {count(one.datums, 'datum')}"
    match str(one.verdict):
        case "equal":
            return f"equal: {compared}"
        case "different":
            return f"different, of {compared}"
        case "failed":
            return f"cannot be computed again: {one.reason}"
    return f"not verified: {one.reason}"


def _counts(difference: Difference) -> str:
    left, right = difference.published, difference.scratch
    if left == right:
        return f"{count(left, 'row')} differ" + ("s" if left == 1 else "")
    return f"{left:,} only published, {right:,} only from scratch"


def summary(report: VerifyReport) -> str:
    verdicts = [str(one.verdict) for one in report.results]
    parts = [
        f"{verdicts.count(verdict):,} {word}"
        for verdict, word in (
            ("equal", "equal"),
            ("different", "different"),
            ("failed", "failed"),
            ("skipped", "not verified"),
        )
        if verdict in verdicts
    ]
    with_ = ", ".join(
        f"{'Trunkline' if name == 'trunkline' else name.title()} {version}"
        for name, version in report.versions.items()
    )
    what = ", ".join(parts) or "Nothing to verify"
    return f"{what} in {took(report.seconds)}.\n{with_}"
