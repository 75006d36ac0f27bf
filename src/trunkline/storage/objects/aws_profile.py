"""Credentials from ~/.aws, where the command line tools of S3 keep them.

obstore knows the environment, web identities, containers and instances, but not these files.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping

_NAMED_ELSEWHERE = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)
_CREDENTIALS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}
_SETTINGS = {"region": ("region", "AWS_REGION"), "endpoint_url": ("endpoint", "AWS_ENDPOINT_URL")}


def profile_options(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What the chosen profile says and the environment does not."""
    name = env.get("AWS_PROFILE") or env.get("AWS_DEFAULT_PROFILE") or "default"
    folder = os.path.expanduser("~/.aws")
    secrets = _section(env.get("AWS_SHARED_CREDENTIALS_FILE") or f"{folder}/credentials", name)
    config = _section(
        env.get("AWS_CONFIG_FILE") or f"{folder}/config",
        name if name == "default" else f"profile {name}",
    )
    found = config | secrets
    options = {
        option: found[field]
        for field, (option, variable) in _SETTINGS.items()
        if field in found and not env.get(variable) and not env.get("AWS_DEFAULT_" + option.upper())
    }
    if not any(env.get(variable) for variable in _NAMED_ELSEWHERE):
        options |= {_CREDENTIALS[field]: found[field] for field in _CREDENTIALS if field in found}
    return options


def _section(path: str, name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (OSError, configparser.Error, UnicodeDecodeError):
        return {}
    return dict(parser[name]) if parser.has_section(name) else {}
