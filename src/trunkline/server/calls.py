"""One request: who asks, what the route needs, and the lake as its caller may use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request

from trunkline.errors import NotAllowed, NotAuthenticated, NotFound
from trunkline.model.access import LAKE, Permission, Principal, scope_of
from trunkline.model.commits import RepoName
from trunkline.model.refs import parse_ref
from trunkline.sdk.lake import Lake
from trunkline.server.service import Service

Item = TypeVar("Item")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class On(StrEnum):
    """Where a permission is needed."""

    PUBLIC = "public"
    """Nobody need say who they are."""
    ANYBODY = "anybody"
    """Whoever is known; what the answer lists is what they may see."""
    LAKE = "lake"
    PROJECT = "project"
    """The project in the path."""
    REPO = "repo"
    """The project and repo in the path."""
    REFS = "refs"
    """Every repo that a parameter of the query names."""
    BODY = "body"
    """What the body names: the route itself asks `Call.require`."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a route needs. `parameters` are those of the query that hold refs."""

    on: On
    permission: Permission = Permission.READ
    parameters: tuple[str, ...] = ("ref",)

    def __str__(self) -> str:
        if self.on in (On.PUBLIC, On.ANYBODY):
            return str(self.on)
        return f"{self.permission.name.lower()} on {self.on}"

    async def __call__(self, request: Request) -> None:
        """The check, as FastAPI calls it before the route."""
        call = await current(request)
        if self.on is On.PUBLIC:
            return
        if call.principal is None:
            raise NotAuthenticated(
                "This server does not know who you are.",
                hint="Send a token: Authorization: Bearer tl_…",
            )
        values = request.path_params
        if self.on is On.LAKE:
            call.require_lake(self.permission)
        elif self.on is On.PROJECT:
            call.require_project(self.permission, values["project"])
        elif self.on is On.REPO:
            call.require(self.permission, RepoName(values["project"], values["repo"]))
        elif self.on is On.REFS:
            for name in self.parameters:
                for text in request.query_params.getlist(name):
                    call.require(self.permission, parse_ref(text).repo)


PUBLIC = Needs(On.PUBLIC)
ANYBODY = Needs(On.ANYBODY)
READ_REPO = Needs(On.REPO, Permission.READ)
WRITE_REPO = Needs(On.REPO, Permission.WRITE)
MAINTAIN_REPO = Needs(On.REPO, Permission.MAINTAIN)
MAINTAIN_PROJECT = Needs(On.PROJECT, Permission.MAINTAIN)
ADMIN_LAKE = Needs(On.LAKE, Permission.ADMIN)


@dataclass(frozen=True, slots=True)
class Call:
    """A request in hand. Routes take it as `call: Caller`."""

    service: Service
    principal: Principal | None
    request_id: str
    address: str = ""
    notes: dict[str, Any] = field(default_factory=dict, repr=False)
    """What the audit log is to say of it: `target`, `detail`, and `refused` if it was."""

    @property
    def who(self) -> Principal:
        assert self.principal is not None, "only public routes may be called by nobody"
        return self.principal

    @property
    def lake(self) -> Lake:
        """The lake, where what is written is written in the caller's name."""
        return self.service.lake_of(self.principal)

    def may(self, permission: Permission, repo: RepoName) -> bool:
        return self.who.may_repo(permission, repo)

    def require(self, permission: Permission, repo: RepoName) -> None:
        """What one may not see is not there; what one may see, and not do, is not allowed."""
        if self.may(permission, repo):
            return
        self.notes["target"] = scope_of(repo)
        if not self.may(Permission.READ, repo):
            raise self.hidden(f'There is no repo "{repo}".')
        raise NotAllowed(
            f"{self.who.name} may not {_verb(permission)} {repo}.",
            hint="Ask an admin for the role.",
        )

    def require_project(self, permission: Permission, project: str) -> None:
        if self.who.may(permission, project):
            return
        self.require_project_seen(project)
        raise NotAllowed(
            f"{self.who.name} may not {_verb(permission)} project {project}.",
            hint="Ask an admin for the role.",
        )

    def require_project_seen(self, project: str) -> None:
        if not self.who.may_see(project):
            raise self.hidden(f'There is no project "{project}".')

    def hidden(self, message: str) -> NotFound:
        """What to raise for something that the caller may not know of."""
        self.notes["refused"] = True
        return NotFound(message)

    def require_ref(self, permission: Permission, ref: str) -> None:
        """As `require`, for the repo of a whole ref."""
        self.require(permission, parse_ref(ref).repo)

    def require_lake(self, permission: Permission) -> None:
        if not self.who.may(permission, LAKE):
            raise NotAllowed(
                f"{self.who.name} may not {_verb(permission)} this lake.",
                hint="Ask an admin for the role.",
            )

    def visible(self, items: Iterable[Item], repo_of: Callable[[Item], RepoName]) -> list[Item]:
        """Those items whose repo the caller may read."""
        who = self.who
        known: dict[RepoName, bool] = {}
        kept = []
        for item in items:
            repo = repo_of(item)
            if repo not in known:
                known[repo] = who.may(Permission.READ, scope_of(repo))
            if known[repo]:
                kept.append(item)
        return kept


def _verb(permission: Permission) -> str:
    return {
        Permission.READ: "read",
        Permission.WRITE: "write to",
        Permission.MAINTAIN: "maintain",
        Permission.ADMIN: "administer",
    }[permission]


async def current(request: Request) -> Call:
    """The call of a request; who asks is found out once."""
    found: Call | None = getattr(request.state, "call", None)
    if found is None:
        service: Service = request.app.state.service
        principal = await service.identify(request)
        notes = request.scope.setdefault("state", {})
        address = request.client.host if request.client else ""
        found = Call(service, principal, notes.get("request_id", ""), address, notes)
        request.state.call = found
    return found


Caller = Annotated[Call, Depends(current)]


class Routes(APIRouter):
    """Routes of one noun. Each names what it needs before anything else about it."""

    def _declared(
        self, method: str, path: str, needs: Needs, options: dict[str, Any]
    ) -> Callable[[Endpoint], Endpoint]:
        options["dependencies"] = [Depends(needs), *options.get("dependencies", ())]
        options["openapi_extra"] = {**options.get("openapi_extra", {}), "x-needs": str(needs)}

        def add(endpoint: Endpoint) -> Endpoint:
            self.add_api_route(path, endpoint, methods=[method], **options)
            return endpoint

        return add

    def GET(self, path: str, needs: Needs, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: N802
        return self._declared("GET", path, needs, options)

    def HEAD(self, path: str, needs: Needs, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: N802
        return self._declared("HEAD", path, needs, options)

    def POST(self, path: str, needs: Needs, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: N802
        return self._declared("POST", path, needs, options)

    def PUT(self, path: str, needs: Needs, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: N802
        return self._declared("PUT", path, needs, options)

    def PATCH(self, path: str, needs: Needs, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: N802
        return self._declared("PATCH", path, needs, options)

    def DELETE(self, path: str, needs: Needs, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: N802
        return self._declared("DELETE", path, needs, options)
