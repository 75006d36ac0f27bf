"""The demo runs by itself, shows its commands, and leaves a lake to play with."""

import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.console.sample import MAKING_SECONDS, copy_sample
from tests.docs.console import ROOT
from tests.spark import free_port
from trunkline.cli import demo, demoshop, demostream, demotour, sample
from trunkline.cli.output import Style
from trunkline.errors import Failed

pytestmark = pytest.mark.slow

SHOP = sample.EXAMPLES / sample.SHOP


def test_the_demo(cli, spark, tmp_path, monkeypatch):
    place = tmp_path / "demo"
    monkeypatch.setenv("TRUNKLINE_LAKE", "/somewhere/else")
    text = cli.ok("demo", "shop", "--folder", place)
    for shown in (
        "$ trunkline init\n",
        "$ trunkline put -r orders@main incoming",
        "$ trunkline pipeline apply shop/clean.yaml shop/revenue.py",
        "1 datum: 1 ran; 120 rows in, 120 out",
        "2 datums: 1 ran, 1 skipped; 120 rows in, 119 out",
        '"amount":-12.8}\n',
        "failure: the check known_once: 240 of 240 rows (100 %) share their day and id",
        "unrunnable: its input clean failed",
        "3 datums: 1 ran, 2 skipped; 120 rows in, 120 out",
        "2026-01-03    null  3225.8\n",
        "│ ✓ report │",
        "made from:\n",
        "$ trunkline worker &\n",
        "✓ sessions@",
        "✓ visits@",
        "not JSON: EOF while parsing a string",
        "$ kill -9 %1\n",
        "1090 clicks, 1084 of them before 10:00\n240 purchases for 332660 cents\n",
        "\nclicks\n  1090\n",
        "\nin_sessions\n       1083\n",
        "\nlate\n   1\n",
        "live_revenue goes on after batch ",
        "all is well",
        f"The lake is in {place}",
        "$ trunkline serve",
        "is at http://127.0.0.1:",
        "Nobody is at a terminal to look, so it was stopped.",
    ):
        assert shown in text
    # What is asked before and after the bad day has the same answer.
    _, before, after = text.split(f'$ trunkline sql "{demoshop.REPORT}"\n')
    assert before.splitlines()[:3] == after.splitlines()[:3]
    assert os.environ["TRUNKLINE_LAKE"] == "/somewhere/else"
    # Before and after the rewind of what they were added up from.
    assert text.count("purchases   cents\n      240  332660\n") == 2
    names = [pipeline["name"]["repo"] for pipeline in cli.json("pipeline", "list", "--lake", place)]
    batch, flowing = ["clean", "goods", "report", "revenue", "visits"], ["live_revenue", "sessions"]
    assert names == sorted([*batch, *flowing, "clicks"])
    # What guards the commands of jobs belongs to this very process.
    assert all(b"trunkline-guardian" in process for process in processes_in(place))


@pytest.mark.timeout(MAKING_SECONDS + 100)  # it may have to make the sample
def test_what_it_shows_is_so(request, cli, tmp_path):
    """Each day was computed once, and one row of the second is not in the table."""
    place = tmp_path / "demo"
    copy_sample(request.config.cache.mkdir("console-sample"), place)
    jobs = cli.json("job", "list", "--pipeline", "clean", "--lake", place)
    counts = [(job["counts"]["processed"], job["counts"]["rows_out"]) for job in jobs]
    assert [(job["state"], *done) for job, done in zip(jobs, counts, strict=True)] == [
        ("success", 1, 120),
        ("success", 1, 120),
        ("failure", 0, None),
        ("success", 1, 119),
        ("success", 1, 120),
    ]
    days = cli.json("sql", "SELECT day, count(*) AS n FROM clean GROUP BY day", "--lake", place)
    assert sorted((row["day"], row["n"]) for row in days) == [
        (demoshop.DAY_1, 120),
        (demoshop.DAY_2, 119),
        (demoshop.DAY_3, 120),
        (demostream.DAY_4, 120),
    ]
    aside = cli.json("sql", 'FROM "clean@main:/_quarantine/not_negative"', "--lake", place)
    assert [row["amount"] for row in aside] == [-12.8]
    clicks = demostream.written(place)
    assert Counter(row["visitor"] for row in cli.json("sql", "FROM clicks", "--lake", place)) == (
        Counter(click["visitor"] for click in clicks)
    )
    earned = cli.json("sql", "FROM live_revenue", "--lake", place)
    assert sorted((row["item"], row["sold"], row["cents"]) for row in earned) == revenue(clicks)
    found = cli.json("sql", "FROM sessions WHERE start < '2026-01-04 10:00+00'", "--lake", place)
    late = cli.json("sql", 'FROM "sessions@main:/_late/clicks"', "--lake", place)
    assert [row["cents"] for row in late] == [720]
    in_time = [click for click in clicks if click["visitor"] != late[0]["visitor"]]
    assert Counter((row["visitor"], row["clicks"], row["bought"]) for row in found) == (
        Counter(visits(in_time))
    )
    (cut,) = cli.json("sql", 'FROM "clicks@main:/_malformed"', "--lake", place)
    assert cut["source"] == "clicks-003.jsonl"


def revenue(clicks):
    """What live_revenue should be: the item, how many were sold, and for how much."""
    sold, cents = Counter[str](), Counter[str]()
    for click in clicks:
        if click["event"] == "purchase":
            sold[click["item"]] += 1
            cents[click["item"]] += click["cents"]
    return sorted((item, number, cents[item]) for item, number in sold.items())


def visits(clicks):
    """What sessions should be, before ten: the visitor, his clicks, and how often he bought."""
    by_visitor = dict[str, list[dict[str, str]]]()
    for click in clicks:
        by_visitor.setdefault(click["visitor"], []).append(click)
    for visitor, made in by_visitor.items():
        for visit in parted(sorted(made, key=lambda click: click["ts"])):
            if visit[0]["ts"] < "2026-01-04T10":
                bought = sum(click["event"] == "purchase" for click in visit)
                yield visitor, len(visit), bought


def parted(clicks):
    """One visitor's clicks, cut where there was none for five minutes."""
    visit = list[dict[str, str]]()
    for click in clicks:
        at = datetime.fromisoformat(click["ts"])
        if visit and at - datetime.fromisoformat(visit[-1]["ts"]) >= timedelta(minutes=5):
            yield visit
            visit = []
        visit.append(click)
    yield visit


def processes_in(place):
    """Those that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(process / "cwd")).is_relative_to(place):
                found.append((process / "cmdline").read_bytes())
    return found


STREAMS = """
import os, sys
from pathlib import Path
from trunkline.cli import demostream, demotour, sample
from trunkline.cli.entry import main
from trunkline.cli.output import Style
from trunkline.cli.interrupts import INTERRUPTED

place = Path(sys.argv[1])
os.chdir(place)
sample.write_example("shop", place / "shop")
main(["init"])
try:
    demostream.StreamTour(demotour.Stage(place, Style(False))).give()
except KeyboardInterrupt:
    sys.exit(INTERRUPTED)
"""


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_interrupts_it_leaves_no_worker_behind(tmp_path, number, code):
    place = tmp_path / "demo"
    place.mkdir()
    command = [sys.executable, "-u", "-c", STREAMS, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tour:
        assert tour.stdout is not None
        for line in tour.stdout:
            if "Starting Spark" in line:
                break
        assert len(processes_in(place)) >= 2
        tour.send_signal(number)
        rest = tour.stdout.read()
    assert tour.returncode == code, rest
    assert not processes_in(place)


CONSOLE = """
import os, sys
from pathlib import Path
from trunkline.cli import demoserve, demotour
from trunkline.cli.output import Style

place = Path(sys.argv[1])
os.chdir(place)
demoserve.show_console(demotour.Stage(place, Style(False)), None, int(sys.argv[2]))
"""


@pytest.fixture
def place(tmp_path):
    with tl.init(tmp_path / "demo"):
        pass
    return tmp_path / "demo"


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.fixture
def free():
    return free_port()


def test_where_nobody_looks_the_console_is_stopped_again(place, free):
    command = [sys.executable, "-c", CONSOLE, str(place), str(free)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    _, prompt, where, why, again = done.stdout.strip().splitlines()
    assert prompt == "$ trunkline serve"
    assert f"is at http://127.0.0.1:{free}" in where
    assert "Nobody is at a terminal to look, so it was stopped." in why
    assert again == f"  cd {place} && trunkline serve"
    assert not processes_in(place)


def test_where_the_port_is_taken_the_console_has_another(place, taken):
    command = [sys.executable, "-c", CONSOLE, str(place), str(taken)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"# Port {taken} is taken, so it is another one." in done.stdout
    assert "$ trunkline serve --port 0\n" in done.stdout
    found = re.search(r"is at http://127.0.0.1:(\d+)", done.stdout)
    assert found and int(found[1]) != taken


@pytest.mark.parametrize("ending", ["key", "signal"])
def test_on_a_terminal_the_console_is_there_until_ctrl_c(place, free, ending):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", CONSOLE, str(place), str(free)])
    written = b""
    while b"Ctrl-C stops it." not in written:
        written += os.read(terminal, 65536)
    assert httpx2.get(f"http://127.0.0.1:{free}", trust_env=False).status_code == 200
    assert processes_in(place)
    if ending == "key":
        os.write(terminal, b"\x03")
    else:
        os.kill(pid, signal.SIGTERM)
    with contextlib.suppress(OSError):  # how Linux says that the other end is gone
        while piece := os.read(terminal, 65536):
            written += piece
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert (b"Stopped." in written) is (ending == "key")
    assert os.waitstatus_to_exitcode(status) == (0 if ending == "key" else 143)
    assert not processes_in(place)


@pytest.mark.parametrize(
    "options, shown",
    [
        ([], [(None, 8470)]),
        (["--port", "8499"], [(8499, 8470)]),
        (["--no-serve"], []),
        (["--json"], []),
        (["--quiet"], []),
    ],
)
def test_the_console_is_for_people_who_want_it(cli, tmp_path, monkeypatch, options, shown):
    """The tour itself takes long, and is left out."""
    asked = []
    monkeypatch.setattr(demo, "_Warm", contextlib.nullcontext)
    monkeypatch.setattr(demotour.Tour, "give", lambda tour: None)
    monkeypatch.setattr(demo, "show_console", lambda tour, *ports: asked.append(ports))
    cli.ok("demo", "--folder", tmp_path / "demo", *options)
    assert asked == shown


def test_without_java_it_says_so(cli, tmp_path, monkeypatch):
    from trunkline.engine import session
    from trunkline.errors import Precondition

    def no_java(options):
        raise Precondition("There is no Java here.", hint="Install one.")

    monkeypatch.setattr(session, "start", no_java)
    result = cli("demo", "--folder", tmp_path / "demo")
    assert result.code == 6
    assert "There is no Java here." in result.err


def test_it_wants_an_empty_folder(cli, tmp_path):
    (tmp_path / "mine").write_text("")
    result = cli("demo", "--folder", tmp_path)
    assert result.code == 2
    assert [f.name for f in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["/tmp/somewhere"], "The folder is an option: trunkline demo --folder /tmp/somewhere"),
        (["films"], "One of ecommerce, finance, medicine, logistics, games, shop."),
        (["shop", "--scale", "3"], "The shop has one size."),
        (["--scale", "0"], "--scale"),
    ],
)
def test_what_it_cannot_show_it_says(cli, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    result = cli("demo", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert not list(tmp_path.iterdir())


@pytest.fixture
def film(tmp_path, monkeypatch):
    """A field of a few steps, and what became of its tour."""
    monkeypatch.setattr(sample, "EXAMPLES", tmp_path)
    monkeypatch.chdir(tmp_path)

    def give(steps, scale=1):
        (tmp_path / "film").mkdir()
        tour = f"title: A film\nquestion: Who did it?\nsteps:\n{steps}\ntry: [trunkline ls]\n"
        (tmp_path / "film" / "tour.yaml").write_text(tour)
        place = tmp_path / "place"
        place.mkdir()
        monkeypatch.chdir(place)
        demotour.Tour("film", place, Style(False), Cold(), scale=scale).give()

    return give


class Cold:
    """No Spark: a tour that waits for it here has asked too early."""

    seconds = 0.0

    def wait(self):
        raise AssertionError("nothing of this needs Spark")

    stop = wait


def test_a_tour_shows_what_it_does(film, capfd):
    film(
        """
  - say: |
      Once.
      Upon a time.
  - shell: python3 -c "print('scale', ${scale})"
  - run: init
  - run: repo inspect nobody
    fails: true
  - run: repo list
""",
        scale=7,
    )
    said = capfd.readouterr()
    place = Path.cwd()
    assert re.sub(r"\([\d,]+ ms\)", "(ms)", said.out).splitlines() == [
        "# A film. Who did it?",
        "",
        "# Once.",
        "# Upon a time.",
        "$ python3 -c \"print('scale', 7)\"",
        "scale 7",
        "$ trunkline init",
        f"Made a lake in {place}.",
        "  (ms)",
        "$ trunkline repo inspect nobody",
        "  (ms)",
        "$ trunkline repo list",
        "No repos yet: trunkline repo create NAME.",
        "  (ms)",
        "",
        f"# That was it. The lake is in {place}; try:",
        f"  cd {place}",
        "  trunkline ls",
    ]


@pytest.mark.parametrize(
    "step, why",
    [
        ("run: repo list", "ended with exit code"),
        ("{run: init, fails: true}", "trunkline init ended with exit code 0"),
        ("shell: python3 -c 'import sys; sys.exit(\"oh\")'", "oh"),
        ("dance: well", "none of say, shell, run"),
        ("{run: init, shell: ls}", "none of say, shell, run"),
    ],
)
def test_a_tour_stops_where_something_goes_wrong(film, step, why):
    with pytest.raises(Failed, match=re.escape(why)):
        film(f"  - {step}")


@pytest.mark.parametrize("name", [*demo.FIELDS, sample.SHOP])
def test_the_examples_of_the_package_are_those_of_the_source(tmp_path, name):
    files = sample.write_example(name, tmp_path / name)
    example = ROOT / "examples" / name
    found = {file.relative_to(tmp_path / name): file.read_bytes() for file in files}
    assert found == {
        file.relative_to(example): file.read_bytes()
        for file in example.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


@pytest.mark.parametrize("orders", [3, 120])
@pytest.mark.parametrize("table", [False, True])
def test_a_day_is_the_same_every_time(tmp_path, orders, table):
    for name in ("one", "two"):
        command = [sys.executable, SHOP / "day.py", "2026-01-01", tmp_path / name]
        command += ["--table"] if table else []
        subprocess.run([*command, "--orders", str(orders)], check=True)
    files = [f.relative_to(tmp_path / "one") for f in (tmp_path / "one").rglob("*") if f.is_file()]
    assert len(files) == (1 if table else orders + 2)
    assert all(
        (tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files
    )


@pytest.mark.parametrize("flaw", [[], ["--flaw", "late"], ["--flaw", "cut"]])
def test_clicks_are_the_same_every_time(tmp_path, flaw):
    for name in ("one", "two"):
        for part in ("1", "2"):
            command = [sys.executable, SHOP / "clicks.py", part, tmp_path / name, *flaw]
            subprocess.run(command, check=True)
    one, two = ([f.read_bytes() for f in sorted((tmp_path / n).iterdir())] for n in ("one", "two"))
    assert len(one) == 2 and one == two
    first, second = ({line[30:60] for line in file.decode().splitlines()} for file in one)
    assert first & second  # visits go on from one part into the next
