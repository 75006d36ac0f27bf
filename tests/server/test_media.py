"""Files as a browser's own elements take them: pictures, sounds and films, whole and in parts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

import trunkline as tl
from tests.served import served

DATA = bytes(range(256)) * 4
KINDS = {
    "a.png": "image/png",
    "a.JPG": "image/jpeg",
    "a.gif": "image/gif",
    "a.webp": "image/webp",
    "a.avif": "image/avif",
    "a.mp3": "audio/mpeg",
    "a.wav": "audio/wav",
    "a.ogg": "audio/ogg",
    "a.flac": "audio/flac",
    "a.mp4": "video/mp4",
    "a.webm": "video/webm",
    "a.mov": "video/quicktime",
}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with tl.init(tmp_path_factory.mktemp("lake")) as lake:
        lake.create_repo("media")
        with lake.commit("media@main") as commit:
            for name in KINDS:
                commit.put(f"/{name}", DATA)
        with served(lake) as url:
            base = f"{url}/api/v1/repos/default/media/"
            with httpx2.Client(base_url=base, trust_env=False, verify=False) as client:
                yield client


@pytest.mark.parametrize("name", KINDS)
def test_each_is_told_to_be_what_it_is_and_can_be_wound(http: httpx2.Client, name: str):
    whole = http.get("content", params={"path": f"/{name}"})
    assert (whole.status_code, whole.content) == (200, DATA)
    assert whole.headers["content-type"] == KINDS[name]
    assert whole.headers["accept-ranges"] == "bytes"
    # As <video> begins, winds on, and asks for the end.
    for asked, part in (("0-", DATA), ("100-199", DATA[100:200]), ("-10", DATA[-10:])):
        found = http.get(
            "content", params={"path": f"/{name}"}, headers={"Range": f"bytes={asked}"}
        )
        assert (found.status_code, found.content) == (206, part)
        assert found.headers["content-type"] == KINDS[name]
        assert found.headers["content-range"].endswith(f"/{len(DATA)}")
    beyond = http.get("content", params={"path": f"/{name}"}, headers={"Range": "bytes=9999-"})
    assert beyond.status_code == 416
