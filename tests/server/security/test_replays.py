"""What was good once is not good again, and not for others."""

from __future__ import annotations

import json

import httpx2

from tests.server.security.world import PASSWORD, World
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import BUNDLE
from trunkline.server.app import create_app
from trunkline.server.service import Service

KEY = {"Idempotency-Key": "the-same-key"}


def test_a_key_is_its_senders_alone(world: World):
    body = {"name": "replayed"}
    path = "/api/v1/projects/shop/repos"
    with world.client("keeper") as first, world.client("boss") as second:
        assert first.post(path, json=body, headers=KEY).status_code == 201
        again = first.post(path, json=body, headers=KEY)
        assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
        other = second.post(path, json=body, headers=KEY)
        assert other.status_code == 409
        assert "idempotency-replayed" not in other.headers
    with world.client("reader") as reader, world.client() as nobody:
        assert reader.post(path, json=body, headers=KEY).status_code == 403
        assert nobody.post(path, json=body, headers=KEY).status_code == 401


def test_a_key_answers_nobody_whose_token_has_ended(world: World):
    token = world.lake.create_token(owner="keeper")
    headers = {"Authorization": f"Bearer {token.token}", "Idempotency-Key": "ended"}
    with httpx2.Client(base_url=world.api, headers=headers) as client:
        assert client.post("projects/shop/repos", json={"name": "once"}).status_code == 201
        world.lake.revoke_token(token.info.id)
        assert client.post("projects/shop/repos", json={"name": "once"}).status_code == 401


def test_a_session_ends_with_its_logout_and_with_a_new_password(world: World):
    world.lake.create_user("visitor", PASSWORD, roles={"shop": "reader"})
    ours = {"Origin": world.url}
    body = {"name": "visitor", "password": PASSWORD}
    with httpx2.Client(base_url=world.api, headers=ours) as browser:
        cookies = []
        for _ in range(2):
            answer = browser.post("login", json=body)
            cookies.append(answer.headers["set-cookie"].partition(";")[0])
            browser.cookies.clear()
        first, second = ({"Cookie": one} for one in cookies)
        assert browser.get("whoami", headers=first).status_code == 200
        assert browser.post("logout", headers=first).status_code == 204
        assert browser.get("whoami", headers=first).status_code == 401
        assert browser.get("whoami", headers=second).status_code == 200
        world.lake.set_password("visitor", PASSWORD + "2")
        assert browser.get("whoami", headers=second).status_code == 401


def test_receipts_are_good_in_their_transaction_alone(world: World):
    with world.client("keeper") as client, world.client("boss") as other:
        one, two = (client.post("/api/v1/transactions", json={}).json()["id"] for _ in range(2))
        sent = client.post(
            f"/api/v1/transactions/{one}/bundle",
            content=encode_header([["/x", 1]]) + b"x",
            headers={"Content-Type": BUNDLE},
        )
        (receipt,) = sent.json()["receipts"]

        def commit(who: httpx2.Client, txn: str, given: str) -> httpx2.Response:
            put = {"kind": "put", "receipts": [given]}
            made = {"kind": "commit", "ref": "shop/orders@main", "operations": [put]}
            return who.post(f"/api/v1/transactions/{txn}/commit", json={"operations": [made]})

        before = world.state()
        changed = receipt.replace("/x", "/y")
        for who, txn, given in (
            (client, two, receipt),
            (client, one, changed),
            (client, one, receipt[1:]),
            (client, one, json.dumps(receipt)),
            (other, one, receipt),
        ):
            assert 400 <= commit(who, txn, given).status_code < 504
        assert world.state() == before
        done = commit(client, one, receipt)
        assert done.status_code == 200, done.text
        # The same again is the same answer and no second commit, also for another who may write
        # there; who may not is told nothing.
        after = world.state()
        for who in (client, other):
            assert commit(who, one, receipt).json() == done.json()
        assert world.state() == after
        with world.client("reader") as reader, world.client("stranger") as stranger:
            assert commit(reader, one, receipt).status_code == 403
            assert commit(stranger, one, receipt).status_code in (403, 404)


def test_no_route_takes_an_address_to_fetch(world: World):
    """What is put from an address is fetched by the client; the server's own are its operator's."""
    app = create_app(Service(world.lake, world.lake._settings, authenticated=True))
    document = app.openapi()
    names = {
        name
        for schema in document["components"]["schemas"].values()
        for name in schema.get("properties", {})
    }
    names |= {
        one["name"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for one in operation.get("parameters", ())
    }
    assert names.isdisjoint(("url", "uri", "href", "endpoint", "callback", "webhook"))
    with world.client("root") as client:
        body = encode_header([], copies=[["http://127.0.0.1:1/x", "/y"]])
        answer = client.post(
            "/api/v1/repos/shop/orders/commits", content=body, headers={"Content-Type": BUNDLE}
        )
        assert answer.status_code in (400, 404), answer.text
        for text in (
            "SELECT * FROM 'http://127.0.0.1:1/x.csv'",
            "SELECT * FROM read_csv('s3://b/x')",
        ):
            answer = client.post("/api/v1/sql", json={"text": text})
            assert answer.status_code >= 400 or answer.json()["state"] == "failed", answer.text
