"""What can be measured in one picture: run for each, with nothing but Python.

python3 features.py IMAGE.png IMAGE.json OUT.json
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from pathlib import Path

AROUND = 9  # pixels: the neighbourhood that a pixel is compared with
BRIGHTER = 40  # than its neighbourhood, so that it is part of a spot
SMALLEST = 4  # pixels of a spot
STEEP = 14  # a difference that is an edge
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def measure(width: int, height: int, pixels: bytes) -> dict[str, float | int]:
    mean = sum(pixels) / len(pixels)
    contrast = (sum((one - mean) ** 2 for one in pixels) / len(pixels)) ** 0.5
    edges = sum(
        abs(pixels[y * width + x + 1] - pixels[y * width + x - 1]) > STEEP
        for y in range(height)
        for x in range(1, width - 1)
    )
    sizes = spots(width, height, pixels)
    return {
        "mean": round(mean, 2),
        "contrast": round(contrast, 2),
        "edge_density": round(edges / len(pixels), 4),
        "spots": len(sizes),
        "largest_px": max(sizes, default=0),
    }


def spots(width: int, height: int, pixels: bytes) -> list[int]:
    """The sizes of groups of pixels that are brighter than what is around them."""
    total = _sums(width, height, pixels)
    bright = set()
    for y in range(height):
        top, bottom = max(0, y - AROUND), min(height, y + AROUND + 1)
        for x in range(width):
            left, right = max(0, x - AROUND), min(width, x + AROUND + 1)
            inside = (
                total[bottom][right] - total[top][right] - total[bottom][left] + total[top][left]
            )
            if pixels[y * width + x] - inside / ((bottom - top) * (right - left)) > BRIGHTER:
                bright.add((x, y))
    found = []
    while bright:
        group, size = [bright.pop()], 0
        while group:
            x, y = group.pop()
            size += 1
            for beside in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if beside in bright:
                    bright.remove(beside)
                    group.append(beside)
        found.append(size)
    return [size for size in found if size >= SMALLEST]


def _sums(width: int, height: int, pixels: bytes) -> list[list[int]]:
    """Sums of all pixels above and to the left, so that any rectangle is four look-ups."""
    total = [[0] * (width + 1)]
    for y in range(height):
        row, line = 0, [0]
        for x in range(width):
            row += pixels[y * width + x]
            line.append(total[-1][x + 1] + row)
        total.append(line)
    return total


# PNG files ----------------------------------------------------------------------------------


def read_png(data: bytes) -> tuple[int, int, bytes]:
    """Width, height and pixels of a grey picture of 8 bits, whoever wrote it."""
    if data[:8] != SIGNATURE:
        raise ValueError("this is no PNG file")
    at, packed, width, height = 8, b"", 0, 0
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        if zlib.crc32(kind + body) != struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0]:
            raise ValueError(f"the {kind.decode()} part of the file is damaged")
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            if (depth, colour, interlaced) != (8, 0, 0):
                raise ValueError("only grey pictures of 8 bits, not interlaced, can be read")
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    return width, height, _unfiltered(zlib.decompress(packed), width, height)


def _unfiltered(lines: bytes, width: int, height: int) -> bytes:
    """Each row says how its bytes were predicted from those to the left and above."""
    above, found = bytes(width), bytearray()
    for y in range(height):
        kind, row = (
            lines[y * (width + 1)],
            bytearray(lines[y * (width + 1) + 1 : (y + 1) * (width + 1)]),
        )
        for x in range(width if kind else 0):
            left, up = row[x - 1] if x else 0, above[x]
            corner = above[x - 1] if x else 0
            guess = (0, left, up, (left + up) // 2, _nearest(left, up, corner))[kind]
            row[x] = (row[x] + guess) % 256
        found += row
        above = bytes(row)
    return bytes(found)


def _nearest(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))


def main() -> None:
    image, about, out = map(Path, sys.argv[1:])
    known = json.loads(about.read_text())
    found = measure(*read_png(image.read_bytes()))
    area = round(found.pop("largest_px") * known["pixel_spacing_mm"] ** 2, 1)
    row = {"image": known["image"], "taken": known["taken"], **found, "largest_mm2": area}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
