"""History: log, show, diff, merge, revert, cherry-pick, undelete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from trunkline.cli import complete, graph, reports, session, views
from trunkline.cli.arguments import App, BranchRef, CommitRef, DryRun, Message
from trunkline.cli.text import human_size, printable
from trunkline.errors import MergeConflict, Usage
from trunkline.model.commits import DEFAULT_BRANCH

if TYPE_CHECKING:
    from trunkline.cli.output import Style
    from trunkline.model.commits import Commit
    from trunkline.sdk.lake import Lake
    from trunkline.sdk.results import DiffStat

app = App()
T = TypeVar("T")
Names = Mapping[str, list[str]]


def take(items: Iterable[T]) -> Iterator[T]:
    """The same items, the first of them now: errors come before output."""
    iterator = iter(items)
    first = list(zip(range(1), iterator, strict=False))
    return chain((item for _, item in first), iterator)


@app.command()
def log(
    ctx: typer.Context,
    ref: Annotated[
        str,
        typer.Argument(
            metavar="REPO[@REF][:/PATH]",
            help="Where to start.",
            autocompletion=complete.refs,
            show_default=False,
        ),
    ] = "",
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="At most so many.")] = None,
    path: Annotated[
        str | None, typer.Option("--path", metavar="PATH", help="Commits that changed it.")
    ] = None,
    oneline: Annotated[bool, typer.Option("--oneline", help="A line each.")] = False,
    show_graph: Annotated[bool, typer.Option("--graph", help="Draw who came from whom.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Of every branch and tag.")] = False,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="List what was deleted and can still be restored.")
    ] = False,
) -> None:
    """Show the commits that led here, newest first."""
    run = session.of(ctx)
    style = run.output.style
    place, _, path_in_ref = ref.partition(":")
    if deleted:
        _log_deleted(run, place, limit)
        return
    if not ref:
        raise Usage(
            "Name a repo: trunkline log REPO.", hint="What was deleted: trunkline log --deleted."
        )
    with run.open() as lake:
        if everything:
            commits = iter(lake.history(place, limit=limit))
        else:
            commits = take(lake.log(place, limit=limit, path=path or path_in_ref or None))
        known = lake.commit_batches(place.partition("@")[0])
        if run.settings.flag("json"):
            run.output.each((views.with_batch(c, known.get(c.id)) for c in commits), lambda _: ())
            return
        names = names_of(lake, place)
        if show_graph:
            run.output.each(commits, drawn(style, names))
        elif oneline:
            run.output.each(
                commits, lambda c: [views.commit_oneline(c, style, names.get(c.id, ()))]
            )
        else:
            run.output.each(
                commits,
                lambda c: [
                    *views.commit_header(c, style, names.get(c.id, ()), known.get(c.id)),
                    "",
                ],
            )


def _log_deleted(run: session.Session, place: str, limit: int | None) -> None:
    with run.open() as lake:
        found = lake.deleted()
    if place:
        found = [one for one in found if place in (str(one.repo), one.name)]
    run.output.table(found[:limit], views.DELETED, empty="Nothing that can be had back.")


def names_of(lake: Lake, ref: str) -> Names:
    """Which branches and tags point at which commit."""
    repo = ref.partition("@")[0]
    names: dict[str, list[str]] = defaultdict(list)
    for branch in lake.branches(repo):
        if branch.head:
            names[branch.head].append(branch.name)
    for tag in lake.tags(repo):
        names[tag.commit].append(f"tag: {tag.name}")
    return names


def drawn(style: Style, names: Names) -> Callable[[Commit], Iterator[str]]:
    """A function from a commit to its lines in the graph; it remembers the lanes between calls."""
    pen = graph.Pen()

    def lines(commit: Commit) -> Iterator[str]:
        at = pen.draw(graph.Node(commit.id, commit.parents))
        yield from at.before
        yield f"{at.at}  {views.commit_oneline(commit, style, names.get(commit.id, ()))}"
        yield from at.after

    return lines


@app.command()
def show(
    ctx: typer.Context,
    commit: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="An ID, or REPO@REF.",
            autocompletion=complete.revisions,
            show_default=False,
        ),
    ],
) -> None:
    """Show every commit of one ID, with what each changed."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.show(lake.commit_info(commit).id if "@" in commit else commit)
        run.output.item(found, lambda s: _show_lines(lake, s.commits, run.output.style))


def _show_lines(lake: Lake, commits: Iterable[Commit], style: Style) -> Iterator[str]:
    for number, commit in enumerate(commits):
        if number:
            yield ""
        yield from views.commit_header(commit, style, batch=lake.commit_batch(commit))
        if commit.finished and not commit.forgotten:
            yield ""
            yield from _changes_of(lake, commit, style)


def _changes_of(lake: Lake, commit: Commit, style: Style) -> Iterator[str]:
    line = views.change_line(style)
    most = 100
    for number, change in enumerate(lake.changes(commit)):
        if number == most:
            yield f"… see trunkline diff {commit.repo}@{commit.short_id}^ {commit.short_id}"
            return
        yield from line(change)


@app.command()
def diff(
    ctx: typer.Context,
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="repo@ref[:/path].",
            autocompletion=complete.refs,
            show_default=False,
        ),
    ],
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW",
            help="repo@ref[:/path]; without it, OLD is compared with its parent.",
            autocompletion=complete.refs,
            show_default=False,
        ),
    ] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Only how many and how much.")] = False,
    name_only: Annotated[bool, typer.Option("--name-only", help="Only the paths.")] = False,
) -> None:
    """Show what differs between two commits, or between one and its parent."""
    run = session.of(ctx)
    if new is None:
        commit, colon, path = old.partition(":")
        at = commit if "@" in commit else f"{commit}@{DEFAULT_BRANCH}"
        old, new = f"{at}^{colon}{path}", old
    with run.open() as lake:
        found = lake.diff(old, new)
        if stat:
            run.output.item(found.summary(), _stat_lines)
        elif name_only:
            run.output.each(found.changes, lambda change: [printable(change.path)])
        else:
            run.output.each(found.changes, views.change_line(run.output.style))


def _stat_lines(stat: DiffStat) -> Iterator[str]:
    yield views.stat_line(stat.added, stat.removed, stat.modified)
    if stat.bytes_added or stat.bytes_removed:
        yield f"+{human_size(stat.bytes_added)}, -{human_size(stat.bytes_removed)}"


Globs = list[str] | None
Strategy = Annotated[
    str | None,
    typer.Option("--strategy", metavar="ours|theirs", help="Who wins every conflict."),
]
Ours = Annotated[
    Globs, typer.Option("--ours", metavar="GLOB", help="Keep the target's, may be repeated.")
]
Theirs = Annotated[
    Globs, typer.Option("--theirs", metavar="GLOB", help="Take the source's, may be repeated.")
]


def chosen(ours: Globs, theirs: Globs) -> dict[str, str]:
    """Who wins which paths."""
    return dict.fromkeys(ours or (), "ours") | dict.fromkeys(theirs or (), "theirs")


@app.command()
def merge(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="REPO@SOURCE",
            help="What to bring in.",
            autocompletion=complete.revisions,
            show_default=False,
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="REPO@TARGET",
            help="The branch to bring it to.",
            autocompletion=complete.revisions,
            show_default=False,
        ),
    ],
    strategy: Strategy = None,
    ours: Ours = None,
    theirs: Theirs = None,
    dry_run: DryRun = False,
    message: Message = "",
) -> None:
    """Bring the changes of one branch to another. Conflicts are listed and change nothing."""
    run = session.of(ctx)
    with run.open() as lake:
        report = lake.merge(
            source,
            target,
            strategy=strategy,
            choose=chosen(ours, theirs),
            dry_run=dry_run,
            message=message,
        )
    if dry_run:
        run.output.item(report, lambda r: reports.merge_plan(r, run.output.style))
        if report.unresolved:
            raise typer.Exit(MergeConflict.exit_code)
    else:
        run.output.done(report, reports.merged(report))


@app.command()
def revert(
    ctx: typer.Context,
    commit: CommitRef,
    branch: Annotated[
        str | None,
        typer.Argument(
            metavar="REPO@BRANCH",
            help="Where; else the commit's own branch.",
            autocompletion=complete.revisions,
            show_default=False,
        ),
    ] = None,
    strategy: Strategy = None,
    ours: Ours = None,
    theirs: Theirs = None,
    message: Message = "",
) -> None:
    """Undo what a commit changed, by a new commit."""
    run = session.of(ctx)
    choose = chosen(ours, theirs)
    with run.open() as lake:
        done = lake.revert(commit, branch, strategy=strategy, choose=choose, message=message)
    run.output.done(done, views.committed(done))


@app.command("cherry-pick")
def cherry_pick(
    ctx: typer.Context,
    commit: CommitRef,
    branch: BranchRef,
    strategy: Strategy = None,
    ours: Ours = None,
    theirs: Theirs = None,
    message: Message = "",
) -> None:
    """Repeat on a branch what a commit changed elsewhere."""
    run = session.of(ctx)
    choose = chosen(ours, theirs)
    with run.open() as lake:
        done = lake.cherry_pick(commit, branch, strategy=strategy, choose=choose, message=message)
    run.output.done(done, views.committed(done))


@app.command()
def undelete(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A repo or pipeline, or REPO@NAME, a branch or tag.",
            autocompletion=complete.deleted,
            show_default=False,
        ),
    ],
    as_: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Under another name.")
    ] = None,
    id_: Annotated[
        int | None,
        typer.Option(
            "--id", metavar="N", help="Number of an earlier deletion, from log --deleted."
        ),
    ] = None,
) -> None:
    """Have back what was deleted, until gc forgets it; log --deleted lists it."""
    run = session.of(ctx)
    with run.open() as lake:
        done = lake.undelete(name, as_, id_)
    notes = "".join(f" {note}" for note in (*done.notes, *(one.how for one in done.readers)))
    run.output.done(done, f"{done.kind.capitalize()} {done.name} is back.{notes}")
