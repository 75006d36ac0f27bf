"""A clinic's study as files: the same bytes for the same seed and scale, every time.

    python clinic.py incoming

writes, with a folder for each subject of the study:

    incoming/patients/subject=S0001/patient.json   name, number, birth, diagnoses, consent
    incoming/labs/subject=S0001/labs.csv           results of two laboratories, in different units
    incoming/images/subject=S0001/S0001-1.png      chest pictures, and beside each its metadata
    incoming/codes/…                               what the codes mean: units, ranges

**Nobody in it exists.** Names are put together from lists, values are drawn by chance, pictures
are drawn by this program. Codes look like LOINC and ICD-10.

Some results cannot be true: a unit that was not meant, a slipped point. Some pictures show bright
round spots.

NumPy and the standard library. It knows nothing of Trunkline: this is what arrives from elsewhere.
"""

from __future__ import annotations

import argparse
import datetime
import json
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

# fmt: off
FIRST = ("Robin", "Kim", "Alex", "Sasha", "Noa", "Juno", "Mika", "Toni", "Charlie", "Eli",
         "Jona", "Luca", "Nika", "Quinn", "Remy", "Sami", "Taylor", "Umi", "Vanja", "Yael")
PLACE = ("Alder", "Birch", "Cinder", "Dove", "Elder", "Fern", "Gray", "Hazel", "Iron", "Jade",
         "Kestrel", "Linden", "Moss", "North", "Oak", "Pine", "Quarry", "Rowan", "Stone", "Thorn")
KIND = ("brook", "cote", "dale", "field", "gate", "hill", "land", "mill", "ridge", "well",
        "bank", "ford", "grove", "haven", "moor", "side", "ton", "wick", "wood", "worth")
# fmt: on
START = datetime.date(2024, 1, 8)
SIZE = 96  # pixels

# code: name, unit, low, high, least and most that a living person has
CODES = {
    "4548-4": ("HbA1c", "%", 4.0, 5.6, 3.0, 20.0),
    "2345-7": ("glucose", "mg/dL", 70.0, 99.0, 20.0, 800.0),
    "2160-0": ("creatinine", "mg/dL", 0.6, 1.3, 0.1, 20.0),
    "13457-7": ("LDL cholesterol", "mg/dL", 0.0, 130.0, 10.0, 500.0),
}
# code, unit: the value in the usual unit is value * factor + offset
UNITS = {
    ("4548-4", "%"): (1.0, 0.0),
    ("4548-4", "mmol/mol"): (0.09148, 2.152),
    ("2345-7", "mg/dL"): (1.0, 0.0),
    ("2345-7", "mmol/L"): (18.016, 0.0),
    ("2160-0", "mg/dL"): (1.0, 0.0),
    ("2160-0", "umol/L"): (1 / 88.42, 0.0),
    ("13457-7", "mg/dL"): (1.0, 0.0),
    ("13457-7", "mmol/L"): (38.67, 0.0),
}
DECIMALS = {"%": 1, "mmol/mol": 0, "mg/dL": 1, "mmol/L": 2, "umol/L": 0}
CHOSEN = 7  # this one is in the cohort, and asks to be forgotten


@dataclass
class Seeded:
    """What was put in on purpose: what a good pipeline must find."""

    implausible: list[str] = field(default_factory=list)
    unknown_unit: list[str] = field(default_factory=list)
    spots: dict[str, int] = field(default_factory=dict)


@dataclass
class Patient:
    subject: str
    name: str
    number: str
    born: datetime.date
    sex: str
    diagnoses: list[str]
    consent: bool
    level: float
    rise: float
    pictures: int


def write(folder: Path, scale: float = 1.0, seed: int = 3) -> Seeded:
    """Write the study below `folder`, and say what was hidden in it."""
    chance = np.random.default_rng(seed)
    hidden = Seeded()
    _write_codes(folder / "codes")
    for number in range(1, max(20, int(50 * scale)) + 1):
        patient = _patient(chance, number)
        below = f"subject={patient.subject}"
        _put(folder / "patients" / below / "patient.json", _card(patient))
        _put(folder / "labs" / below / "labs.csv", _labs(chance, patient, hidden))
        for picture in range(1, patient.pictures + 1):
            _write_image(chance, folder / "images" / below, patient, picture, hidden)
    return hidden


def _patient(chance: np.random.Generator, number: int) -> Patient:
    chosen = number == CHOSEN
    diabetic = chosen or bool(chance.random() < 0.45)
    diagnoses = ["E11.9"] if diabetic else []
    diagnoses += [code for code in ("I10", "E78.5", "J44.9") if chance.random() < 0.3]
    return Patient(
        subject=f"S{number:04}",
        name=_name(number),
        number=f"MRN-{chance.integers(10**7, 10**8)}",
        born=datetime.date(1950, 1, 1) + datetime.timedelta(days=int(chance.integers(0, 14_000))),
        sex=str(chance.choice(["f", "m"])),
        diagnoses=diagnoses,
        consent=chosen or bool(chance.random() < 0.9),
        level=float(chance.normal(7.2, 0.8) if diabetic else chance.normal(5.2, 0.2)),
        rise=1.0 if chosen else float(chance.choice([-0.4, 0.5, 0.6, 1.0])) if diabetic else 0.0,
        pictures=2 if chosen else int(chance.choice([0, 0, 1, 2])),
    )


def _name(number: int) -> str:
    """8,000 names, none of them twice."""
    place = number * 7_919 % 8_000
    return f"{FIRST[place % 20]} {PLACE[place // 20 % 20]}{KIND[place // 400]}"


def _card(patient: Patient) -> str:
    card = {
        "name": patient.name, "mrn": patient.number, "born": str(patient.born), "sex": patient.sex,
        "diagnoses": patient.diagnoses, "consent": patient.consent,
    }  # fmt: skip
    return json.dumps(card) + "\n"


# Laboratory ---------------------------------------------------------------------------------


def _labs(chance: np.random.Generator, patient: Patient, hidden: Seeded) -> str:
    """A visit about every three months, each at one of two laboratories."""
    lines = ["sample,code,value,unit,taken"]
    day = START + datetime.timedelta(days=int(chance.integers(0, 60)))
    for visit in range(int(chance.integers(4, 9))):
        metric = bool(chance.random() < 0.4)
        years = (day - START).days / 365
        usual = {
            "4548-4": patient.level + patient.rise * years + chance.normal(0, 0.08),
            "2345-7": 28.7 * (patient.level + patient.rise * years) - 46.7 + chance.normal(0, 6),
            "2160-0": max(0.4, chance.normal(0.95, 0.15)),
            "13457-7": max(30.0, chance.normal(120, 25)),
        }
        for number, (code, value) in enumerate(usual.items()):
            units = [unit for known, unit in UNITS if known == code]
            unit = units[1] if metric else units[0]
            factor, offset = UNITS[code, unit]
            shown = (value - offset) / factor
            sample = f"{patient.subject}-L{visit:02}{number}"
            flaw = chance.random()
            if flaw < 0.006:  # the point slipped
                shown *= 1000
                hidden.implausible.append(sample)
            elif flaw < 0.009:
                unit = "g/l?"
                hidden.unknown_unit.append(sample)
            decimals = 1 if unit == "g/l?" else DECIMALS[unit]
            decimals = 2 if (code, unit) == ("2160-0", "mg/dL") else decimals
            lines.append(f"{sample},{code},{shown:.{decimals}f},{unit},{day}")
        day += datetime.timedelta(days=int(chance.integers(75, 110)))
    return "\n".join(lines) + "\n"


def _write_codes(folder: Path) -> None:
    codes = [",".join(map(str, (code, *about))) for code, about in CODES.items()]
    head = "code,name,unit,low,high,least,most"
    _put(folder / "codes" / "codes.csv", "\n".join([head, *codes]) + "\n")
    units = [f"{code},{unit},{f:.8f},{o}" for (code, unit), (f, o) in UNITS.items()]
    _put(folder / "units" / "units.csv", "\n".join(["code,unit,factor,offset", *units]) + "\n")


# Pictures -----------------------------------------------------------------------------------


def _write_image(
    chance: np.random.Generator, folder: Path, patient: Patient, number: int, hidden: Seeded
) -> None:
    name = f"{patient.subject}-{number}"
    chosen = patient.subject == f"S{CHOSEN:04}"
    spots = 2 if chosen else int(chance.choice([0, 0, 1, 2, 3]))
    hidden.spots[name] = spots
    pixels = _chest(chance, spots)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(_png(pixels))
    taken = START + datetime.timedelta(days=int(chance.integers(100, 600)))
    about = {
        "image": name, "modality": "DX", "body_part": "CHEST", "view": "PA", "taken": str(taken),
        "pixel_spacing_mm": float(chance.choice([2.5, 3.0, 3.5])), "rows": SIZE, "columns": SIZE,
    }  # fmt: skip
    _put(folder / f"{name}.json", json.dumps(about) + "\n")


def _chest(chance: np.random.Generator, spots: int) -> np.ndarray[Any, Any]:
    """Dark lungs, faint ribs across them, noise, and bright spots that do not touch."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(float)
    picture = np.full((SIZE, SIZE), 120.0) + 10 * np.cos((x - SIZE / 2) / 18)
    lungs = np.zeros((SIZE, SIZE))
    for centre in (0.3, 0.7):
        away = ((x - centre * SIZE) / (0.17 * SIZE)) ** 2 + ((y - 0.5 * SIZE) / (0.36 * SIZE)) ** 2
        lungs += 1 / (1 + np.exp(np.clip((away - 1) * 6, -50, 50)))
    picture -= 55 * lungs
    picture += 7 * lungs * np.sin(y / 3.2 + (x - SIZE / 2) ** 2 / 900)
    places = [(row, column) for row in (28, 46, 64) for column in (28, 68)]
    for k in chance.choice(len(places), spots, replace=False):
        row, column = (centre + chance.integers(-3, 4) for centre in places[int(k)])
        radius = chance.uniform(1.8, 2.8)
        picture += 110 * np.exp(-((x - column) ** 2 + (y - row) ** 2) / (2 * radius**2))
    picture += chance.normal(0, 3, picture.shape)
    drawn: np.ndarray[Any, Any] = np.clip(picture, 0, 255).astype(np.uint8)
    return drawn


def _png(pixels: np.ndarray[Any, Any]) -> bytes:
    """A grey picture of 8 bits as a PNG file."""
    height, width = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the data of a study. Nobody in it exists.")
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--scale", type=float, default=1.0, help="100 is 5,000 patients")
    parser.add_argument("--seed", type=int, default=3, help="another one gives other people")
    asked = parser.parse_args()
    hidden = write(asked.folder, asked.scale, asked.seed)
    patients = len(list((asked.folder / "patients").iterdir()))
    print(f"{patients} patients and {len(hidden.spots)} pictures in {asked.folder}")


if __name__ == "__main__":
    main()
