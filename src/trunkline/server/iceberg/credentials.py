"""How readers get at the files: the address of the S3 door, and the caller's own keys to it."""

from __future__ import annotations

from base64 import b64decode
from urllib.parse import parse_qs, unquote, urlsplit

from starlette.requests import Request

from trunkline.errors import NotAuthenticated, Precondition, Usage
from trunkline.lake.keys import s3_access_key, s3_secret
from trunkline.server.calls import Call
from trunkline.server.iceberg.metadata import Json
from trunkline.server.limits import LARGEST_PUBLIC, held_body
from trunkline.server.service import BEARERS, Service

REGION = "us-east-1"
ANYTHING = "trunkline"
"""Without authentication any keys will do, but clients want some."""
PATIENCE_SECONDS = "120"
"""How long pyiceberg is to wait for a file: those of large tables take a while to make."""
_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"


def storage_config(call: Call, request: Request) -> dict[str, str]:
    """What a client needs to read through the S3 door, with no more rights than the caller's."""
    address = s3_address(call.service, request)
    config = {
        "s3.endpoint": address,
        "s3.path-style-access": "true",
        "s3.region": REGION,
        "client.region": REGION,
        "s3.request-timeout": PATIENCE_SECONDS,
    }
    keys = _keys(call)
    if keys is not None:
        config["s3.access-key-id"], config["s3.secret-access-key"] = keys
    return config


def s3_address(service: Service, request: Request) -> str:
    """The door's address: as it is set, else on the host that the caller knows us by."""
    if told := service.settings.text("server.s3_url"):
        return told.rstrip("/")
    if not service.s3_address:
        raise Precondition(
            "The S3 door of this server is closed, and rows are read through it.",
            hint="Start it with a port: trunkline serve --s3-port 8471",
        )
    here = urlsplit(service.s3_address)
    host = request.url.hostname or here.hostname or ""
    return f"http://{f'[{host}]' if ':' in host else host}:{here.port}"


def _keys(call: Call) -> tuple[str, str] | None:
    """The keys of the caller's token. Who came without one has none: the console, the owner."""
    if not call.service.authenticated:
        return ANYTHING, ANYTHING
    who = call.who
    if not who.token or who.kind not in BEARERS:
        return None
    return s3_access_key(who.token), s3_secret(call.service.key, who.token)


async def exchanged(service: Service, request: Request) -> Json:
    """OAuth2 as clients speak it: the secret is a token of the lake, and so is what they get."""
    async with held_body(request, LARGEST_PUBLIC) as body:
        try:
            form = parse_qs(body.decode(), strict_parsing=bool(body))
        except ValueError:
            raise Usage("The body is no form.") from None
    told = (form[name][0] for name in ("client_secret", "subject_token") if name in form)
    given = next(told, "") or _basic_secret(request)
    if service.authenticated and await service.identity.of_token(given, BEARERS) is None:
        raise NotAuthenticated(
            "The secret is not a good token of this lake.",
            hint="trunkline token create makes one; give it as the client's secret.",
        )
    return {
        "access_token": given or ANYTHING,
        "token_type": "bearer",
        "issued_token_type": _TOKEN_TYPE,
    }


def _basic_secret(request: Request) -> str:
    """The secret as DuckDB sends it, in a header. The name before it may be anything."""
    scheme, _, coded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return unquote(b64decode(coded, validate=True).decode().partition(":")[2])
    except ValueError:
        raise Usage("The Authorization header cannot be read.") from None
