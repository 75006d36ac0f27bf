"""Who asks at the door: the owner of the token that a request is signed with."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from trunkline.lake.keys import s3_secret
from trunkline.model.access import Principal, owner_of_lake
from trunkline.server.s3 import signature
from trunkline.server.s3.asked import Asked, host_name, is_address
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.signature import Chain
from trunkline.server.service import Service

PREFIX = "tl_"


def hosts_of(service: Service) -> tuple[str, ...]:
    """The names that this server is called by. Below them, a name may begin with a bucket."""
    url = urlsplit(service.settings.text("server.url"))
    named = (url.hostname or "", service.settings.text("server.host"), "localhost")
    return tuple(dict.fromkeys(one.lower() for one in named if one and not is_address(one)))


def identify(
    service: Service, asked: Asked, now: float | None = None
) -> tuple[Principal, Chain | None]:
    """Who sent a request, and what its pieces are signed with.

    Without authentication everybody is the lake's owner, with whatever keys or none: there is
    nothing to compare a signature with. The time of a signed request is looked at all the same.
    """
    signed = signature.read(asked)
    if signed is not None:
        signature.check_time(signed, time.time() if now is None else now)
    if not service.authenticated:
        refuse_browsers(service, asked)
        return owner_of_lake(service.lake.author), None
    if signed is None:
        raise S3Error("AccessDenied", "Sign the request with the keys of a token.")
    if asked.header("x-amz-security-token") or asked.value("X-Amz-Security-Token"):
        raise S3Error("InvalidToken", "The keys of a token have no session token.")
    if not signed.access_key.startswith(PREFIX):
        raise S3Error("InvalidAccessKeyId", f"The key of a token begins with {PREFIX}.")
    token_id = signed.access_key.removeprefix(PREFIX)
    # The signature is looked at first: who cannot sign learns nothing about a token.
    chain = signature.check(asked, signed, s3_secret(service.key, token_id))
    found = service.identity.of_id(token_id)
    if found is None:
        raise S3Error("InvalidAccessKeyId", "The token of this key was revoked or has expired.")
    return found, chain


def refuse_browsers(service: Service, asked: Asked) -> None:
    """Nobody proves who they are, so no web page may ask, nor a name that points here by ruse."""
    site = asked.header("sec-fetch-site", "none")
    if asked.header("origin") or site not in ("none", "same-origin"):
        raise S3Error("AccessDenied", "Requests of web pages are not answered.")
    name = host_name(asked.header("host"))
    known = hosts_of(service)
    if not (is_address(name) or name in known or name.endswith(tuple(f".{one}" for one in known))):
        raise S3Error("AccessDenied", f"This server is not called {name[:100]!r}.")
