"""Which notices the settings ask for, and their start and end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from trunkline.errors import Usage
from trunkline.lake.core import Core
from trunkline.notices.follower import Follower
from trunkline.notices.messages import Kind
from trunkline.settings import Settings

Secret = Callable[[str], str | None]


class Notices:
    """The followers that run."""

    def __init__(self, followers: Sequence[Follower]) -> None:
        self.followers = followers

    def stop(self) -> None:
        for one in self.followers:
            one.stop()


def start(core: Core, settings: Settings, secret: Secret, lake: str) -> Notices:
    """Start what the settings ask for. `lake` is its address, for people and as a name.

    `secret` looks secrets up by name. Raises `Usage` where a setting is wrong.
    """
    followers = [*_lineage(core, settings, secret, lake), *_notify(core, settings, secret, lake)]
    for one in followers:
        one.start()
    return Notices(followers)


def _lineage(core: Core, settings: Settings, secret: Secret, lake: str) -> list[Follower]:
    url, file = settings.text("openlineage.url"), settings.text("openlineage.file")
    if not url and not file:
        return []
    # Only now: who is told nothing of lineage does not wait for its imports.
    from trunkline.notices.emitting import Emitting, ToFile, ToServer

    namespace = settings.text("openlineage.namespace") or _namespace(settings, lake)
    found = []
    if url:
        _check_url("openlineage.url", url)
        sink = Emitting(core, namespace, [ToServer(url, secret)])
        found.append(Follower(core, "openlineage-url", sink))
    if file:
        to_file = Emitting(core, namespace, [ToFile(Path(file).expanduser().absolute())])
        found.append(Follower(core, "openlineage-file", to_file))
    return found


def _notify(core: Core, settings: Settings, secret: Secret, lake: str) -> list[Follower]:
    wanted = Kind.several(settings.text("notify.on"))
    webhook, slack = settings.text("notify.webhook"), settings.text("notify.slack")
    email = settings.text("notify.email")
    if not wanted or not (webhook or slack or email):
        return []
    from trunkline.notices.channels import Email, Slack, Webhook
    from trunkline.notices.noticing import Channel, Noticing

    channels: list[Channel] = []
    if webhook:
        _check_url("notify.webhook", webhook)
        channels.append(Webhook(webhook, lake, secret))
    if slack:
        _check_url("notify.slack", slack)
        channels.append(Slack(slack, lake))
    if email:
        channels.append(Email(settings.text("notify.smtp"), email, lake, secret))
    return [Follower(core, f"notify-{one.name}", Noticing(core, wanted, one)) for one in channels]


def _namespace(settings: Settings, lake: str) -> str:
    address = settings.text("server.url")
    if address:
        return address.rstrip("/")
    return lake if "://" in lake else f"trunkline://{socket.gethostname()}{lake}"


def _check_url(name: str, url: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise Usage(f"{name} is not an address that begins with https:// or http://.")
