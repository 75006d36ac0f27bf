"""The log: a line for each request, in one shape, and no secrets."""

import base64
import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

import trunkline as tl
from tests.served import served
from trunkline.jobs.telling import telling
from trunkline.model.commits import RepoName
from trunkline.model.jobs import Counts, Job, JobState
from trunkline.model.shape import as_json
from trunkline.model.told import NOTHING, said
from trunkline.server.logs import Masks, configure


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Logging belongs to the process: put back what was there."""
    names = ("", "trunkline", "uvicorn", "uvicorn.error", "uvicorn.access")
    before = [
        (one, one.handlers[:], one.level, one.propagate) for one in map(logging.getLogger, names)
    ]
    yield
    for one, handlers, level, propagate in before:
        one.handlers[:] = handlers
        one.setLevel(level)
        one.propagate = propagate


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_request_is_a_line(tmp_path: Path) -> None:
    out = io.StringIO()
    configure("json", stream=out)
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        lake.create_repo("orders")
        http.get("/api/v1/repos/default/orders?x=1", headers={"X-Request-Id": "mine"})
        http.get("/healthz")
    (line,) = [one for one in lines(out) if one["event"] == "request"]
    assert line["method"] == "GET"
    assert line["path"] == "/api/v1/repos/default/orders"
    assert line["route"] == "/api/v1/repos/{project}/{repo}"
    assert (line["status"], line["request_id"]) == (200, "mine")
    assert line["who"] == lake.author
    assert line["level"] == "info"
    assert isinstance(line["ms"], float)
    assert isinstance(line["bytes"], int) and line["bytes"] > 10


def test_jobs_have_their_names_in_every_line() -> None:
    out = io.StringIO()
    configure("json", stream=out)
    job = Job(
        "ab" * 16, RepoName("default", "daily"), 1, "main", JobState.RUNNING, NOTHING, NOTHING, 0
    )
    with telling(job, "w1") as told:
        logging.getLogger("trunkline.worker").warning("something %s", "odd")
        told.ended(
            replace(
                job, state=JobState.FAILURE, told_reason=said("bad"), counts=Counts(processed=2)
            )
        )
    logging.getLogger("trunkline.worker").info("after")
    found = lines(out)
    assert [one["event"] for one in found] == ["job begins", "something odd", "job ended", "after"]
    assert all(one["job"] == job.id and one["pipeline"] == "daily" for one in found[:3])
    assert (found[2]["state"], found[2]["reason"]) == ("failure", "bad")
    assert "job" not in found[3]


def test_text_is_for_people() -> None:
    out = io.StringIO()
    configure("text", stream=out)
    logging.getLogger("trunkline.server").info("it runs", extra={"port": 1})
    logging.getLogger("uvicorn.error").info("theirs too")
    assert "it runs" in out.getvalue()
    assert "port" in out.getvalue()
    assert "theirs too" in out.getvalue()


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("got tl_abc123_S3cr3tS3cr3t here", "got tl_abc123_*** here"),
        ("Authorization: Bearer abcdef", "Authorization: ***"),
        ("{'authorization': 'Basic YWJj'}", "{'authorization': '***'}"),
        ("Cookie: session=abc", "Cookie: ***"),
        ("GET /x?token=abc&y=1", "GET /x?token=***&y=1"),
        ("http://s3/b/k?X-Amz-Signature=ff&X-Amz-Date=1", "http://s3/b/k?X-Amz-Signature=***&X-Amz-Date=1"),
        ("postgresql://me:pass@host/db", "postgresql://me:***@host/db"),
        ("nothing to hide: 1 = 1", "nothing to hide: 1 = 1"),
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_is_masked(said: str, left: str) -> None:
    assert Masks()(said) == left


CANARY = "C4n4ry/s3cret+value=42"


def forms(secret: str) -> list[bytes]:
    raw = secret.encode()
    found = [secret, quote(secret, safe=""), raw.hex(), raw.hex().upper()]
    found += [
        base64.b64encode(raw).decode().rstrip("="),
        base64.b64encode(b"u:" + raw).decode()[4:-4],
    ]
    return [one.encode() for one in found]


def test_a_canary_is_seen_nowhere(tmp_path: Path) -> None:
    """Secrets go in by every door; then everything that was written down is searched."""
    out = io.StringIO()
    with tl.init(tmp_path) as lake:
        configure("json", lake._folder, stream=out, level=logging.DEBUG)
        lake.create_user("root", "a long password 1", roles={"lake": "admin"})
        token = lake.create_token("for the test", owner="root").token
        with served(lake, authenticated=True) as url:
            keys = {"Authorization": f"Bearer {token}", "Idempotency-Key": "k"}
            with httpx2.Client(base_url=url, headers=keys) as http:
                answers: list[httpx2.Response] = []

                def send(method: str, path: str, **options: object) -> httpx2.Response:
                    head = {"Idempotency-Key": f"k{len(answers)}"}
                    answers.append(http.request(method, f"/api/v1{path}", headers=head, **options))  # type: ignore[arg-type]
                    return answers[-1]

                user = {"name": "ann", "password": CANARY}
                assert send("POST", "/users", json=user).status_code == 201
                assert send("POST", "/login", json=user).status_code < 300
                send("POST", "/login", json={"name": "bob", "password": CANARY})
                assert send("PUT", "/secrets/warehouse", json={"value": CANARY}).status_code == 204
                send("PUT", "/secrets/bad name", json={"value": CANARY})
                send("PUT", "/secrets/other", json={"value": CANARY, "more": [CANARY]})
                send("GET", f"/repos?token={quote(CANARY)}")
                send("GET", f"/repos/default/x?access_token={quote(CANARY)}")
                made = send("POST", "/tokens", json={"note": "n", "owner": "root"})
                secret = made.json()["token"].split("_", 2)[2]
                http.get("/api/v1/repos", headers={"Authorization": f"Bearer {CANARY}"})
                http.get("/api/v1/repos", headers={"Cookie": f"session={quote(CANARY)}"})
                logging.getLogger("trunkline.jobs").error("it said %s", CANARY)
                logging.getLogger("trunkline.jobs").error("it said %s", quote(CANARY, safe=""))
                try:
                    raise ValueError(CANARY)
                except ValueError:
                    logging.getLogger("trunkline.jobs").exception("a bug with %r", made.json())
                told = send("GET", "/events/history").content
                shown = b"".join(one.content for one in answers if one is not made)
                audit = json.dumps([as_json(one) for one in lake.audit()]).encode()
        kept = b"".join(one.read_bytes() for one in lake._folder.glob("*.db*"))
        kept += b"".join(one.read_bytes() for one in lake._folder.glob("catalog*"))
    assert kept
    places = {"log": out.getvalue().encode(), "events": told, "audit": audit, "catalog": kept}
    places["answers"] = shown
    for where, text in places.items():
        for form in (*forms(CANARY), *forms(secret)):
            assert form not in text, (where, form)
