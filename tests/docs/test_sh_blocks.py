"""Every ```sh block of the documentation: its lines are looked at, and where it can be, it is run.

Looking takes the real command, settings and Makefile, and executes nothing. Running takes the
lines as they stand. Only addresses are replaced, by those of real servers of this machine.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
import yaml

import trunkline as tl
from tests.docs.console import ROOT, Block, Shell, blocks, steps
from tests.integrations.test_airflow import OURS
from tests.postgres import postgres
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server, s3_server
from tests.spark import free_port
from trunkline import settings
from trunkline.cli.app import build
from trunkline.errors import TrunklineError

pytestmark = pytest.mark.slow

PAGES = sorted(
    [*ROOT.glob("*.md")]
    + [page for name in ("docs", "examples", "benchmarks") for page in (ROOT / name).rglob("*.md")]
)
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()}
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
OTHERS = {"airflow", "cd", "cp", "curl", "dagster", "docker", "export", "pip"}
AIRFLOW = "examples/integrations/README.md: pip install apache-airflow>=3.3 blake3"

# Taking lines apart -----------------------------------------------------------------------


def lines_of(text: str) -> list[str]:
    """What is typed at once: a line, with those that it goes on in."""
    return [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command, without comments."""
    for line in lines_of(text):
        words = shlex.shlex(line, posix=True, punctuation_chars="&|;")
        words.whitespace_split = True
        for ends, command in groupby(words, lambda word: set(word) <= set("&|;")):
            if not ends:
                yield list(command)


def name_of(page: Path, text: str) -> str:
    return f"{page.relative_to(ROOT)}: {' '.join(next(commands(text))[:4])}"


def found_blocks() -> Iterator[tuple[str, tuple[Path, Block]]]:
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.info == "sh":
                yield name_of(page, "\n".join(block.lines)), (page, block)


BLOCKS = dict(found_blocks())

# Looking at them --------------------------------------------------------------------------


def mistakes(text: str) -> list[str]:
    """What is wrong with the lines of a block."""
    found: list[str] = []
    folder = ROOT
    for program, *arguments in commands(text):
        if program in ("trunkline", "tl"):
            found += wrong_command(arguments)
        elif program == "make":
            targets = [word for word in arguments if "=" not in word]
            found += [f"there is no make {word}" for word in targets if word not in TARGETS]
        elif program == "export":
            found += [wrong for word in arguments for wrong in wrong_variable(word)]
        elif program not in OTHERS and "/" not in program:
            found.append(f"{program} is no program that pages use")
        if program == "docker" and "logs" in arguments:
            services = yaml.safe_load((ROOT / "deploy" / "compose.yml").read_text())["services"]
            asked = arguments[arguments.index("logs") + 1 :]
            found += [f"{word} is no service" for word in asked if word not in services]
        # Where a copy goes to need not be there.
        named = arguments[:-1] if program == "cp" else [program, *arguments]
        found += [f"there is no {word}" for word in named if is_missing(word, folder)]
        if program == "cd":
            folder /= arguments[0]
    return found


def wrong_command(arguments: list[str]) -> list[str]:
    """Why the command would refuse these arguments."""
    command: Any = build(arguments)
    name: Any = "trunkline"
    context: Any = None
    try:
        while True:
            context = command.make_context(name, list(arguments), parent=context)
            if not hasattr(command, "commands"):
                break
            rest = [*context._protected_args, *context.args]
            name, command, arguments = command.resolve_command(context, rest)
        if context.command_path == "trunkline config set":
            return wrong_setting(context.params["name"], context.params["value"])
    except typer.TyperException as error:
        return [error.format_message()]
    return []


def wrong_setting(name: str, value: str) -> list[str]:
    try:
        settings.parse(settings.setting(name), value, name)
    except TrunklineError as error:
        return [error.message]
    return []


def wrong_variable(word: str) -> list[str]:
    variable, _, value = word.partition("=")
    for setting in settings.SETTINGS.values():
        if setting.variable == variable:
            return wrong_setting(setting.name, value) if value else []
    known = f"| `{variable}` |" in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    ours = variable.startswith("TRUNKLINE_")
    return [f"{variable} is no variable of ours"] if ours and not known else []


def is_missing(word: str, folder: Path) -> bool:
    """Whether a word names a file of the repository that is not there."""
    in_root = word.partition("/")[0] in FOLDERS and "/" in word
    beside = folder != ROOT and re.fullmatch(r"\w+\.(py|yaml|jsonnet)", word)
    return bool(in_root or beside) and not any(folder.glob(word))


@pytest.mark.parametrize("name", BLOCKS)
def test_every_line_is_one_that_works(name: str) -> None:
    _, block = BLOCKS[name]
    assert mistakes("\n".join(block.lines)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "trunkline wroker",
        "trunkline worker --nam etl-1",
        "trunkline backup create",
        "trunkline backup create /mnt/move /mnt/other",
        "trunkline backup crate /mnt/move",
        "trunkline backup restore /mnt/move \\\n  --catalogue postgresql://db.example.org/lake",
        "trunkline pipeline restore square first",
        "trunkline config set server.urll https://lake.example.org",
        "trunkline config set server.port many",
        "trunkline worker & tunkline serve",
        "make instal",
        "export TRUNKLINE_S3_ENDPONT=https://minio.example.org:9000",
        "export TRUNKLINE_SERVER_PORT=many",
        "docker compose -f deploy/compose.yaml up -d",
        "docker compose -f deploy/compose.yml logs server",
        "cp examples/integrations/airlow/*.py ~/airflow/dags/",
        "cd examples/integrations/dagster && dagster dev -f definition.py",
    ],
)
def test_a_wrong_line_is_found(wrong: str) -> None:
    assert mistakes(wrong)
    assert mistakes(f"trunkline status  # fine\n{wrong}")
    assert not mistakes(f"trunkline status  # {wrong.splitlines()[0]}")


def test_contributing_names_targets_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (table,) = (block.lines for block in blocks(text) if block.lines[0].startswith("make "))
    assert [wrong for line in table for wrong in mistakes(line.partition("  ")[0])] == []
    assert mistakes("make nothing")


def test_no_block_hides_by_its_indent() -> None:
    """Nobody looks at those."""
    fence = re.compile(r"^ +```(sh|console|python run)", re.M)
    assert [page for page in PAGES if fence.search(page.read_text(encoding="utf-8"))] == []


def test_airflow_is_given_what_its_test_gives_it() -> None:
    _, block = BLOCKS[AIRFLOW]
    _, _, _, *packages = next(commands(block.lines[0]))
    assert packages == [*OURS]


# Running them -----------------------------------------------------------------------------


@dataclass
class Scene:
    """A shell, the block to run in it, and what stands for the addresses of the page."""

    shell: Shell
    page: Path
    block: Block
    real: dict[str, str]

    def typed(self, text: str) -> str:
        for shown, real in self.real.items():
            text = text.replace(shown, real)
        return text

    def do(self, command: str) -> list[str]:
        code, said = self.shell.run(command)
        assert code == 0, "\n".join([command, f"exit code {code}", *said])
        return said

    def play(self) -> list[str]:
        """Run the block; what it said."""
        lines = lines_of(self.typed("\n".join(self.block.lines)))
        return [said for line in lines for said in self.do(line)]

    def in_a_lake(self, *repos: str) -> None:
        """With a file in each repo."""
        with tl.init(self.shell.home / "lake") as lake:
            for repo in repos:
                lake.create_repo(repo)
                with lake.commit(f"{repo}@main") as commit:
                    commit.put("/a.txt", b"milk\n")
        self.do("cd ~/lake")

    def use_s3(self, **more: str) -> None:
        """As everybody has it who has a bucket, and here on another server than Amazon's."""
        given = {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            **more,
        }
        self.do("export " + " ".join(f"{name}={value}" for name, value in given.items()))

    def write_block_before(self, info: str, file: str) -> None:
        """The file that the page shows just before."""
        text = self.page.read_text(encoding="utf-8")
        shown = [one for one in blocks(text) if one.info == info and one.start < self.block.start]
        path = self.shell.home / "lake" / file
        path.write_text(self.typed("\n".join(shown[-1].lines)), encoding="utf-8")

    def until_open(self, port: int) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", port), 1).close()
            time.sleep(0.1)
        raise AssertionError("nobody listens")


def settle(scene: Scene) -> None:
    """Settings are what they were set to."""
    scene.in_a_lake()
    scene.play()
    told = json.loads("\n".join(scene.do("trunkline config list --json")))
    flags = {True: "yes", False: "no"}
    held = {one["name"]: flags.get(one["value"], one["value"]) for one in told}
    typed = [words[3:] for words in commands("\n".join(scene.block.lines)) if "set" in words]
    assert [[name, held[name]] for name, _ in typed] == typed


def share(scene: Scene) -> None:
    """A team's lake is made, and works."""
    scene.use_s3(TRUNKLINE_S3_ENDPOINT=scene.real["https://minio.example.org:9000"])
    scene.do("mkdir ~/lake && cd ~/lake")
    said = scene.play()
    assert said[0] == "Made a lake in /home/ada/lake."
    keep_a_file(scene)


def share_elsewhere(scene: Scene) -> None:
    """The endpoint that was set is enough for later, without the variable."""
    scene.use_s3()
    scene.do("mkdir ~/lake && cd ~/lake")
    scene.play()
    scene.do("unset TRUNKLINE_S3_ENDPOINT")
    keep_a_file(scene)


def keep_a_file(scene: Scene) -> None:
    scene.do("trunkline repo create notes && echo milk | trunkline put notes@main:/a.txt -")
    assert scene.do("trunkline cat notes@main:/a.txt") == ["milk"]


def move(scene: Scene) -> None:
    """What was in the folder is in PostgreSQL and S3."""
    scene.use_s3(TRUNKLINE_S3_ENDPOINT=scene.real["https://minio.example.org:9000"])
    scene.in_a_lake("notes")
    scene.play()
    scene.do(f"cd {scene.real['/srv/lake']}")
    assert scene.do("trunkline cat notes@main:/a.txt") == ["milk"]
    assert "postgresql://" in "\n".join(scene.do("trunkline status"))


def fetch(scene: Scene) -> None:
    """Only public addresses are fetched unless the settings say otherwise, and ours are not."""
    scene.use_s3(TRUNKLINE_S3_ENDPOINT=scene.real["https://minio.example.org:9000"])
    scene.in_a_lake("orders")
    scene.do("export TRUNKLINE_URL_ALLOW_PRIVATE=yes TRUNKLINE_URL_ALLOW_HTTP=yes")
    scene.play()
    assert scene.do("trunkline cat orders@main:/rates.csv") == ["EUR,1"]
    assert scene.do("trunkline cat orders@main:/2025/may.csv") == ["1,9.50"]


def work(scene: Scene) -> None:
    """A worker is ready when its Spark is. It ends well when it is asked to."""
    scene.in_a_lake()
    scene.do("unset TRUNKLINE_SPARK_MASTER")  # which would go before the lake's setting
    *before, worker = lines_of(scene.typed("\n".join(scene.block.lines)))
    for line in before:
        scene.do(line)
    said = scene.do(
        f"{worker} >said 2>&1 &\n"
        "for _ in $(seq 1200); do\n"
        "  grep -q 'is ready' said && break; kill -0 $! || break; sleep 0.1\n"
        "done\n"
        "cat said; kill $!; wait $!"
    )
    assert said[-1].partition("  ")[2].startswith("Spark is ready"), said


def look_for_spark(scene: Scene) -> None:
    """What waits is told with or without a lake, and nothing waits afterwards."""
    scene.play()
    assert scene.do("trunkline spark list")[0].startswith("No Spark waits.")


def serve(scene: Scene) -> None:
    scene.in_a_lake()
    (command,) = scene.block.lines
    assert scene.do(f"{command} &")[0].startswith("Serving /home/ada/lake at http://127.0.0.1:8470")
    scene.do("curl -sf http://127.0.0.1:8470/readyz")
    scene.do("kill $! && wait $!")


def push(scene: Scene) -> None:
    """Here nobody types the secret, so it comes from stdin."""
    port = free_port()
    scene.real |= {
        "0.0.0.0": "127.0.0.1",
        "port: 8480": f"port: {port}",
        "http://lake:8480": f"http://127.0.0.1:{port}",
        "trunkline secret set": 'printf "$TOKEN" | trunkline secret set',
    }
    scene.in_a_lake()
    scene.write_block_before("yaml", "events.yaml")
    row = '{"ts": "2026-03-02T09:00:00Z", "visitor": "v1", "item": "cup"}'
    scene.do(f"export TOKEN=hush; echo '{row}' > events.jsonl")
    scene.do("trunkline pipeline apply events.yaml")
    secret, worker, curl = lines_of(scene.typed("\n".join(scene.block.lines)))
    scene.do(secret)
    scene.do(worker)
    scene.until_open(port)
    said = "\n".join(scene.do(curl))
    answer, _ = json.JSONDecoder().raw_decode(said, said.index("{"))  # curl says more around it
    assert (answer["rows"], answer["malformed"]) == (1, 0)
    scene.do("kill $! && wait $!")


def apply_jsonnet(scene: Scene) -> None:
    """With the files that the page shows."""
    scene.in_a_lake("numbers")
    (script,) = (one for one in steps(scene.page) if one.command.startswith("cat > square.sh"))
    scene.do(script.command)
    scene.write_block_before("jsonnet", "square.jsonnet")
    assert scene.play()[0].startswith("Created square-monday, version 1")


RUN: dict[str, Callable[[Scene], None]] = {
    "docs/console.md: trunkline serve": serve,
    "docs/files.md: trunkline put orders@main:/rates.csv https://example.org/rates.csv": fetch,
    "docs/ingest.md: trunkline secret set events-token": push,
    "docs/operating.md: trunkline init --catalog postgresql://trunkline@db.example.org/lake": share,
    "docs/operating.md: export TRUNKLINE_S3_ENDPOINT=https://minio.example.org:9000": (
        share_elsewhere
    ),
    "docs/operating.md: trunkline config set server.url": settle,
    "docs/operating.md: trunkline worker --name etl-1": work,
    "docs/operating.md: trunkline backup create /mnt/move": move,
    "docs/pipelines.md: trunkline pipeline apply square.jsonnet": apply_jsonnet,
    "docs/running.md: trunkline config set spark.packages": settle,
    "docs/running.md: trunkline config set spark.master": work,
    "docs/running.md: trunkline spark list": look_for_spark,
    "docs/security.md: trunkline config set server.url": settle,
    "docs/security.md: trunkline config set sandbox.required": settle,
    "docs/tutorial.md: trunkline config set spark.master": work,
    "docs/tutorial.md: trunkline init --catalog postgresql://trunkline@db.example.org/lake": share,
}
NOT_RUN = {
    "README.md: make install": "made the .venv that runs this",
    "README.md: make test": "this is a part of it",
    "docs/operating.md: cp deploy/example.env deploy/.env": (
        "needs Docker; tests/deploy looks at what is deployed"
    ),
    "docs/operating.md: trunkline abuse /srv/trial --minutes": (
        "takes an hour; tests/abuse runs a minute of it"
    ),
    AIRFLOW: "tests/integrations runs these files in a real Airflow",
    "examples/integrations/README.md: pip install dagster dagster-webserver": (
        "tests/integrations runs these files in a real Dagster"
    ),
}


def test_every_block_is_run_or_says_why_not() -> None:
    assert sorted([*RUN, *NOT_RUN]) == sorted(name for name, _ in found_blocks())


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        client = boto3.client(
            "s3",
            endpoint_url=running.endpoint,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )
        for bucket in ("acme-lake", "lake", "old-lake"):
            client.create_bucket(Bucket=bucket)
        client.put_object(Bucket="old-lake", Key="orders/2025/may.csv", Body=b"1,9.50\n")
        client.put_object(Bucket="old-lake", Key="rates.csv", Body=b"EUR,1\n", ACL="public-read")
        yield running


def once() -> dict[str, str]:
    """The names of those to run: one of each that says the same."""
    return {"\n".join(BLOCKS[name][1].lines): name for name in RUN if name in BLOCKS}


@pytest.mark.parametrize("name", once().values())
def test_block_does_what_it_says(name: str, server: S3Server, tmp_path: Path) -> None:
    catalog = postgres().url(postgres().empty_database())
    shell = Shell(tmp_path / "run")
    real = {
        "postgresql://trunkline@db.example.org/lake": shlex.quote(catalog),
        "s3://acme-lake/prod": f"s3://acme-lake/{tmp_path.name}",
        "s3://lake/prod": f"s3://lake/{tmp_path.name}",
        "https://minio.example.org:9000": server.endpoint,
        "https://example.org/rates.csv": f"{server.endpoint}/old-lake/rates.csv",
        "spark://spark.example.org:7077": "'local[1]'",
        "/mnt/move": f"{shell.home}/move",
        "/srv/lake": f"{shell.home}/srv",
    }
    try:
        RUN[name](Scene(shell, *BLOCKS[name], real))
    finally:
        shell.close()
