"""`trunkline doctor`: what is fine, what is not, and how to mend it."""

from __future__ import annotations

import typer

from trunkline.cli import checks, session
from trunkline.cli.arguments import App
from trunkline.cli.output import Style

app = App()


@app.command()
def doctor(ctx: typer.Context) -> None:
    """Say what is fine here, what is not, and how to mend it."""
    run = session.of(ctx)
    style = run.output.style
    found = list(checks.run_all(run))
    run.output.each(found, lambda check: _lines(check, style))
    if any(check.state == checks.PROBLEM for check in found):
        raise typer.Exit(1)


def _lines(check: checks.Check, style: Style) -> list[str]:
    colors = {checks.OK: "+", checks.NOTE: "~", checks.PROBLEM: "-"}
    state = style(colors[check.state], f"{check.state:<8}")
    lines = [f"{state} {check.name:<9} {check.detail}"]
    if check.mend:
        lines.append(f"{'':<18} → {check.mend}")
    return lines
