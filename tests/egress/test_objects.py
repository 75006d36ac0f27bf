"""A bucket as a target: mirrors, versions, and a bucket that is away for a while."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.egress.worlds import DONE, FAILED, World
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, FaultyProxy, S3Server
from trunkline.storage.objects.open import open_foreign

SECRETS = {"key": ACCESS_KEY, "hush": SECRET_KEY}


class Bucket:
    def __init__(self, server: S3Server) -> None:
        self.url = f"{server.create_bucket(uuid4().hex)}/some/dir"
        self.server = server
        self.store = open_foreign(self.url, server.options)

    def target(self, endpoint: str = "", **fields: Any) -> dict[str, Any]:
        options = {"endpoint": endpoint or self.server.endpoint, "region": REGION}
        secrets = {"access_key_id": "key", "secret_access_key": "hush"}
        body = {"url": self.url, "options": options, "secrets": secrets, **fields}
        return {"objects": body, "backoff": "1ms"}

    def there(self) -> dict[str, str]:
        keys = sorted(info.key for info in self.store.list())
        return {key: self.store.get(key).decode() for key in keys if key[0] != "."}


@pytest.fixture
def bucket(s3: S3Server) -> Bucket:
    return Bucket(s3)


def test_a_mirror_becomes_the_newest_version(world: World, bucket: Bucket):
    world.send(world.commit(a="1", dir__b="2", dir__c="3"), bucket.target(), secrets=SECRETS)
    assert bucket.there() == {"a": "1", "dir/b": "2", "dir/c": "3"}
    bucket.store.put("mine", b"kept")
    done = world.send(world.commit(dir__b="two", dir__c=None), bucket.target(), secrets=SECRETS)
    assert bucket.there() == {"a": "1", "dir/b": "two", "mine": "kept"}
    assert (done.receipt["sent"], done.receipt["removed"]) == (1, 1)
    assert done.receipt["note"] == (f"2 files in {bucket.url}, 1 of them new or changed, 1 removed")


def test_what_was_there_before_is_not_replaced(world: World, bucket: Bucket):
    bucket.store.put("a", b"precious")
    done = world.send(world.commit(a="1", b="2"), bucket.target(), secrets=SECRETS)
    assert done.state is FAILED
    assert bucket.there() == {"a": "precious"}


def test_a_strangers_latest_is_not_replaced(world: World, bucket: Bucket):
    bucket.store.put("latest.json", b"precious")
    done = world.send(world.commit(a="1"), bucket.target(mode="versions"), secrets=SECRETS)
    assert done.state is FAILED
    assert bucket.there() == {"latest.json": "precious"}


def test_versions_and_the_newest(world: World, bucket: Bucket):
    made = [world.commit(a=str(n), dir__b="b") for n in range(3)]
    for commit in made:
        world.send(commit, bucket.target(mode="versions", keep=2), secrets=SECRETS)
        latest = json.loads(bucket.there()["latest.json"])
        assert latest["commit"] == commit
        assert latest["folder"] == f"{bucket.url}/{commit}/"
        assert [one["path"] for one in latest["files"]] == ["a", "dir/b"]
    assert bucket.there().keys() == {
        *(f"{commit}/{name}" for commit in made[1:] for name in ("a", "dir/b")),
        "latest.json",
    }


def test_a_bucket_that_is_away_for_a_while(world: World, bucket: Bucket):
    with FaultyProxy(bucket.server.endpoint) as proxy:
        target = bucket.target(proxy.endpoint)
        target["objects"]["options"] |= {"max_retries": "0"}
        proxy.fail(2)
        done = world.send(world.commit(a="1"), target, secrets=SECRETS)
    assert (done.state, done.attempt) == (DONE, 3)
    assert bucket.there() == {"a": "1"}


def test_a_bucket_that_is_not_there(world: World, bucket: Bucket):
    target = bucket.target(url="s3://nothing-here/a")
    done = world.send(world.commit(a="1"), target, secrets=SECRETS)
    assert (done.state, done.attempt) == (FAILED, 1)
    assert "There is no bucket at s3://nothing-here/a." in done.reason
    assert SECRET_KEY not in done.reason
