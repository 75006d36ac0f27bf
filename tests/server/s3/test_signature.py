"""Signatures: those of botocore are ours, and nothing that was signed can be changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from trunkline.server.s3 import signature
from trunkline.server.s3.asked import Asked, asked
from trunkline.server.s3.failures import S3Error

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
HOST = "127.0.0.1:8471"
OF_ANOTHER_SERVICE = (
    "AWS4-HMAC-SHA256 Credential=a/20260101/r/sqs/aws4_request,SignedHeaders=host,"
    f"Signature={'0' * 64}"
)


def as_received(request: AWSRequest) -> Asked:
    """What a server gets of a request that botocore would send."""
    prepared = request.prepare()
    url = urlsplit(prepared.url)
    headers = [
        (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in prepared.headers.items()
    ]
    headers.append((b"host", HOST.encode()))
    return asked(prepared.method, url.path.encode(), url.query.encode(), headers)


def signed_by_botocore(
    method: str = "GET",
    path: str = "/orders/main/a.csv",
    params: dict[str, str] | None = None,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    expires: int | None = None,
) -> Asked:
    from botocore.utils import percent_encode, percent_encode_sequence

    url = f"http://{HOST}{percent_encode(path, safe='/~')}"
    if params:
        url += "?" + percent_encode_sequence(params)
    request = AWSRequest(method, url, headers or {}, body)
    keys = Credentials("tl_1234", SECRET)
    if expires is None:
        S3SigV4Auth(keys, "s3", "us-east-1").add_auth(request)
    else:
        S3SigV4QueryAuth(keys, "s3", "us-east-1", expires).add_auth(request)
    return as_received(request)


def refused(request: Asked, secret: str = SECRET) -> str:
    with pytest.raises(S3Error) as caught:
        found = signature.read(request)
        assert found is not None
        signature.check(request, found, secret)
    return caught.value.code


def accepted(request: Asked, secret: str = SECRET) -> None:
    found = signature.read(request)
    assert found is not None
    signature.check(request, found, secret)


ODD = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)


@given(ODD, st.dictionaries(ODD, ODD, max_size=3), st.sampled_from(["GET", "PUT", "DELETE"]))
def test_botocore_and_we_agree_on_odd_paths_and_queries(
    name: str, params: dict[str, str], method: str
):
    accepted(signed_by_botocore(method, f"/orders/main/{name}", params))


@given(ODD, st.dictionaries(ODD, ODD, max_size=3))
def test_botocore_and_we_agree_on_presigned_addresses(name: str, params: dict[str, str]):
    accepted(signed_by_botocore("GET", f"/orders/main/{name}", params, expires=60))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/b/a b",
        "/b/a+b",
        "/b/a%2Fb",
        "/b/ü/ß",
        "/b/a=1&b=2",
        "/b/~x",
        "/b/..",
        "/b//x",
        "/b/*()'!",
    ],
)
def test_paths_that_are_written_in_several_ways(path: str):
    accepted(signed_by_botocore("GET", path))
    accepted(signed_by_botocore("GET", path, expires=10))


def test_spaces_in_headers_are_as_aws_counts_them():
    accepted(signed_by_botocore("PUT", headers={"x-amz-meta-a": "  one   two  "}, body=b"x"))


def test_another_secret_is_refused():
    assert refused(signed_by_botocore(), "another") == "SignatureDoesNotMatch"
    assert refused(signed_by_botocore(expires=60), "another") == "SignatureDoesNotMatch"


def tampered(request: Asked, **changes: object) -> Asked:
    from dataclasses import replace

    return replace(request, **changes)  # type: ignore[arg-type]


def test_what_was_signed_cannot_be_changed():
    request = signed_by_botocore("PUT", params={"partNumber": "1"}, body=b"data")
    changes: list[dict[str, object]] = [
        {"method": "DELETE"},
        {"path": "/orders/main/b.csv", "raw_path": "/orders/main/b.csv"},
        {"query": (("partNumber", "2"),)},
        {"query": ()},
        {"query": (*request.query, ("uploads", ""))},
        {"headers": {**request.headers, "host": "elsewhere"}},
        {"headers": {**request.headers, "x-amz-content-sha256": signature.UNSIGNED}},
    ]
    for change in changes:
        assert refused(tampered(request, **change)) == "SignatureDoesNotMatch", change
    later = {**request.headers, "x-amz-date": _shifted(request.headers["x-amz-date"])}
    assert refused(tampered(request, headers=later)) == "SignatureDoesNotMatch"


def _shifted(at: str) -> str:
    """Another second of the same day."""
    digit = "1" if at[-2] != "1" else "2"
    return f"{at[:-2]}{digit}Z"


def test_headers_of_amazon_must_be_signed():
    request = signed_by_botocore("PUT", body=b"data")
    added = {**request.headers, "x-amz-copy-source": "secret/main/x"}
    assert refused(tampered(request, headers=added)) == "AccessDenied"


def test_the_host_must_be_signed():
    request = signed_by_botocore()
    text = request.headers["authorization"].replace("SignedHeaders=host;", "SignedHeaders=")
    changed = tampered(request, headers={**request.headers, "authorization": text})
    assert refused(changed) == "AuthorizationHeaderMalformed"


def test_headers_that_are_there_twice_are_refused():
    for name in (b"host", b"x-amz-date", b"authorization", b"range", b"content-length"):
        with pytest.raises(S3Error, match="twice"):
            asked("GET", b"/b/k", b"", [(name, b"1"), (name.upper(), b"2")])


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("AWS AKID:signature", "InvalidRequest"),
        ("Basic dXNlcjpwYXNz", "InvalidArgument"),
        ("Bearer tl_1_2", "InvalidArgument"),
        ("AWS4-HMAC-SHA256 nonsense", "AuthorizationHeaderMalformed"),
        ("AWS4-ECDSA-P256-SHA256 Credential=a/b", "InvalidRequest"),
        (
            OF_ANOTHER_SERVICE,
            "AuthorizationHeaderMalformed",
        ),
    ],
)
def test_other_kinds_of_signatures_are_refused(header: str, code: str):
    headers = [
        (b"authorization", header.encode()),
        (b"x-amz-date", b"20260101T000000Z"),
        (b"x-amz-content-sha256", b"UNSIGNED-PAYLOAD"),
    ]
    with pytest.raises(S3Error) as caught:
        signature.read(asked("GET", b"/", b"", headers))
    assert caught.value.code == code


def test_a_header_and_a_query_are_not_both_believed():
    both = signed_by_botocore(expires=60)
    headers = {**both.headers, "authorization": "AWS4-HMAC-SHA256 x"}
    assert refused(tampered(both, headers=headers)) == "InvalidArgument"


def test_the_time_of_a_signed_request():
    found = signature.read(signed_by_botocore())
    assert found is not None
    now = datetime.now(UTC).timestamp()
    for minutes in (-14, 0, 14):
        signature.check_time(found, now + minutes * 60)
    for minutes in (-16, 16):
        with pytest.raises(S3Error) as caught:
            signature.check_time(found, now + minutes * 60)
        assert caught.value.code == "RequestTimeTooSkewed"


def test_a_presigned_address_ends():
    found = signature.read(signed_by_botocore(expires=3600))
    assert found is not None
    now = datetime.now(UTC)
    signature.check_time(found, (now + timedelta(minutes=59)).timestamp())
    with pytest.raises(S3Error, match="expired"):
        signature.check_time(found, (now + timedelta(minutes=61)).timestamp())
    with pytest.raises(S3Error):
        signature.check_time(found, (now - timedelta(minutes=16)).timestamp())


@pytest.mark.parametrize("expires", ["0", "-1", "604801", "x", "", "99999999999", "١"])
def test_how_long_a_presigned_address_may_hold(expires: str):
    request = signed_by_botocore(expires=60)
    query = tuple((n, expires if n == "X-Amz-Expires" else v) for n, v in request.query)
    first = {**request._first, "X-Amz-Expires": expires}
    assert (
        refused(tampered(request, query=query, _first=first)) == "AuthorizationQueryParametersError"
    )
