from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.waiting import until
from trunkline.errors import (
    NotAllowed,
    NotFound,
    PrivateAddress,
    SourceUnreadable,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.ingests.addresses import is_public
from trunkline.ingests.urls import UrlPolicy, open_url

BODY = bytes(range(256)) * 5000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        type(self).seen.append(dict(self.headers) | {"path": self.path})
        name = self.path.partition("?")[0].strip("/").partition("/")[0]
        getattr(self, f"serve_{name}", self.serve_missing)()

    def serve_file(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def serve_chunked(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

    def serve_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(bytes(10_000))

    def serve_cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"short")
        self.close_connection = True

    def serve_drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "6000")
        self.end_headers()
        self.drip(b".")

    def serve_dripheader(self) -> None:
        self.drip(b"H")

    def drip(self, one: bytes) -> None:
        """For ten minutes, or until the other side has gone."""
        for _ in range(6000):
            self.wfile.write(one)
            time.sleep(0.1)
        type(self).seen.append({"path": "waited for"})

    def serve_to(self) -> None:
        self.send_response(302)
        self.send_header("Location", self.path.partition("?")[2])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def serve_loop(self) -> None:
        self.send_response(307)
        self.send_header("Location", "/loop")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def serve_status(self) -> None:
        self.send_response(int(self.path.partition("?")[2]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def serve_missing(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


Serve = Callable[..., tuple[int, list[dict[str, str]]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ThreadingHTTPServer] = []

    def start(tls: ssl.SSLContext | None = None) -> tuple[int, list[dict[str, str]]]:
        handler = type("OneHandler", (Handler,), {"seen": []})
        server = Server(("127.0.0.1", 0), handler)
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server.server_address[1], handler.seen  # type: ignore[attr-defined]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


OPEN = UrlPolicy(allow_private=True, allow_http=True, timeout=120)


def fetch(url: str, policy: UrlPolicy = OPEN) -> bytes:
    return b"".join(open_url(url, policy).chunks)


def test_a_file_with_its_name_and_size(serve: Serve) -> None:
    port, seen = serve()
    found = open_url(f"http://127.0.0.1:{port}/file/caf%C3%A9.csv?v=1#x", OPEN)
    assert (found.name, found.size) == ("café.csv", len(BODY))
    assert b"".join(found.chunks) == BODY
    assert seen[0]["path"] == "/file/caf%C3%A9.csv?v=1"
    assert not {"Authorization", "Cookie"} & set(seen[0])


def test_size_may_be_unknown(serve: Serve) -> None:
    port, _ = serve()
    found = open_url(f"http://127.0.0.1:{port}/chunked", OPEN)
    assert found.size is None
    assert b"".join(found.chunks) == b"abcde"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/file/", "file"),
        ("/file/%2e%2e", "download"),
        ("/file/a%0ab", "download"),
        ("/to?/file/other", "to"),
    ],
)
def test_names_are_safe(serve: Serve, path: str, name: str) -> None:
    port, _ = serve()
    assert open_url(f"http://127.0.0.1:{port}{path}", OPEN).name == name


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("file:///etc/passwd", Usage),
        ("ftp://example.com/x", Usage),
        ("gopher://example.com/x", Usage),
        ("https:///x", Usage),
        ("https://", Usage),
        ("https://user:secret@example.com/", Usage),
        ("https://exa mple.com/", Usage),
        ("https://example.com/\r\nHost: x", Usage),
        ("https://example.com:99999/", Usage),
        ("https://[::1/", Usage),
        ("http://example.com/", NotAllowed),
        ("https://" + "a" * 300 + "/", Usage),
        ("https://127.0.0.1/", PrivateAddress),
        ("https://127.1/", PrivateAddress),
        ("https://2130706433/", PrivateAddress),
        ("https://0x7f.0.0.1/", PrivateAddress),
        ("https://localhost/", PrivateAddress),
        ("https://[::1]/", PrivateAddress),
        ("https://[::ffff:127.0.0.1]/", PrivateAddress),
        ("https://169.254.169.254/latest/meta-data", PrivateAddress),
    ],
)
def test_bad_urls(url: str, error: type[TrunklineError]) -> None:
    with pytest.raises(error) as caught:
        open_url(url)
    assert caught.value.message.isprintable()
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.0.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
        "192.168.1.1", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1",
        "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.88.99.1",
        "::", "::1", "::7f00:1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
        "64:ff9b::8.8.8.8", "64:ff9b:1::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1",
        "fec0::1", "ff02::1", "2001:db8::1", "2002:7f00:1::", "2001:0:1::1", "100::1", "nonsense",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "100.63.0.1", "::ffff:8.8.8.8", "2606:4700::1111"]
)
def test_addresses_that_are(address: str) -> None:
    assert is_public(address)


def test_one_private_address_among_public_ones_is_refused() -> None:
    policy = UrlPolicy(resolver=lambda host, port: ["8.8.8.8", "10.0.0.1"])
    with pytest.raises(PrivateAddress, match=r"10\.0\.0\.1"):
        open_url("https://example.com/", policy)


def test_a_name_is_resolved_once_and_that_address_is_used(serve: Serve) -> None:
    port, seen = serve()
    answers = iter([["127.0.0.1"], ["192.0.2.1"]])
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    policy = UrlPolicy(allow_http=True, allow_private=True, resolver=resolver)
    assert fetch(f"http://rebind.test:{port}/file", policy) == BODY
    assert asked == ["rebind.test"]
    assert seen[0]["Host"] == f"rebind.test:{port}"


def test_rebinding_between_hops_is_caught(serve: Serve) -> None:
    """The first answer is trusted by name; the redirect's host then turns out private."""
    port, _ = serve()
    policy = UrlPolicy(
        allow_http=True,
        trusted_hosts=frozenset({"front.test"}),
        resolver=lambda host, port: ["127.0.0.1"],
    )
    assert fetch(f"http://front.test:{port}/file", policy) == BODY
    assert fetch(f"http://front.test:{port}/to?/file", policy) == BODY
    for target in (f"http://back.test:{port}/file", "http://127.0.0.1/", "//169.254.169.254/x"):
        with pytest.raises(PrivateAddress):
            fetch(f"http://front.test:{port}/to?{target}", policy)


def test_redirects_may_not_change_to_other_schemes(serve: Serve) -> None:
    port, _ = serve()
    for target in ("file:///etc/passwd", "ftp://x/", "https://u:p@example.com/"):
        with pytest.raises(Usage):
            fetch(f"http://127.0.0.1:{port}/to?{target}")


def test_redirects_end(serve: Serve) -> None:
    port, seen = serve()
    with pytest.raises(SourceUnreadable, match="more than 5 times"):
        fetch(f"http://127.0.0.1:{port}/loop")
    assert len(seen) == 6


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, NotFound), (410, NotFound), (401, NotAllowed), (403, NotAllowed), (429, Unavailable),
     (500, Unavailable), (503, Unavailable), (400, SourceUnreadable), (204, SourceUnreadable),
     (302, SourceUnreadable)],
)  # fmt: skip
def test_answers(serve: Serve, status: int, error: type[TrunklineError]) -> None:
    port, _ = serve()
    with pytest.raises(error):
        fetch(f"http://127.0.0.1:{port}/status?{status}")


def test_sizes_are_capped(serve: Serve) -> None:
    port, _ = serve()
    small = UrlPolicy(allow_private=True, allow_http=True, max_bytes=100_000)
    with pytest.raises(NotAllowed, match="larger than"):
        open_url(f"http://127.0.0.1:{port}/file", small)
    with pytest.raises(NotAllowed, match="larger than"):
        fetch(f"http://127.0.0.1:{port}/endless", small)


def test_a_body_that_ends_early_is_an_error(serve: Serve) -> None:
    port, _ = serve()
    with pytest.raises(Unavailable, match="5 of 100 bytes"):
        fetch(f"http://127.0.0.1:{port}/cut")


@pytest.mark.parametrize("path", ["drip", "dripheader"])
def test_total_time_is_capped(serve: Serve, path: str) -> None:
    port, seen = serve()
    with pytest.raises(Unavailable, match="took more than"):
        fetch(
            f"http://127.0.0.1:{port}/{path}",
            UrlPolicy(allow_private=True, allow_http=True, timeout=0.5),
        )
    assert [one["path"] for one in seen] == [f"/{path}"], "it came to its end"


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unavailable):
        fetch(f"http://127.0.0.1:{port}/")
    with pytest.raises(Unavailable, match="cannot be found"):
        fetch("http://nowhere.test/", UrlPolicy(allow_http=True, resolver=lambda h, p: []))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=data.test", "-addext",
         "subjectAltName=DNS:data.test", "-keyout", folder / "key", "-out", folder / "cert"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


def test_https_checks_the_name_and_not_the_address(serve: Serve, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert", certificate / "key")
    names: list[str | None] = []
    context.sni_callback = lambda sock, name, _: names.append(name)
    port, seen = serve(context)
    trusting = UrlPolicy(
        allow_private=True,
        resolver=lambda host, port: ["127.0.0.1"],
        tls=ssl.create_default_context(cafile=str(certificate / "cert")),
    )
    assert fetch(f"https://data.test:{port}/file", trusting) == BODY
    assert names == ["data.test"]
    assert seen[0]["Host"] == f"data.test:{port}"
    with pytest.raises(NotAllowed, match="certificate"):
        fetch(f"https://other.test:{port}/file", trusting)
    plain = UrlPolicy(allow_private=True, resolver=lambda host, port: ["127.0.0.1"])
    with pytest.raises(NotAllowed, match="certificate"):
        fetch(f"https://data.test:{port}/file", plain)


def test_a_handshake_that_never_ends_is_cut() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(Unavailable):
            fetch(
                f"https://127.0.0.1:{silent.getsockname()[1]}/",
                UrlPolicy(allow_private=True, timeout=0.5),
            )
        # The other side never spoke: it is we who hung up.
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1 << 16), "a handshake was begun"
            assert connection.recv(1 << 16) == b""


def test_dropped_chunks_close_the_connection(serve: Serve) -> None:
    port, _ = serve()
    before = threading.active_count()
    chunks = open_url(f"http://127.0.0.1:{port}/file", OPEN).chunks
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    until(lambda: threading.active_count() <= before + 1)
