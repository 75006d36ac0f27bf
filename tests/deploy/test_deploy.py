"""What operators copy must be what the command understands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import yaml

from trunkline.cli.app import build
from trunkline.settings import SETTINGS

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yml").read_text())
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
VARIABLES = {setting.variable for setting in SETTINGS.values()}


def commands() -> Iterator[tuple[str, list[str]]]:
    for unit in UNITS:
        for line in re.findall(
            r"^(?:ExecStart=|#.*?)/opt/\S*/(trunkline .*)$", unit.read_text(), re.M
        ):
            yield unit.name, shlex.split(line)[1:]
    for name, service in COMPOSE["services"].items():
        given = service.get("command", [])
        if service.get("image") == "trunkline" and "entrypoint" not in service:
            yield f"compose {name}", given
        for line in re.findall(r"trunkline (init .*)", " ".join(given)):
            yield f"compose {name}", shlex.split(line)
    docker = (DEPLOY / "Dockerfile").read_text()
    yield "Dockerfile", yaml.safe_load(re.findall(r"^CMD (.*)$", docker, re.M)[0])


def test_there_is_something_to_look_at():
    assert {place for place, _ in commands()} >= {
        "trunkline.service",
        "trunkline-worker.service",
        "compose serve",
        "compose worker",
        "compose init",
        "Dockerfile",
    }


@pytest.mark.parametrize("place,arguments", [*commands()])
def test_every_command_is_one(place, arguments):
    command = build(arguments)
    name, *rest = arguments
    context = typer.Context(command)
    found = command.get_command(context, name)
    assert found is not None, f"{place}: there is no command {name}"
    # Parses, and refuses options that are none.
    found.make_context(name, list(rest), parent=context)


def test_every_variable_is_a_setting():
    text = "\n".join(path.read_text() for path in [*UNITS, DEPLOY / "compose.yml"])
    named = set(re.findall(r"TRUNKLINE_[A-Z0-9_]+", text))
    assert named
    assert named <= VARIABLES


def test_compose_asks_for_every_password():
    given = dict(
        line.split("=", 1)
        for line in (DEPLOY / "example.env").read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )
    asked = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)\}", (DEPLOY / "compose.yml").read_text()))
    assert asked == set(given)


def test_compose_waits_for_what_it_needs():
    services = COMPOSE["services"]
    for name, service in services.items():
        for needed in service.get("depends_on", {}):
            assert needed in services, f"{name} waits for {needed}, which is not there"
    volumes = {one.split(":")[0] for s in services.values() for one in s.get("volumes", [])}
    assert volumes == set(COMPOSE["volumes"])


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_unit_stops_gently_and_comes_back(unit):
    text = unit.read_text()
    assert "KillSignal=SIGTERM" in text
    assert re.search(r"^Restart=(on-failure|always)$", text, re.M)
    assert "NoNewPrivileges=yes" in text
