"""The console's files, and the page that says that there are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.served import served
from trunkline.server import console


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with tl.init(tmp_path / "lake") as lake, served(lake, authenticated=True) as url:
        yield url


def test_without_a_console_a_page_says_so(url, tmp_path, monkeypatch):
    monkeypatch.setattr(console, "FOLDER", tmp_path / "none")
    answer = httpx2.get(url, trust_env=False)
    assert answer.status_code == 200
    assert "not part of this installation" in answer.text
    assert "script-src" in answer.headers["content-security-policy"] or (
        "default-src 'self'" in answer.headers["content-security-policy"]
    )
    assert (
        httpx2.get(f"{url}/assets/app.js", trust_env=False).json()["error"]["code"] == "not_found"
    )


def test_built_files_are_served_and_nothing_beside_them(url, tmp_path, monkeypatch):
    (tmp_path / "console/assets").mkdir(parents=True)
    (tmp_path / "console/index.html").write_text("<!doctype html><title>console</title>")
    (tmp_path / "console/assets/app-1.js").write_text("let a = 1")
    (tmp_path / "secret").write_text("canary")
    monkeypatch.setattr(console, "FOLDER", tmp_path / "console")
    assert "console" in httpx2.get(url, trust_env=False).text
    script = httpx2.get(f"{url}/assets/app-1.js", trust_env=False)
    assert "javascript" in script.headers["content-type"]
    assert "immutable" in script.headers["cache-control"]
    for name in ("%2e%2e", "..%2fsecret", "%2e%2e%2f%2e%2e%2fsecret", "....//secret", "."):
        answer = httpx2.get(f"{url}/assets/{name}", trust_env=False)
        assert answer.status_code in (404, 405), name
        assert "canary" not in answer.text
