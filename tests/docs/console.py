"""Pages that can be run: their console blocks, a shell to run them in, and a strict comparison.

    ```console            commands after "$ ", continued after "> ", then what they print
    ```console one        one command, whose output has prompts of its own
    ```python run         run where the shell stands; a ```text block right after is its output

A command that ends with "&" is a server. The page goes on when it has said where it is, and it
is stopped with the page. Pages show the usual ports; each run has some of its own.

What a run cannot repeat is compared by kind: commit ids, moments, milliseconds, sizes of
compressed objects. Ids are bound one to one over the whole page, so a page that shows the
wrong one fails. A line that is only "…" stands for any number of lines.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.spark import SHORT_LIVED_CONF
from trunkline.engine import warm
from trunkline.engine.options import cache_folder

ROOT = Path(__file__).resolve().parents[2]
ANYTHING = "…"
HOME_ON_THE_PAGE = "/home/ada"
PORTS_ON_THE_PAGE = {"--port": 8470, "--s3-port": 8471}


@dataclass
class Step:
    """A command of a page with the output shown for it. `line` counts from 1."""

    page: Path
    line: int
    command: str
    expected: list[str] = field(default_factory=list)
    python: bool = False

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Block:
    """A fenced block: its info string, its first line's number (from 0), its lines."""

    info: str
    start: int
    lines: list[str]


def blocks(text: str) -> Iterator[Block]:
    fence, info, start, held = "", "", 0, list[str]()
    for number, line in enumerate(text.splitlines()):
        found = re.match(r"(`{3,}|~{3,})(.*)", line)
        if not fence and found:
            fence, info, start, held = found[1], found[2].strip(), number + 1, []
        elif fence and line.strip() == fence:
            yield Block(info, start, held)
            fence = ""
        elif fence:
            held.append(line)


def steps(page: Path) -> list[Step]:
    found: list[Step] = []
    code: Step | None = None
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.info in ("console", "console one"):
            found += _commands(page, block)
        if block.info == "text" and code is not None:
            code.expected = block.lines
        code = None
        if block.info == "python run":
            code = Step(page, block.start + 1, "\n".join(block.lines), python=True)
            found.append(code)
    return found


def _commands(page: Path, block: Block) -> Iterator[Step]:
    step: Step | None = None
    for number, line in enumerate(block.lines, start=block.start + 1):
        if line.startswith("$ ") and not (step and block.info == "console one"):
            if step:
                yield step
            step = Step(page, number, line[2:])
        elif step is None:
            raise ValueError(f"{page}:{number}: a console block starts with a command")
        elif (line == ">" or line.startswith("> ")) and not step.expected:
            step.command += "\n" + line[2:]
        else:
            step.expected.append(line)
    if step:
        yield step


# Comparing --------------------------------------------------------------------------------

# Commit ids start with their time: "01" until 2039. Content hashes are compared as they are.
ID = re.compile(r"\b01[0-9a-f]{10}(?:7[0-9a-f]{19})?\b")
_SHORT = 12
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?[+-]\d{4}|Z)?"), "<moment>"),
    (re.compile(r"\b(erased|forgotten) on \d{4}-\d\d-\d\d"), r"\1 on <day>"),
    (re.compile(r"\([\d,]+ ms\)"), "(<time>)"),
    # Manifests hold ids and are compressed, so their sizes differ a little.
    (re.compile(r"(\d objects?|in all|Read \d+ files?|Checked \d+ files?) \([\d.]+ [KMG]?i?B\)"),
     r"\1 (<size>)"),
    (re.compile(r"(<moment> +\d+  +)[\d.]+ [KMG]?i?B(?=  )"), r"\1<size>"),
    (re.compile(r"trunkline-demo-\w+"), "trunkline-demo-<name>"),
    # Jobs: how long they took, how fast they were, who ran them.
    (re.compile(r"\b(?:\d+\.\d+ ?s|\d+ms|\d+m\d\ds|\d+h\d\dm|\d+d\d\dh)\b"), "<took>"),
    (re.compile(r"[\d.,]+ datums/s, [\d.]+ [KMG]?i?B/s"), "<rate>"),
    (re.compile(r"[\d.,]+ rows/s"), "<rate>"),
    (re.compile(r"\b[\w.-]+:\d+:[0-9a-f]{4}$"), "<worker>"),
    (re.compile(r"\blocal-\d{13}\b"), "<spark>"),
    (re.compile(r"^\d\d:\d\d:\d\d "), "<time> "),
    (re.compile(r"^(ok +java +)\d\S* at /.+"), r"\1<java>"),
    # Servers: tokens, ids of requests, what JSON answers are known by.
    (re.compile(r"\btl_[0-9a-f]{16}_[\w-]*…?"), "<token>"),
    (re.compile(r"\b(tl_)?[0-9a-f]{16}\b"), "<token id>"),
    (re.compile(r"(secret key  )\S+"), r"\1<secret>"),
    (re.compile(r"(request[_-]id\W+)[0-9a-f]{32}"), r"\1<request>"),
    (re.compile(r'(etag: )"[0-9a-f]{24}"'), r"\1<tag>"),
    (re.compile(r"^(date: ).*"), r"\1<moment>"),
)  # fmt: skip
# Where a column's width depends on such values, so does the space beside it.
_STRETCHED = re.compile(r"<took>|<rate>|\b(?:TOOK|RATE)\b")


class Ids:
    """Which id of the page is which id of the run, by their first twelve digits."""

    def __init__(self) -> None:
        self.to_run: dict[str, str] = {}
        self.to_page: dict[str, str] = {}
        self._whole: dict[str, str] = {}

    def copy(self) -> Ids:
        other = Ids()
        other.to_run, other.to_page = dict(self.to_run), dict(self.to_page)
        other._whole = dict(self._whole)
        return other

    def bind(self, shown: str, real: str) -> bool:
        """Whether the two may be the same id, given what was bound before."""
        if len(shown) != len(real):
            return False
        shown, real = shown[:_SHORT], real[:_SHORT]
        if self.to_run.setdefault(shown, real) != real:
            return False
        return self.to_page.setdefault(real, shown) == shown

    def in_run(self, command: str) -> str:
        """A command of the page with the run's ids in it. Only short ids can be typed."""
        return ID.sub(lambda m: self.to_run.get(m[0][:_SHORT], m[0]), command)


def plain(line: str) -> str:
    """A line with what no run can repeat put out of sight, ids excepted."""
    for pattern, instead in _VARYING:
        line = pattern.sub(instead, line)
    if _STRETCHED.search(line):
        line = re.sub(r"  +", "  ", line)
    return line.rstrip()


def same_line(expected: str, actual: str, ids: Ids) -> bool:
    shown, real = ID.findall(expected), ID.findall(actual)
    if ID.sub("<id>", plain(expected)) != ID.sub("<id>", plain(actual)):
        return False
    return all(ids.bind(a, b) for a, b in zip(shown, real, strict=True))


def compare(expected: list[str], actual: list[str], ids: Ids) -> Ids | None:
    """The ids as bound after a match, or None if the outputs differ."""
    if not expected:
        return ids if not actual else None
    if expected[0].strip() == ANYTHING:
        for skipped in range(len(actual) + 1):
            if found := compare(expected[1:], actual[skipped:], ids):
                return found
        return None
    bound = ids.copy()
    if not actual or not same_line(expected[0], actual[0], bound):
        return None
    return compare(expected[1:], actual[1:], bound)


# Running ----------------------------------------------------------------------------------

_MARK = "@@trunkline-docs@@"
_PATIENCE = 600.0


class Shell:
    """One bash for a whole page, in the home folder of somebody who just cloned Trunkline."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        clone = self.home / "trunkline"
        clone.mkdir(parents=True)
        (folder / "tmp").mkdir()
        self._ports = dict(zip(PORTS_ON_THE_PAGE, _free_ports(), strict=False))
        self._served = folder / "served"
        (clone / ".venv").symlink_to(sys.prefix)
        (clone / "examples").symlink_to(ROOT / "examples")
        self._lend_make(folder / "bin")
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=clone,
            env={
                "PATH": f"{folder / 'bin'}:{Path(sys.prefix, 'bin')}:{os.environ['PATH']}",
                "HOME": str(self.home),
                "TMPDIR": str(folder / "tmp"),
                "TZ": "UTC",
                "LANG": "C.UTF-8",
                "COLUMNS": "80",
                "PYTHONDONTWRITEBYTECODE": "1",
                # Spark's classes are made ready once, not for each page.
                "XDG_CACHE_HOME": str(cache_folder().parents[1]),
                # What is stored, and how, must not depend on the machine.
                "TRUNKLINE_PUT_WORKERS": "2",
                "TRUNKLINE_SPARK_MASTER": "local[2]",
                "TRUNKLINE_SPARK_CONF": SHORT_LIVED_CONF,
            },
        )

    def _lend_make(self, folder: Path) -> None:
        """The real make and Makefile, with the step that installs taken as done."""
        folder.mkdir()
        real = shutil.which("make") or "make"
        script = f'exec {real} --no-print-directory -C "{ROOT}" -o .venv/.installed "$@"\n'
        (folder / "make").write_text("#!/bin/sh\n" + script)
        (folder / "make").chmod(0o755)

    def run(self, command: str) -> tuple[int, list[str]]:
        """Exit code, and the lines printed to stdout and stderr as they came."""
        assert self._process.stdin and self._process.stdout
        command = self._with_ports(command)
        if command.startswith("make demo"):  # which serves what it made
            command = f"TRUNKLINE_SERVER_PORT={self._ports['--port']} {command}"
        if command.endswith(" &"):
            command = self._serving(command)
        # The braces keep `cd` and `export`; $? is what the page's own `echo $?` will see.
        script = (
            f'{{ {command}\n}} </dev/null\n__rc=$?; printf "{_MARK} %d\\n" $__rc; (exit $__rc)\n'
        )
        self._process.stdin.write(script.encode())
        self._process.stdin.flush()
        watchdog = threading.Timer(_PATIENCE, self._process.kill)
        watchdog.start()
        lines: list[str] = []
        try:
            for raw in self._process.stdout:
                text, mark, code = raw.decode().rstrip("\n").partition(_MARK)
                if text or not mark:
                    lines.append(self._as_shown(text))
                if mark:
                    return int(code), lines
        finally:
            watchdog.cancel()
        raise AssertionError(f"the shell ended in: {command}")

    def run_python(self, code: str) -> tuple[int, list[str]]:
        script = self.folder / "tmp" / "block.py"
        script.write_text(self._with_ports(code), encoding="utf-8")
        return self.run(f"python {script}")

    def _serving(self, command: str) -> str:
        """The server in the background, and what it says first. Its log is kept elsewhere."""
        said = self._served.with_suffix(".said")
        options = " ".join(f"{option} {port}" for option, port in self._ports.items())
        command = command.replace("trunkline serve", f"trunkline serve {options}")
        return (
            f"rm -f {said}; {command.removesuffix(' &')} >{said} 2>{said}.log &\n"
            f"echo $! >>{self._served}\n"
            f"while ! [ -s {said} ] && kill -0 $! 2>/dev/null; do sleep 0.1; done\n"
            f"cat {said}; [ -s {said} ] || {{ cat {said}.log; wait $!; }}"
        )

    def close(self) -> None:
        if self._served.exists():
            for process in self._served.read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGTERM)
            if self._process.poll() is None:
                self.run("wait")
        self._process.kill()
        self._process.wait()
        warm.stop_all(self.folder / "tmp")
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()

    def _with_ports(self, text: str) -> str:
        for option, shown in PORTS_ON_THE_PAGE.items():
            text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{self._ports[option]}")
        return text

    def _as_shown(self, line: str) -> str:
        for option, shown in PORTS_ON_THE_PAGE.items():
            line = line.replace(f"127.0.0.1:{self._ports[option]}", f"127.0.0.1:{shown}")
        line = line.replace(str(self.folder / "tmp"), "/tmp")
        return line.replace(str(self.home), HOME_ON_THE_PAGE)


def _free_ports() -> Iterator[int]:
    """Of four digits, as on the page: columns are as wide as what they hold."""
    for port in random.sample(range(2000, 8000), 100):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            yield port


def perform(shell: Shell, step: Step, ids: Ids) -> tuple[int, list[str]]:
    run = shell.run_python if step.python else shell.run
    return run(ids.in_run(step.command))


FAILURES = ("error: ", '{"code"')
FAILED_JOB = "✗ "


def first_difference(page: Path, folder: Path) -> str:
    """What the page shows and what happens, where they part; '' if they never do."""
    shell = Shell(folder)
    ids = Ids()
    try:
        for step in steps(page):
            code, actual = perform(shell, step, ids)
            bound = compare(step.expected, actual, ids)
            # A command may fail only where the page shows how. The demo shows jobs that fail.
            must_fail = any(line.startswith(FAILURES) for line in step.expected)
            may_fail = must_fail or any(line.startswith(FAILED_JOB) for line in step.expected)
            if bound is None or not must_fail <= bool(code) <= may_fail:
                shown, real = "\n".join(step.expected), "\n".join(actual)
                head = f"{step.where}: {step.command}\nexit code {code}"
                return f"{head}\n-- shown:\n{shown}\n-- real:\n{real}"
            ids = bound
    finally:
        shell.close()
    return ""
