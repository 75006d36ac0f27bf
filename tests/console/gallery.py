"""A file of every kind that the console shows, among them such as mean harm."""

from __future__ import annotations

import base64
import io
import json
import struct
import wave
import zlib

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from trunkline.sdk.remote.lake import RemoteLake

HOSTILE_NAME = "<img src=x onerror=alert(1)>.txt"
HOSTILE_TEXT = "<script>alert(document.domain)</script>\n"
# Three frames of 16 by 16 dots.
_WEBM = (
    "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQRChYECGFOAZwEAAAAAAAH2EU2bdLlNu4tTq4QVSalmU6yB"
    "bk27i1OrhBZUrmtTrIGTTbuLU6uEH0O2dVOsgdRNu4xTq4QcU7trU6yCAeTsrgAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVSalmoCrXsYMPQkBEiYRDbWUfTYCGQ2hyb21lV0GGQ2hyb21lFlSu"
    "a7yuuteBAXPFh3MdDZzgSXGDgQFV7oEBhoVWX1ZQOOCdsIEQuoEQU8CBAVWwkFWxgQFVuYECVbqBDVW7gQEfQ7Z1"
    "AQAAAAAAAQTngQCg46G5gQAAAHACAJ0BKhAAEAAAxwiFhYiZhIgFAgJ1qgIMvgSA/v7A6//5cf/+XH//lx//y4/+"
    "N5vNasQAdaGlpqPugQGlnhACAJ0BKhAAEAAEhwiFhYiZhIgYAgAMDWAA/valAKDNoa2BAHQA8QEAAxBAABgHSAgz"
    "//MNAQgA/vquD/8guWF1yNf/aln7Us/aln/aYgB1oZimlu6BAaWRsQEAEhDwABgAGFgv9AAIAAD7gQCgy6GrgQDt"
    "ALEBAAMQQAAYADA/9AwA7wD+/Y4l/+1LP2pZ+1LP+1LPmzNsw23CgHWhmKaW7oEBpZGxAQASEQwAGAAYWC/0AAgA"
    "APuBdBxTu2uNu4uzgQC3hveBAfGB1A=="
)


def png(size: int = 32) -> bytes:
    """A square that goes from dark to light."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    line = bytes(255 * n // size for n in range(size))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress((b"\0" + line) * size))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")


def wav() -> bytes:
    """A tenth of a second of silence."""
    kept = io.BytesIO()
    with wave.open(kept, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 800)
    return kept.getvalue()


def notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "source": ["# Sales\n", HOSTILE_TEXT]},
        {
            "cell_type": "code",
            "execution_count": 7,
            "source": ["print(6 * 7)"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["forty-two\n"]},
                {
                    "output_type": "display_data",
                    "data": {"text/html": [HOSTILE_TEXT], "text/plain": ["a plain table"]},
                },
                {"output_type": "error", "ename": "Oops", "evalue": "it broke", "traceback": []},
            ],
        },
    ]
    return json.dumps({"cells": cells, "nbformat": 4}).encode()


def files() -> dict[str, bytes]:
    table = pa.table({"id": list(range(500)), "name": [f"row {n}" for n in range(500)]})
    parquet, orced = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    orc.write_table(table, orced)
    return {
        "/picture.png": png(),
        "/drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
        b'<script>alert(1)</script><rect width="40" height="20" fill="teal"/></svg>',
        "/sound.wav": wav(),
        "/film.webm": base64.b64decode("".join(_WEBM)),
        "/rows.csv": b"id,amount\n" + b"".join(b"%d,%d.50\n" % (n, n) for n in range(1, 701)),
        "/rows.parquet": parquet.getvalue(),
        "/rows.orc": orced.getvalue(),
        "/lines.jsonl": b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n',
        "/settings.json": b'{"deep":{"answer":42}}',
        "/sales.ipynb": notebook(),
        "/code/job.py": b"def main():\n    return 42\n",
        "/noise.bin": bytes(range(256)) * 4,
        "/long.txt": b"0123456789abcde\n" * 40_000,
        "/none.txt": b"",
        "/no_ending": b"plain words\n",
        f"/{HOSTILE_NAME}": HOSTILE_TEXT.encode(),
    }


def put(lake: RemoteLake, ref: str, name: str, message: str) -> None:
    """A commit with one file that holds its own name."""
    with lake.commit(ref, message=message) as commit:
        commit.put(f"/{name}", name.encode())


def make_gallery(lake: RemoteLake, repo: str = "gallery") -> None:
    lake.create_repo(repo, "One file of every kind")
    with lake.commit(f"{repo}@main", message="All kinds") as commit:
        for path, data in files().items():
            commit.put(path, data)


def make_branches(lake: RemoteLake, repo: str = "branched") -> None:
    """A branch beside main, merged, and a tag."""
    lake.create_repo(repo)
    put(lake, f"{repo}@main", "a.txt", "First on main")
    lake.create_branch(f"{repo}@side")
    put(lake, f"{repo}@side", "b.txt", "On the side")
    put(lake, f"{repo}@main", "c.txt", "Second on main")
    lake.merge(f"{repo}@side", f"{repo}@main", message="Both together")
    lake.create_tag(f"{repo}@v1", "main~1", message="Before the merge")
