"""Medicine: results, pictures and cohort as plain Python finds them, and a patient who is gone."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import trunkline as tl
from tests.examples.touring import EXAMPLES, Tour
from trunkline.errors import Erased
from trunkline.model.files import FileType

GONE = "S0007"
GIVEN = ("patients", "labs", "images")


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / "medicine" / f"{name}.py")
    assert spec and spec.loader
    found = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def clinic() -> Any:
    return module("clinic")


@pytest.fixture(scope="module")
def hidden(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return clinic.write(tmp_path_factory.mktemp("again"))


# What plain Python makes of the files -------------------------------------------------------


def labs(place: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for file in sorted((place / "incoming" / "labs").rglob("labs.csv")):
        for row in csv.DictReader(file.open()):
            yield file.parent.name.removeprefix("subject="), row


def usual(row: dict[str, str]) -> float | None:
    """The value in the unit that doctors of this clinic are used to, by the textbook."""
    value = float(row["value"])
    match row["code"], row["unit"]:
        case _, "%" | "mg/dL":
            return value
        case "4548-4", "mmol/mol":
            return value / 10.929 + 2.15
        case "2345-7", "mmol/L":
            return value * 18.016
        case "2160-0", "umol/L":
            return value / 88.42
        case "13457-7", "mmol/L":
            return value * 38.67
    return None


def members(place: Path, hidden: Any) -> set[str]:
    """The cohort, with the slope by hand."""
    aside = {*hidden.implausible, *hidden.unknown_unit}
    found = set()
    for file in sorted((place / "incoming" / "patients").rglob("patient.json")):
        subject, card = file.parent.name.removeprefix("subject="), json.loads(file.read_text())
        tests = [
            ((date.fromisoformat(row["taken"]) - date(2024, 1, 1)).days / 365.25, usual(row))
            for one, row in labs(place)
            if one == subject and row["code"] == "4548-4" and row["sample"] not in aside
        ]
        slope = statistics.linear_regression(*zip(*tests, strict=True)).slope if tests else 0
        spots = [count for name, count in hidden.spots.items() if name.startswith(subject)]
        if (
            card["consent"]
            and "E11.9" in card["diagnoses"]
            and len(tests) >= 3
            and slope >= 0.3
            and max(spots, default=0) > 0
        ):
            found.add(subject)
    return found


def rows(lake: tl.Lake, sql: str) -> list[tuple[Any, ...]]:
    return list(lake.sql(sql).rows())


# Tests -------------------------------------------------------------------------------------


def test_its_readme_is_right(tour: Tour):
    assert not tour.difference, tour.difference


def test_its_picture(tour: Tour):
    tour.assert_pictured()


def test_units_are_converted(lake: tl.Lake, place: Path, hidden: Any):
    aside = {*hidden.implausible, *hidden.unknown_unit}
    expected = {
        row["sample"]: usual(row)
        for subject, row in labs(place)
        if subject != GONE and row["sample"] not in aside
    }
    found = dict(rows(lake, "SELECT sample, value FROM results"))
    assert found.keys() == expected.keys()
    for sample, value in expected.items():
        assert found[sample] == pytest.approx(value, abs=0.02), sample


def test_what_cannot_be_true_is_set_aside(lake: tl.Lake, hidden: Any):
    for rule, expected in (("plausible", hidden.implausible), ("known_unit", hidden.unknown_unit)):
        found = lake.table(f"results@main:/_quarantine/{rule}").arrow().to_pylist()
        assert sorted(row["sample"] for row in found) == sorted(expected)


def test_each_picture_has_the_spots_that_were_drawn(lake: tl.Lake, hidden: Any):
    found = dict(rows(lake, "SELECT image, spots FROM features"))
    drawn = {name: count for name, count in hidden.spots.items() if not name.startswith(GONE)}
    assert found == drawn
    assert set(drawn.values()) == {0, 1, 2, 3}


def test_pictures_are_real(place: Path):
    """Another program reads them, and what another program writes is read the same."""
    read_png = module("features").read_png
    for file in sorted((place / "incoming" / "images").rglob("*.png"))[:3]:
        with Image.open(file) as picture:
            picture.verify()
        with Image.open(file) as picture:
            pixels = picture.tobytes()
            filtered = io.BytesIO()
            picture.save(filtered, "PNG", optimize=True)
        assert read_png(file.read_bytes()) == (96, 96, pixels)
        assert read_png(filtered.getvalue()) == (96, 96, pixels)
    with pytest.raises(ValueError, match="damaged"):
        read_png(file.read_bytes()[:60] + b"x" + file.read_bytes()[61:])


def test_the_cohort(lake: tl.Lake, place: Path, hidden: Any):
    expected = members(place, hidden)
    assert GONE in expected and len(expected) > 2
    first = lake.history("cohort")[-1].id
    with pytest.raises(Erased):
        rows(lake, f'SELECT subject FROM "cohort@{first}:/members"')
    assert {subject for (subject,) in rows(lake, "SELECT subject FROM cohort.members")} == (
        expected - {GONE}
    )
    steps = [number for _, number in rows(lake, "SELECT step, number FROM cohort.inclusion")]
    assert sorted(steps, reverse=True)[-1] == len(expected) - 1


def test_a_history_has_all_that_is_known(lake: tl.Lake, place: Path, hidden: Any):
    aside = {*hidden.implausible, *hidden.unknown_unit}
    tests = [1 for one, row in labs(place) if one == "S0003" and row["sample"] not in aside]
    card = json.loads((place / "incoming/patients/subject=S0003/patient.json").read_text())
    pictures = [name for name in hidden.spots if name.startswith("S0003")]
    found = dict(
        rows(lake, "SELECT kind, count(*) FROM history WHERE subject = 'S0003' GROUP BY 1")
    )
    assert found.get("lab", 0) == len(tests)
    assert found.get("diagnosis", 0) == len(card["diagnoses"])
    assert found.get("image", 0) == len(pictures)


def test_names_are_in_nothing_that_was_computed(lake: tl.Lake, place: Path):
    cards = (place / "incoming" / "patients").rglob("patient.json")
    people = [json.loads(card.read_text()) for card in cards]
    words = [person[word] for person in people for word in ("name", "mrn")]
    text_of = module("find_patient").text_of
    for repo in ("results", "features", "history", "cohort"):
        files = [f for f in lake.ls(f"{repo}@main", recursive=True) if f.type is FileType.FILE]
        assert files
        everything = "".join(text_of(lake.read(f"{repo}@main:{f.path}"), f.path) for f in files)
        assert not [word for word in words if word in everything]


def test_the_patient_is_gone_from_every_version(lake: tl.Lake):
    for repo in (*GIVEN, "results", "features", "history"):
        for commit in lake.history(repo):
            for file in lake.ls(f"{repo}@{commit.id}", recursive=True):
                if f"subject={GONE}/" in file.path and not file.path.endswith("/"):
                    with pytest.raises(Erased):
                        lake.read(f"{repo}@{commit.id}:{file.path}")
        assert not [f for f in lake.ls(f"{repo}@main", recursive=True) if GONE in f.path]
    assert not lake.fsck(deep=True).problems


def test_the_search_finds_who_is_there(lake: tl.Lake, place: Path):
    """A proof that could not fail would be none."""
    there, gone = search(place, "S0003"), search(place, GONE)
    assert "are of the patient" in there and "found in objects" in there
    assert "none is of the patient" in gone and "found nowhere" in gone
    assert f"{GONE} is in 0 files of tables" in gone


def search(place: Path, subject: str) -> str:
    card = f"incoming/patients/subject={subject}/patient.json"
    done = subprocess.run(
        [sys.executable, "medicine/find_patient.py", card],
        cwd=place, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_the_same_seed_is_the_same_study(clinic: Any, tmp_path: Path):
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        clinic.write(tmp_path / name, scale=0.1, seed=seed)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert content(tmp_path / "one") != content(tmp_path / "other")


def content(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}
