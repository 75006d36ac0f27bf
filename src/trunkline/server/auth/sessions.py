"""Logins of browsers: a token in a cookie that no script can read and no other site can send."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Response

from trunkline.lake.access import issue_session
from trunkline.lake.core import Core
from trunkline.settings import Settings

COOKIE = "tl_session"


def log_in(core: Core, settings: Settings, response: Response, name: str) -> None:
    """Start a session of somebody whom we know now."""
    seconds = settings.seconds("session.length")
    _, text = issue_session(core, name, seconds)
    response.set_cookie(
        COOKIE,
        text,
        max_age=int(seconds),
        path="/",
        secure=is_secure(settings),
        httponly=True,
        samesite="strict",
    )


def forget(settings: Settings, response: Response) -> None:
    response.delete_cookie(
        COOKIE, path="/", secure=is_secure(settings), httponly=True, samesite="strict"
    )


def is_secure(settings: Settings) -> bool:
    """Whether people reach the server by https, so that its cookies may ask for it."""
    return urlsplit(settings.text("server.url")).scheme == "https"
