"""Where a server listens: an address that is safe to listen on, and a port that is free."""

from __future__ import annotations

import errno
import ipaddress
import socket

from trunkline.errors import NotAllowed, Unavailable, Usage

BACKLOG = 2048


def check_host(host: str, *, authenticated: bool) -> None:
    """`Usage` for an address that others reach, unless everybody is asked who they are."""
    if authenticated or is_loopback(host):
        return
    raise Usage(
        f"Others can reach {host or 'every address'}, and this server asks nobody who they are.",
        hint="Add --auth, or listen on 127.0.0.1.",
    )


def is_loopback(host: str) -> bool:
    """Whether only this computer reaches an address."""
    return bool(host) and all(ipaddress.ip_address(one).is_loopback for one in _addresses(host))


def listen(host: str, port: int, option: str) -> socket.socket:
    """A socket that takes connections; one clear line if the port cannot be had."""
    family = socket.AF_INET6 if ":" in _addresses(host)[0] else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OverflowError:
        raise Usage(f"{option}: there is no port {port}.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"Port {port} of {host} is in use.", hint=f"{option} names another."
            ) from None
        if error.errno == errno.EACCES:
            raise NotAllowed(
                f"Port {port} is not yours to listen on.", hint=f"{option}: take one above 1023."
            ) from None
        raise Usage(f"Cannot listen on {host}: {error.strerror}.") from None


def address_of(listener: socket.socket) -> str:
    """How this computer reaches it: `http://127.0.0.1:8470`."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _addresses(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise Usage(f"--host: {host} is no address of this computer: {said}.") from None
    # An address with a zone, as fe80::1%eth0, is one of its own network.
    return [str(one[4][0]).partition("%")[0] for one in found]
