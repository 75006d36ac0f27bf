"""Sending over HTTP: what can be tried again is, what was refused is said in the log.

Where to is a setting of who runs the server, so it may be a private address, and only this may.
Redirects are not followed: a setting says where.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Mapping
from importlib.metadata import version

import httpx2

from trunkline.notices.follower import NotNow

VERSION = version("trunkline")
TIMEOUT_SECONDS = 10.0
SIGNATURE = "X-Trunkline-Signature"

log = logging.getLogger("trunkline.notices")


class Post:
    """An address that JSON is posted to."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = httpx2.Client(
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            headers={"User-Agent": f"trunkline/{VERSION}", "Content-Type": "application/json"},
        )

    def __call__(self, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        try:
            answer = self._http.post(self._url, content=body, headers=dict(headers or {}))
        except httpx2.TransportError as error:
            raise NotNow(f"{self.shown}: {str(error) or type(error).__name__}") from error
        status = answer.status_code
        if status in (408, 425, 429) or status >= 500:
            raise NotNow(f"{self.shown} answered {status}")
        if status >= 300:
            # It will not like it better the next time.
            log.error("%s refused a message: %s", self.shown, status)

    @property
    def shown(self) -> str:
        """The address without what may be secret in it: Slack's has its key in the path."""
        url = httpx2.URL(self._url)
        return f"{url.scheme}://{url.host}"

    def close(self) -> None:
        self._http.close()


def signed(body: bytes, secret: str) -> dict[str, str]:
    """A header by which the receiver knows that the body is ours: HMAC-SHA256 in hex."""
    made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {SIGNATURE: f"sha256={made}"}
