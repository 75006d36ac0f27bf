"""What a server hands to its workers of its own environment, and by which way.

What a process is started with can be read by all of its user's processes, so also by the commands
of pipelines. What may be a secret goes by the pipe to the worker, and what only a server needs
does not go at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from trunkline.engine.environ import driver_environment, is_plain
from trunkline.lake.keys import VARIABLE as KEY
from trunkline.server.auth.oidc import SECRET_VARIABLE
from trunkline.settings import SETTINGS

_NEEDED = ("TRUNKLINE_", "PG", "OTEL_", "JAVA_", "PYTHON", "XDG_")
_SERVERS_OWN = frozenset(
    (
        *(KEY, SECRET_VARIABLE, SETTINGS["token"].variable),
        # The server tells the world, not its workers.
        *(one.variable for name, one in SETTINGS.items() if name.startswith("notify.")),
    )
)
_OPEN = ("TRUNKLINE_", "JAVA_", "PYTHON", "XDG_")
_secret = re.compile(r"SECRET|PASSW|TOKEN|CREDENTIAL|KEY|CONF|REMOTE|URL", re.IGNORECASE)


def split(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What a worker is started with, and what it is told in private."""
    passed = driver_environment(environ)
    passed |= {name: value for name, value in environ.items() if name.startswith(_NEEDED)}
    begun: dict[str, str] = {}
    told: dict[str, str] = {}
    for name, value in passed.items():
        if name in _SERVERS_OWN:
            continue
        is_ours = name.startswith(_OPEN) and not _secret.search(name) and "@" not in value
        is_open = is_plain(name) or is_ours
        (begun if is_open else told)[name] = value
    return begun, told
