"""ETags: what a client has is not sent again."""

from pathlib import Path

import httpx2

import trunkline as tl
from tests.served import served
from trunkline.server.etags import LARGEST


def test_an_answer_that_is_known_is_not_sent_again(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        lake.create_repo("orders")
        first = http.get("/api/v1/repos")
        tag = first.headers["ETag"]
        assert first.headers["Cache-Control"] == "private, no-cache"
        again = http.get("/api/v1/repos", headers={"If-None-Match": f'"other", W/{tag}'})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == tag
        assert "content-length" not in again.headers
        lake.create_repo("customers")
        changed = http.get("/api/v1/repos", headers={"If-None-Match": tag})
        assert changed.status_code == 200
        assert changed.headers["ETag"] != tag


def test_errors_and_changes_have_no_tag(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        assert "ETag" not in http.get("/api/v1/repos/default/none").headers
        made = http.post("/api/v1/projects/default/repos", json={"name": "orders"})
        assert made.status_code == 201
        assert "ETag" not in made.headers


def test_long_answers_pass(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        for n in range(20):
            lake.create_repo(f"r{n}", "x" * (LARGEST // 10))
        answer = http.get("/api/v1/repos")
        assert len(answer.content) > LARGEST
        assert "ETag" not in answer.headers
