"""Logging in to a server from a program: a name and a password for a token, once."""

from __future__ import annotations

import socket

from trunkline.model.access import NewToken
from trunkline.sdk.remote.client import Client
from trunkline.sdk.wire.access import Login, LoginWays, Setup, TokenOrder

TOKEN_SECONDS = 90 * 86_400.0


def login_ways(url: str) -> LoginWays:
    """How one logs in to a server."""
    client = Client(url)
    try:
        found: LoginWays = client.get(LoginWays, "/login")
        return found
    finally:
        client.close()


def log_in(url: str, name: str, password: str) -> NewToken:
    """A token for this computer, good for 90 days."""
    return _token(url, "/login", Login(name, password))


def set_up(url: str, setup_token: str, name: str, password: str) -> NewToken:
    """Make the first user, who is admin, with the one-time token that the server showed."""
    return _token(url, "/setup", Setup(setup_token, name, password))


def log_out(url: str, token: str) -> None:
    """Have the server forget a token."""
    client = Client(url, token)
    try:
        client.send("DELETE", f"/tokens/{token.split('_')[1]}")
    finally:
        client.close()


def _token(url: str, path: str, body: Login | Setup) -> NewToken:
    client = Client(url, origin=True)
    try:
        client.send("POST", path, body)
        order = TokenOrder(f"login from {socket.gethostname()}", TOKEN_SECONDS)
        made: NewToken = client.send("POST", "/tokens", order, kind=NewToken)
        # The session was only for making the token.
        client.send("POST", "/logout", {})
        return made
    finally:
        client.close()
