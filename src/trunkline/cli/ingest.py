"""`trunkline ingest`: what brings data into the lake by itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trunkline.cli import complete, session, streamviews
from trunkline.cli.arguments import App, KeyColumns, SecretSettings, listed, pairs
from trunkline.cli.stream import Everywhere
from trunkline.errors import Usage

app = App(name="ingest", help="Ingests: what brings data into the lake by itself.")

IngestName = Annotated[
    str,
    typer.Argument(
        metavar="INGEST",
        help="[project/]ingest.",
        autocompletion=complete.ingests,
        show_default=False,
    ),
]


@app.command("list")
def list_(ctx: typer.Context, everywhere: Everywhere = False) -> None:
    """List ingests with their source, state and speed."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingests(all_projects=everywhere)
    run.output.table(found, streamviews.INGESTS, empty="No ingests yet.")


@app.command()
def status(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[INGEST]",
            help="Only this one, in full.",
            autocompletion=complete.ingests,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show how ingests go. Exit code 1 if one has failed."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingests() if name is None else [lake.ingest(name)]
    if name is None:
        run.output.table(found, streamviews.INGESTS, empty="No ingests yet.")
    else:
        run.output.item(found[0], lambda one: streamviews.ingest_page(one, run.output.style))
    if any(str(one.state) == "failed" for one in found):
        raise typer.Exit(1)


@app.command()
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, and that of its repo.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder, s3://bucket/dir/, postgresql://host/db#table, https://api/path, "
            "delta:DIR, iceberg:NAMESPACE.TABLE or kafka://host:9092/topic.",
            show_default=False,
        ),
    ],
    query: Annotated[
        str | None, typer.Option("--query", metavar="SQL", help="Of a database, not a table.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Of a database: one that grows.")
    ] = None,
    key: KeyColumns = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="PAUSE", help="How often it is asked: 10m.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="DDL", help="The columns of its table.")
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Any other field; the value is YAML."),
    ] = None,
    secret: SecretSettings = None,
    show: Annotated[
        bool, typer.Option("--show", help="Only print the spec, to keep it in a file.")
    ] = False,
) -> None:
    """Bring data in from a folder, bucket, database, API, table or topic, without a spec."""
    from trunkline.model import yamltext
    from trunkline.pipelines.spec import read_raw
    from trunkline.pipelines.spec.ingestaddresses import source_of

    run = session.of(ctx)
    fields = {"query": query, "by": by, "key": listed(key), "every": every}
    fields |= {field: _yaml(field, text) for field, text in pairs("--set", more).items()}
    spec: dict[str, Any] = {
        "ingest": {"name": name},
        "source": source_of(source, fields, pairs("--secret", secret)),
        **({"schema": schema} if schema else {}),
    }
    if show:
        read_raw(spec, where="ingest add", project=run.settings.text("project"))
        run.output.item(spec, lambda _: yamltext.lines(spec))
        return
    with run.open() as lake:
        done = lake.apply(spec)
    said = ", ".join(f"{one.action} {one.name}, version {one.version}" for one in done.applied)
    run.output.done(done, f"{said[:1].upper()}{said[1:]}. A worker, or trunkline run, runs it.")


def _yaml(field: str, text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise Usage(f"--set {field}: {text!r} is no YAML.") from None


@app.command()
def start(ctx: typer.Context, name: IngestName) -> None:
    """Let a paused ingest go on from where it stopped."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingest(name)
        lake.resume_pipeline(name)
    said = f"Started {found.name}. A worker, or trunkline run, runs it."
    run.output.done({"started": name}, said)


@app.command()
def pause(ctx: typer.Context, name: IngestName) -> None:
    """Bring nothing in until it is started; where it has read to is kept."""
    run = session.of(ctx)
    with run.open() as lake:
        found = lake.ingest(name)
        lake.pause_pipeline(name)
    run.output.done({"paused": name}, f"Paused {found.name}.")
