"""What all requests share: the open lake, its settings, and who its callers are."""

from __future__ import annotations

from functools import cached_property, partial
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from fastapi import Request

from trunkline.errors import NotAuthenticated
from trunkline.lake.keys import server_key
from trunkline.model.access import Principal, owner_of_lake
from trunkline.model.commits import DEFAULT_PROJECT
from trunkline.sdk.lake import Lake
from trunkline.sdk.wire.values import AUTHOR
from trunkline.server.auth.identity import Identity
from trunkline.server.auth.journal import Journal
from trunkline.server.auth.places import Places
from trunkline.server.auth.sessions import COOKIE
from trunkline.server.auth.throttle import Throttle
from trunkline.server.erased import at_erasures, forget_rows
from trunkline.server.hub import Hub
from trunkline.server.limits import Budget
from trunkline.server.queries.forwarding import forwarded_principal
from trunkline.settings import Settings
from trunkline.storage.catalog.open import is_file_url
from trunkline.tables.reading.parquetrows import guard

if TYPE_CHECKING:
    from trunkline.server.iceberg.catalog import Catalog

BEARERS = ("user", "job")


def bearer_token(request: Request) -> str | None:
    """The token in the Authorization header, if that is what the header holds."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


class Service:
    """A lake that is being served.

    Without `authenticated` everybody who reaches it is its owner: only for 127.0.0.1.
    """

    def __init__(self, lake: Lake, settings: Settings, *, authenticated: bool = False) -> None:
        self.lake = lake
        self.settings = settings
        self.authenticated = authenticated
        self.local_token = ""
        """The token of the lake's owner, for this computer: it is in `server.json`."""
        self.s3_address = ""
        """Where the S3 door is, if it is open."""
        self.engine: Path | Literal["here"] | None = None
        """Where Spark is: in this process, behind a worker's unix socket, or nowhere."""
        self.workers: tuple[str, ...] = ()
        """The names of the workers that this server keeps alive."""
        self.journal = Journal(lake._core, settings.seconds("audit.keep"))
        self.identity = Identity(lake._core, self.journal.used)
        self.throttle = Throttle()
        self.bodies = Budget()
        self.passwords = Places("passwords", threads=1, waiting=15)
        self.sign_ons = Places("sign-on", threads=4, waiting=28)
        self.hub = Hub(lake._core, settings.seconds("events.keep"))
        self.hub.watch(at_erasures(partial(forget_rows, lake._folder)))
        self.stopping = False
        self._owner = owner_of_lake(lake.author)
        guard()

    @cached_property
    def is_quick(self) -> bool:
        """Whether the catalog answers without a network, and readers wait for no writer."""
        return is_file_url(self.lake._core.database.url)

    @cached_property
    def is_quick_with_files(self) -> bool:
        """Whether lists of files are on this computer, too."""
        return self.lake._core.objects.uri("").startswith("file:")

    @cached_property
    def key(self) -> bytes:
        """What the server signs with."""
        return server_key(self.lake._folder)

    @cached_property
    def iceberg(self) -> Catalog:
        """The tables as the Iceberg door shows them."""
        from trunkline.server.iceberg.catalog import Catalog

        return Catalog(self.lake._core, self.settings)

    async def identify(self, request: Request) -> Principal | None:
        """Who sent a request; None if it does not say, `NotAuthenticated` if it lies."""
        if self.engine == "here" and (known := forwarded_principal(request)) is not None:
            return known  # a worker's socket is its server's alone to open
        if not self.authenticated:
            return self._named_owner(request)
        if "authorization" not in request.headers:
            return await self._of_cookie(request)
        token = bearer_token(request)
        if token is not None:
            if self.local_token and compare_digest(token.encode(), self.local_token.encode()):
                return self._named_owner(request)
            found = await self.identity.of_token(token, BEARERS)
            if found is not None:
                return found
        raise NotAuthenticated(
            "This token is not good: it is wrong, was revoked or has expired.",
            hint="trunkline token create makes another.",
        )

    def _named_owner(self, request: Request) -> Principal:
        """The owner, by the name that they say; the lake in a folder would believe it too."""
        name = unquote(request.headers.get(AUTHOR, "")).strip()
        return owner_of_lake(name) if name and name.isprintable() else self._owner

    async def _of_cookie(self, request: Request) -> Principal | None:
        text = request.cookies.get(COOKIE)
        return await self.identity.of_token(text, ("session",)) if text else None

    def stop(self) -> None:
        """Before the server ends: who listens to events is let go, so that nothing holds it up."""
        self.stopping = True
        self.hub.stop()
        self.passwords.close()
        self.sign_ons.close()

    def lake_of(self, principal: Principal | None) -> Lake:
        """The lake in somebody's name.

        A ref without a project means the default one, whatever the server's own settings say:
        that is what rights are checked on.
        """
        author = self.lake.author if principal is None else principal.name
        return self.lake.bound(project=DEFAULT_PROJECT, author=author)
