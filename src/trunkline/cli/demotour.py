"""A tour of a field of use: commands, shown as you would type them, and run.

What it shows is data: `tour.yaml` in the folder of the example.

    title: An online shop
    question: Which campaign lost conversion yesterday?
    steps:
      - say: A day arrives.
      - shell: python3 ecommerce/shop.py 2026-03-02 incoming --scale ${scale}
      - run: put -r orders@main incoming -m "A day"
      - run: run
        fails: true
    try:
      - trunkline job list
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trunkline.cli import sample
from trunkline.cli.output import Style
from trunkline.errors import Failed

SCALE = "${scale}"
KINDS = ("say", "shell", "run")
FIELDS_OF_A_TOUR = {"title", "question", "steps", "try"}
# These read and check queries, or compute: they take the Spark that was started beside.
SPARK_COMMANDS = ("pipeline", "plan", "run")


class Spark(Protocol):
    """The Spark of a tour, which starts beside its first steps."""

    seconds: float

    def wait(self) -> None: ...
    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a tour says or does. `fails`: it is shown because it fails."""

    kind: str
    text: str
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a tour shows, in order, and what to try when it is over."""

    title: str
    question: str
    steps: tuple[Step, ...]
    afterwards: tuple[str, ...]


def read_plan(file: Path, scale: int) -> Plan:
    """The tour that a file describes, at a size."""
    import yaml

    found = yaml.safe_load(file.read_text(encoding="utf-8").replace(SCALE, str(scale)))
    if unknown := set(found) - FIELDS_OF_A_TOUR:
        raise Failed(f"{file.name} has unknown fields: {', '.join(sorted(unknown))}.")
    steps = tuple(_step(one, file) for one in found["steps"])
    return Plan(found["title"], found["question"], steps, tuple(found.get("try", ())))


def _step(found: Mapping[str, Any], file: Path) -> Step:
    kinds = [kind for kind in KINDS if kind in found]
    if len(kinds) != 1 or set(found) - {*KINDS, "fails"}:
        raise Failed(f"{file.name} has a step that is none of {', '.join(KINDS)}: {dict(found)}")
    return Step(kinds[0], str(found[kinds[0]]).strip(), bool(found.get("fails", False)))


class Stage:
    """Where a tour is shown: what it says, and commands with what they print."""

    def __init__(self, place: Path, style: Style, *, silent: bool = False) -> None:
        self.always = ["--quiet"] if silent else []
        self.place = place
        self.style = style

    def run(self, command: str, *, fails: bool = False) -> None:
        from trunkline.cli.entry import main

        self.prompt(f"trunkline {command}")
        started = time.perf_counter()
        code = main([*shlex.split(command), *self.always])
        sys.stdout.flush()
        if bool(code) != fails:
            raise Failed(f"The demo stopped: trunkline {command} ended with exit code {code}.")
        took = time.perf_counter() - started
        self.dim(f"  ({took * 1000:,.0f} ms)")

    def shell(self, command: str) -> None:
        """A command that is not ours. python3 is the Python that runs us."""
        self.prompt(command)
        program, *arguments = shlex.split(command)
        if program == "python3":
            program = sys.executable
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        sys.stdout.write(done.stdout)
        if done.returncode:
            raise Failed(f"The demo stopped: {command}: {done.stderr.strip()}")

    def prompt(self, command: str) -> None:
        self.write(self.style("head", f"$ {command}"))
        sys.stdout.flush()

    def say(self, sentence: str) -> None:
        self.write(f"\n# {sentence}")

    def dim(self, line: str) -> None:
        self.write(self.style("dim", line))

    def write(self, line: str) -> None:
        sys.stdout.write(line + "\n")

    def ending(self, commands: tuple[str, ...]) -> None:
        self.say(f"That was it. The lake is in {self.place}; try:")
        for command in (f"cd {shlex.quote(str(self.place))}", *commands):
            self.write(f"  {command}")


class Tour(Stage):
    """The tour of one field, from its `tour.yaml`."""

    def __init__(
        self,
        field: str,
        place: Path,
        style: Style,
        spark: Spark,
        *,
        scale: int = 1,
        silent: bool = False,
    ) -> None:
        super().__init__(place, style, silent=silent)
        self.field = field
        self.spark = spark
        self.scale = scale
        self._is_warm = False

    def give(self) -> None:
        folder = self.place / self.field
        sample.write_example(self.field, folder)
        plan = read_plan(folder / sample.TOUR, self.scale)
        self.write(f"# {plan.title}. {plan.question}")
        for step in plan.steps:
            self._perform(step)
        self.ending(plan.afterwards)

    def _perform(self, step: Step) -> None:
        if step.kind == "say":
            first, *more = step.text.splitlines()
            self.say(first)
            for line in more:
                self.write(f"# {line}")
        elif step.kind == "shell":
            self.shell(step.text)
        else:
            if step.text.split()[0] in SPARK_COMMANDS and not self._is_warm:
                self.spark.wait()
                self._is_warm = True
                self.dim(f"  (Spark started meanwhile, in {self.spark.seconds:.1f} s)")
            self.run(step.text, fails=step.fails)
