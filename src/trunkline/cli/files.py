"""Files: put, get, cat, ls, rm, cp, glob."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import complete, session, views
from trunkline.cli.arguments import App, IfHead, Message, Recursive, Ref
from trunkline.cli.progress import local_bytes, progress
from trunkline.cli.text import count, human_size
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.sdk.lake import Lake

app = App()

Long = Annotated[bool, typer.Option("--long", "-l", help="With type, size and hash.")]
Exact = Annotated[bool, typer.Option("--bytes", "-b", help="Sizes in bytes, with --long.")]


@app.command()
def put(
    ctx: typer.Context,
    ref: Annotated[
        str,
        typer.Argument(
            metavar="REPO@BRANCH[:/PATH]",
            help="Where to.",
            autocompletion=complete.refs,
            show_default=False,
        ),
    ],
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Files, folders with -r, https:// or s3:// URLs, - for stdin.",
            show_default=False,
        ),
    ],
    recursive: Recursive = False,
    append: Annotated[bool, typer.Option("--append", help="Add to what is there.")] = False,
    untar: Annotated[bool, typer.Option("--untar", help="Put what is in the archive.")] = False,
    reference: Annotated[
        bool, typer.Option("--reference", help="Copy nothing: it stays where it is, unchanged.")
    ] = False,
    message: Message = "",
    if_head: IfHead = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="TEXT", help="A repeat with the same key changes nothing."),
    ] = None,
) -> None:
    """Put files into a repo, all of them in one commit."""
    run = session.of(ctx)
    with run.open() as lake, progress(run, "put", lambda: local_bytes(sources)) as report:
        commit = lake.put(
            ref,
            sources,
            recursive=recursive,
            append=append,
            untar=untar,
            reference=reference,
            message=message,
            if_head=if_head,
            key=key,
            progress=report,
        )
    run.output.done(commit, views.committed(commit))


@app.command()
def get(
    ctx: typer.Context,
    ref: Ref,
    dest: Annotated[
        str, typer.Argument(metavar="DEST", help="A file or folder; - for stdout.")
    ] = ".",
    _recursive: Annotated[
        bool,
        typer.Option("--recursive", "-r", help="No effect: folders come whole."),
    ] = False,
    tar: Annotated[bool, typer.Option("--tar", help="As one archive, in path order.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace what is there.")] = False,
) -> None:
    """Get a file, a folder or what a pattern matches."""
    run = session.of(ctx)
    with run.open() as lake:
        if dest == "-":
            _to_stdout(lake, ref, tar)
            return
        with progress(run, "get", lambda: lake.stat(ref).size) as report:
            got = lake.get(ref, dest, tar=tar, force=force, progress=report)
    what = f"{count(got.files, 'file')}, {human_size(got.bytes)}"
    erased = f" Left out {count(got.erased, 'file')} erased on purpose." if got.erased else ""
    run.output.done(got, f"Got {what} into {got.dest}.{erased}")


def _to_stdout(lake: Lake, ref: str, tar: bool) -> None:
    if tar:
        lake.get(ref, sys.stdout.buffer, tar=True)
    else:
        for chunk in lake.cat(ref):
            sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


@app.command()
def cat(
    ctx: typer.Context,
    ref: Ref,
    range_: Annotated[
        str | None,
        typer.Option("--range", metavar="START-END", help="Bytes, both included; END is optional."),
    ] = None,
    offset: Annotated[int, typer.Option("--offset", help="The first byte, from 0.")] = 0,
    length: Annotated[int | None, typer.Option("--length", help="How many bytes.")] = None,
) -> None:
    """Write a file's bytes to stdout."""
    run = session.of(ctx)
    if range_ is not None:
        if offset or length is not None:
            raise Usage("--range says the same as --offset and --length: give one of them.")
        offset, length = byte_range(range_)
    if offset < 0 or (length is not None and length < 0):
        raise Usage("A file has no bytes before its first: --offset and --length count from 0.")
    with run.open() as lake:
        for chunk in lake.cat(ref, offset, length):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def byte_range(text: str) -> tuple[int, int | None]:
    """`0-99` is a hundred bytes from the first on, `100-` everything after them."""
    found = re.fullmatch(r"(\d{1,18})-(\d{1,18})?", text, re.ASCII)
    if found is None or (found[2] and int(found[2]) < int(found[1])):
        raise Usage(f'"{text}" is not a range of bytes.', hint="Write 0-99 or 100-.")
    start = int(found[1])
    return start, int(found[2]) - start + 1 if found[2] else None


@app.command()
def ls(
    ctx: typer.Context,
    ref: Ref,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Everything below.")] = False,
    long: Long = False,
    exact: Exact = False,
    hidden: Annotated[
        bool, typer.Option("--all", "-a", help="Also _table.json, _quarantine and the like.")
    ] = False,
) -> None:
    """List a folder, or everything below it with -r."""
    run = session.of(ctx)
    hashes = long or run.settings.flag("json")
    with run.open() as lake:
        files = lake.ls(ref, recursive=recursive, hashes=hashes, hidden=hidden)
        run.output.each(files, views.file_line(long, exact))


@app.command()
def glob(
    ctx: typer.Context,
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="REPO@REF:/PATTERN",
            help="Quote it, so that the shell leaves it alone.",
            autocompletion=complete.refs,
            show_default=False,
        ),
    ],
    long: Long = False,
    exact: Exact = False,
) -> None:
    """List the files and folders that a pattern matches."""
    run = session.of(ctx)
    with run.open() as lake:
        run.output.each(lake.glob(pattern), views.file_line(long, exact))


@app.command()
def rm(
    ctx: typer.Context, ref: Ref, recursive: Recursive = False, message: Message = "",
    if_head: IfHead = None,
) -> None:  # fmt: skip
    """Remove a file, or a folder with -r. Earlier commits keep it."""
    run = session.of(ctx)
    with run.open() as lake:
        commit = lake.rm(ref, recursive=recursive, message=message, if_head=if_head)
    run.output.done(commit, views.committed(commit))


@app.command()
def cp(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FROM", help="repo@ref:/path.", autocompletion=complete.refs, show_default=False
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO",
            help="repo@branch:/path.",
            autocompletion=complete.refs,
            show_default=False,
        ),
    ],
    message: Message = "",
) -> None:
    """Copy by reference, across repos too: no bytes move."""
    run = session.of(ctx)
    with run.open() as lake:
        commit = lake.cp(source, target, message=message)
    run.output.done(commit, views.committed(commit))
