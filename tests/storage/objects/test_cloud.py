"""A bucket that fails: retried, then said in one line, never with a secret in it."""

import os
import time
from pathlib import Path

import pytest

from tests.s3 import ACCESS_KEY, SECRET_KEY, FaultyProxy, S3Server, options_for
from trunkline import errors
from trunkline.storage.objects import ObjectStore, open_store
from trunkline.storage.objects.aws_profile import profile_options


@pytest.fixture
def proxy(s3: S3Server):
    with FaultyProxy(s3.endpoint) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: FaultyProxy, bucket: str) -> ObjectStore:
    return open_store(bucket, options_for(proxy.endpoint, max_retries="3", timeout="2s"))


def test_503s_are_retried(proxy: FaultyProxy, through: ObjectStore):
    proxy.fail(2)
    through.put("a", b"x")
    proxy.fail(2)
    assert through.get("a") == b"x"
    proxy.fail(2)
    assert len(list(through.list())) == 1
    proxy.fail(2)
    through.delete(["a"])


def test_cut_connections_are_retried(proxy: FaultyProxy, through: ObjectStore):
    proxy.cut(2)
    through.put("a", b"x")
    proxy.cut(2)
    assert through.get("a") == b"x"


def test_parts_are_retried(proxy: FaultyProxy, through: ObjectStore):
    data = os.urandom(20 << 20)
    with through.writer("big") as writer:
        writer.write(data[: 9 << 20])
        proxy.fail(2)
        writer.write(data[9 << 20 :])
    proxy.fail(1)
    assert b"".join(through.stream("big")) == data


@pytest.mark.slow
def test_a_store_that_stays_down_is_unavailable(proxy: FaultyProxy, through: ObjectStore):
    through.put("a", b"x")
    for call in (
        lambda: through.put("b", b"x"),
        lambda: through.put("b", bytes(20 << 20)),
        lambda: through.get("a"),
        lambda: list(through.list()),
        lambda: through.delete(["a"]),
    ):
        proxy.fail(1000)
        with pytest.raises(errors.Unavailable) as caught:
            call()
        _is_one_safe_line(caught.value)
    proxy.fail(0)
    assert [info.key for info in through.list()] == ["a"]


def test_a_slow_store_times_out(proxy: FaultyProxy, bucket: str):
    store = open_store(bucket, options_for(proxy.endpoint, max_retries="1", timeout="200ms"))
    proxy.delay(1)
    with pytest.raises(errors.Unavailable) as caught:
        store.get("a")
    _is_one_safe_line(caught.value)


def test_nobody_there(bucket: str):
    store = open_store(bucket, options_for("http://127.0.0.1:9", max_retries="1"))
    with pytest.raises(errors.Unavailable) as caught:
        store.check()
    _is_one_safe_line(caught.value)


def test_no_such_bucket(s3: S3Server):
    store = open_store("s3://no-such-bucket", s3.options)
    for call in (lambda: store.put("a", b""), lambda: store.get("a"), lambda: list(store.list())):
        with pytest.raises(errors.NotFound, match="no bucket") as caught:
            call()
        _is_one_safe_line(caught.value)


def test_refused_credentials(bucket: str):
    body = f"<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>{ACCESS_KEY}</AWSAccessKeyId>"
    with _Refusing(403, body) as endpoint:
        store = open_store(bucket, options_for(endpoint))
        for call in (lambda: store.put("a", b""), lambda: store.get("a")):
            with pytest.raises(errors.NotAllowed, match="InvalidAccessKeyId") as caught:
                call()
            _is_one_safe_line(caught.value)
            assert ACCESS_KEY not in str(caught.value)


def test_an_aborted_upload_is_removed(s3: S3Server, bucket: str):
    store = open_store(bucket, s3.options)
    with pytest.raises(RuntimeError), store.writer("a") as writer:
        writer.write(bytes(20 << 20))
        deadline = time.monotonic() + 60
        while not s3.unfinished_uploads(bucket[5:]) and time.monotonic() < deadline:
            time.sleep(0.01)
        raise RuntimeError
    assert s3.unfinished_uploads(bucket[5:]) == 0


def test_bad_options_are_named_without_their_values():
    with pytest.raises(errors.Usage, match="secret_acess_key") as caught:
        open_store("s3://bucket", {"secret_acess_key": SECRET_KEY})
    _is_one_safe_line(caught.value)
    with pytest.raises(errors.Usage) as caught:
        open_store(f"s3://{ACCESS_KEY}:{SECRET_KEY}@bucket")
    _is_one_safe_line(caught.value)


def test_credentials_from_a_profile(tmp_path: Path):
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = D\n"
        "[work]\naws_access_key_id = K\naws_secret_access_key = S\n"
    )
    (tmp_path / "config").write_text(
        "[profile work]\nregion = eu-west-1\nendpoint_url = http://x\n"
    )
    env = {
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
    }
    assert profile_options(env) == {"access_key_id": "D"}
    work = env | {"AWS_PROFILE": "work"}
    keys = {"access_key_id": "K", "secret_access_key": "S"}
    assert profile_options(work) == keys | {"region": "eu-west-1", "endpoint": "http://x"}
    named = work | {"AWS_ACCESS_KEY_ID": "E", "AWS_REGION": "us-east-2"}
    assert profile_options(named) == {"endpoint": "http://x"}
    nowhere = dict.fromkeys(env, str(tmp_path / "nowhere"))
    assert profile_options(nowhere) == {}


def test_the_environment_gives_what_options_leave_open(
    s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    open_store(bucket).check()


class _Refusing:
    """An HTTP server that gives one answer to everything."""

    def __init__(self, status: int, body: str) -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            do_PUT = do_GET

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        import threading

        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _is_one_safe_line(error: errors.TrunklineError) -> None:
    assert "\n" not in str(error)
    assert SECRET_KEY not in str(error) + error.hint
