"""The ways to tell people: a webhook, Slack, e-mail."""

from __future__ import annotations

import json
import smtplib
import ssl
from collections.abc import Callable
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from trunkline.errors import Usage
from trunkline.model.shape import as_json
from trunkline.notices.follower import NotNow
from trunkline.notices.messages import Kind, Message
from trunkline.notices.sending import Post, signed

SIGNING_SECRET = "notify.webhook"
SMTP_SECRET = "notify.smtp"
SMTP_SECONDS = 20.0
Secret = Callable[[str], str | None]
_SIGNS = {
    Kind.FAILED: ":x:",
    Kind.LATE: ":hourglass:",
    Kind.RECOVERED: ":white_check_mark:",
    Kind.CHECK_FAILED: ":warning:",
}


class Webhook:
    """JSON, signed if there is a secret "notify.webhook"."""

    name = "webhook"

    def __init__(self, url: str, lake: str, secret: Secret) -> None:
        self._post = Post(url)
        self._lake = lake
        self._secret = secret

    def send(self, message: Message) -> None:
        body = json.dumps({"lake": self._lake, **as_json(message), "text": message.title}).encode()
        key = self._secret(SIGNING_SECRET)
        self._post(body, signed(body, key) if key else {})


class Slack:
    """The shape that Slack's incoming webhooks take, and others after them."""

    name = "slack"

    def __init__(self, url: str, lake: str) -> None:
        self._post = Post(url)
        self._lake = lake

    def send(self, message: Message) -> None:
        said = f"{_SIGNS[message.kind]} *{_escaped(message.title)}*"
        if message.reason:
            said += f"\n>{_escaped(message.reason)[:1000]}"
        context = f"{self._lake}" + (f" · job {message.job[:12]}" if message.job else "")
        blocks = [
            {"type": "section", "text": {"type": "mrkdwn", "text": said}},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": _escaped(context)}]},
        ]
        self._post(json.dumps({"text": message.title, "blocks": blocks}).encode())


class Email:
    """Mail through a server: smtp://user@host:587 with STARTTLS, smtps://user@host with TLS.

    The password is the secret "notify.smtp". Without a user nothing is encrypted that the
    server does not offer to.
    """

    name = "email"

    def __init__(self, smtp: str, to: str, lake: str, secret: Secret) -> None:
        try:
            parts = urlsplit(smtp)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
            raise Usage("notify.smtp is of the form smtp://user@host:587.")
        self._tls = parts.scheme == "smtps"
        self._host, self._port = parts.hostname, port or (465 if self._tls else 587)
        self._user = unquote(parts.username or "")
        self._to = [one.strip() for one in to.split(",") if one.strip()]
        self._lake = lake
        self._secret = secret

    def send(self, message: Message) -> None:
        try:
            with self._connected() as server:
                server.send_message(self._mail(message))
        except (OSError, smtplib.SMTPException) as error:
            raise NotNow(f"{self._host}: {type(error).__name__}") from error

    def _connected(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self._tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, timeout=SMTP_SECONDS, context=context
            )
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=SMTP_SECONDS)
            server.ehlo()
            if self._user or server.has_extn("starttls"):
                # With a password to send, a server without it is refused.
                server.starttls(context=context)
        if self._user:
            server.login(self._user, self._secret(SMTP_SECRET) or "")
        return server

    def _mail(self, message: Message) -> EmailMessage:
        mail = EmailMessage()
        mail["Subject"] = " ".join(f"[trunkline] {message.title}".split())[:200]
        mail["From"] = self._user if "@" in self._user else f"trunkline@{self._host}"
        mail["To"] = ", ".join(self._to)
        mail["Date"] = formatdate()
        mail["Message-ID"] = make_msgid(domain="trunkline")
        facts = {name: value for name, value in as_json(message).items() if value}
        facts |= {"pipeline": message.pipeline, "text": message.title}
        lines = [f"{message.title}.", "", f"lake: {self._lake}"]
        mail.set_content("\n".join(lines + [f"{name}: {value}" for name, value in facts.items()]))
        return mail


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
