"""What every command shares: `--json`, `--lake`, `--project`, `--quiet`, and a quick start.

The options stand after the command and before it alike, so they are added here, by the
classes of commands and groups, and taken out again before a command's own function is called.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from trunkline.cli.session import Session

PIPE_CLOSED = 141  # 128 + SIGPIPE, what a shell shows for a program stopped by a closed pipe


@cache
def _shared_options() -> list[Any]:
    """The options as Typer makes them, lent by a command that is never called."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def shared(
        shared_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
        shared_lake: Annotated[
            str | None,
            typer.Option(
                "--lake", metavar="LAKE", help="A folder, address or context; else the nearest."
            ),
        ] = None,
        shared_project: Annotated[
            str | None,
            typer.Option("--project", metavar="NAME", help="The project of names without one."),
        ] = None,
        shared_quiet: Annotated[
            bool, typer.Option("--quiet", "-q", help="Nothing but results and errors.")
        ] = False,
    ) -> None:
        """Never called."""

    return list(typer.main.get_command(app).params)


def _take_shared(context: Any) -> None:
    """Move the shared options from the command's parameters to the session."""
    root = context.find_root()
    if not isinstance(root.obj, Session):
        root.obj = Session()
    for option in _shared_options():
        value = context.params.pop(option.name, None)
        if value not in (None, False):
            root.obj.flags[option.name.removeprefix("shared_")] = value
    context.obj = root.obj


class Command(TyperCommand):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options())

    def get_params(self, ctx: Any) -> list[Any]:
        return [_coerced_plainly(param) for param in super().get_params(ctx)]

    def invoke(self, ctx: Any) -> Any:
        _take_shared(ctx)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(PIPE_CLOSED) from None


class Group(TyperGroup):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options())

    def get_params(self, ctx: Any) -> list[Any]:
        return [_coerced_plainly(param) for param in super().get_params(ctx)]

    def invoke(self, ctx: Any) -> Any:
        _take_shared(ctx)
        return super().invoke(ctx)


class _Plain:
    """Reads text and whole numbers without pydantic, which would double the time to start."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self.annotation is not int:
            return value
        try:
            return int(value)
        except ValueError:
            raise typer.BadParameter(
                f"{value!r} is not a whole number.", ctx=ctx, param=param
            ) from None


def _coerced_plainly(param: Any) -> Any:
    # A Typer that no longer asks this question only starts more slowly; a test tells us.
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if annotation in (str, int, bool, list[str]):
        plain = _Plain(annotation)
        param.get_runtime_param = lambda: plain
    return param
