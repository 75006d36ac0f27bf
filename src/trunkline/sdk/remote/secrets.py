"""Secrets, through a server. They go there and never come back."""

from __future__ import annotations

from urllib.parse import quote

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.secrets import Secrets, check_secret
from trunkline.sdk.wire.upkeep import SecretValue


class RemoteSecrets(RemoteBase, Secrets):
    def secrets(self) -> list[str]:
        return list(self._client.pages(str, "/secrets"))

    def set_secret(self, name: str, value: str) -> None:
        check_secret(name, value)
        self._client.send("PUT", f"/secrets/{quote(name)}", SecretValue(value))

    def delete_secret(self, name: str) -> None:
        self._client.send("DELETE", f"/secrets/{quote(name)}")
