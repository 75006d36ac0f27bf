"""A web server that is told of each version by POST: that it is there, or its rows.

A version may be posted more than once, if an answer was lost: `Idempotency-Key` is the same then.
Where to is a matter of who may declare pipelines, so it may be a private address. Redirects are
not followed. With `sign`, X-Trunkline-Signature is `t=SECONDS,sha256=HEX`: HMAC-SHA256 of the
seconds, a dot and the body.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from importlib.metadata import version
from typing import Any

import httpx2

from trunkline.egress.base import Berth, Sender, Sent, Shipment
from trunkline.egress.targets.parcels import as_lines
from trunkline.errors import Failed, TooManyRequests, TrunklineError, Unavailable
from trunkline.model.time import to_rfc3339

SIGNATURE = "X-Trunkline-Signature"
_LATER = (408, 425, 429)
_ANSWER = 200


class WebhookSender(Sender):
    def __init__(self, berth: Berth) -> None:
        super().__init__(berth)
        self._url = str(berth.options["url"])
        self._http = httpx2.Client(
            timeout=float(berth.options["timeout"]), follow_redirects=False, trust_env=True
        )

    def close(self) -> None:
        self._http.close()

    def send(self, shipment: Shipment) -> Sent:
        rows = more = None
        if self.berth.options["body"] == "rows":
            body, rows, more = self._rows(shipment)
            kind = "application/x-ndjson"
        else:
            body, kind = json.dumps(self._event(shipment)).encode(), "application/json"
        headers = self._headers(shipment, body, kind)
        if more:
            headers["X-Trunkline-Truncated"] = "true"
        status = self._post(body, headers)
        what = "the event" if rows is None else f"{rows:,} {'row' if rows == 1 else 'rows'}"
        return Sent(f"{what} to {self._host}", rows=rows, bytes=len(body), more={"status": status})

    def _event(self, shipment: Shipment) -> dict[str, Any]:
        commit = shipment.commit
        lines = list(shipment.files())
        return {
            "event": "version",
            "project": commit.repo.project,
            "pipeline": commit.repo.repo,
            "target": self.berth.target.name,
            "commit": commit.id,
            "before": shipment.before.id if shipment.before else None,
            "path": shipment.path,
            "finished": to_rfc3339(commit.finished or commit.started),
            "files": len(lines),
            "bytes": sum(one.size for one in lines),
        }

    def _rows(self, shipment: Shipment) -> tuple[bytes, int, bool]:
        """The first rows as lines, how many they are, and whether there are more."""
        most, body, rows = int(self.berth.options["most"]), bytearray(), 0
        for batch in shipment.batches():
            some = batch[: most - rows]
            body += as_lines(some)
            rows += some.num_rows
            if some.num_rows < batch.num_rows:
                return bytes(body), rows, True
        return bytes(body), rows, False

    def _headers(self, shipment: Shipment, body: bytes, kind: str) -> dict[str, str]:
        options = self.berth.options
        headers = {
            "User-Agent": f"trunkline/{version('trunkline')}",
            "Content-Type": kind,
            "Idempotency-Key": f"{self.berth.id}/{shipment.commit.id}",
            "X-Trunkline-Commit": shipment.commit.id,
        }
        if token := options.get("token"):
            headers["Authorization"] = f"Bearer {token}"
        if key := options.get("sign"):
            seconds = str(int(time.time()))
            signed = hmac.new(str(key).encode(), f"{seconds}.".encode() + body, hashlib.sha256)
            headers[SIGNATURE] = f"t={seconds},sha256={signed.hexdigest()}"
        return headers

    def _post(self, body: bytes, headers: dict[str, str]) -> int:
        try:
            answer = self._http.post(self._url, content=body, headers=headers)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise Failed("The address of the webhook cannot be used.") from None
        except httpx2.TransportError as error:
            raise Unavailable(f"{self._host} does not answer ({type(error).__name__}).") from None
        if answer.is_success:
            return answer.status_code
        raise self._refusal(answer)

    def _refusal(self, answer: httpx2.Response) -> TrunklineError:
        status, said = answer.status_code, f"{self._host} answered {answer.status_code}"
        if status in _LATER or status >= 500:
            try:
                seconds = float(answer.headers.get("Retry-After", ""))
            except ValueError:
                return Unavailable(f"{said}.")
            return TooManyRequests(f"{said}.", retry_after=max(0.0, seconds))
        if answer.is_redirect:
            return Failed(f"{said}: it leads elsewhere, which is not followed.")
        text = answer.text
        for name in ("token", "sign", "url"):
            if secret := self.berth.options.get(name):
                text = text.replace(str(secret), "***")
        text = " ".join(text.split())[:_ANSWER]
        return Failed(f"{said}: {text}" if text else f"{said}.")

    @property
    def _host(self) -> str:
        """The address without what may be secret in it."""
        try:
            url = httpx2.URL(self._url)
        except httpx2.InvalidURL:
            return "the webhook"
        port = f":{url.port}" if url.port else ""
        return f"{url.scheme}://{url.host}{port}"
