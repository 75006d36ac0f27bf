"""One request: who asks, what the route needs, and the lake as its caller may use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cache, partial, wraps
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute

from trunkline.errors import NotAllowed, NotAuthenticated, NotFound
from trunkline.lake.core import Sees
from trunkline.model.access import LAKE, Permission, Principal, scope_of
from trunkline.model.commits import RepoName
from trunkline.model.refs import parse_ref
from trunkline.sdk.lake import Lake
from trunkline.sdk.wire.values import API, ErrorBody
from trunkline.server.flaws import refuse_at_first
from trunkline.server.limits import LARGEST_JSON, LARGEST_PUBLIC, held_body, is_small
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
    """What the body names: the route itself asks `Call.require`, once it is read. Before a large
    one is, as for `SOMEWHERE`."""
    SOMEWHERE = "something"
    """Any repo at all, before more is read; the route itself asks for those that are named."""


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

    @property
    def is_asked_first(self) -> bool:
        """Whether a right is asked for before a large body is read; else it must be small."""
        return self.on not in (On.PUBLIC, On.ANYBODY, On.REFS)

    async def check(self, request: Request) -> None:
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
        elif self.on is On.SOMEWHERE or (self.on is On.BODY and not is_small(request)):
            call.require_somewhere(self.permission)
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
READ_SOMETHING = Needs(On.SOMEWHERE, Permission.READ)
WRITE_SOMETHING = Needs(On.SOMEWHERE, Permission.WRITE)


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
            if permission > Permission.READ:
                self.notes.setdefault("changed", {})[scope_of(repo)] = None
            return
        self.notes["target"] = scope_of(repo)
        if not self.may(Permission.READ, repo):
            raise self.hidden(f'There is no repo "{repo}".')
        raise NotAllowed(
            f"{self.who.name} may not {_verb(permission)} {repo}.",
            hint="Ask an admin for the role.",
        )

    def require_somewhere(self, permission: Permission) -> None:
        if not self.who.may_somewhere(permission):
            raise NotAllowed(
                f"{self.who.name} may not {_verb(permission)} anything here.",
                hint="Ask an admin for a role.",
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

    @property
    def sees(self) -> Sees | None:
        """What the caller may read, asked once for each name; None for everything."""
        if self.who.may(Permission.READ, LAKE):
            return None
        return cache(partial(self.may, Permission.READ))

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


def _operation(route: APIRoute) -> str:
    """Names of operations for generated clients: `repos_create_repo`."""
    return f"{route.tags[0]}_{route.name}"


QUICK_ITEMS = 100


def _at_once(endpoint: Callable[..., Any], needs_store: bool) -> Callable[..., Awaitable[Any]]:
    @wraps(endpoint)
    async def answer(call: Call, **values: Any) -> Any:
        service = call.service
        # What changed at a path is looked for in many trees.
        is_quick = service.is_quick_with_files if needs_store else not values.get("path")
        if service.is_quick and is_quick and values.get("limit", 0) <= QUICK_ITEMS:
            return endpoint(call, **values)
        return await run_in_threadpool(endpoint, call, **values)

    return answer


class Route(APIRoute):
    """Asks what it needs before it reads a body, and reads no more of one than it takes.

    FastAPI would read and parse the body of whoever sends one first.
    """

    needs = Needs(On.LAKE, Permission.ADMIN)
    largest = LARGEST_JSON

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            await self.needs.check(request)
            if self.body_field is None:
                return await handle(request)
            async with held_body(request, self.largest) as body:
                request._body = body
                return await handle(request)

        return checked


_ERRORS: dict[int | str, str] = {
    422: "The request is malformed.",
    "4XX": "The request is refused, and why.",
    "5XX": "It could not be done, and why.",
}
_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}


def _errors(options: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """What a route answers that is no success. It is JSON, whatever the success would be."""
    # A model is told of with the route's own type of content, so others only refer to it.
    told: dict[str, Any] = (
        {"content": _ERROR} if "response_class" in options else {"model": ErrorBody}
    )
    return {status: {**told, "description": text} for status, text in _ERRORS.items()}


class Routes(APIRouter):
    """Routes of one noun. Each names what it needs before anything else about it.

    One that is `quick` is answered without a thread where the catalog is a file, and unless it
    is `"files"` needs nothing else. `largest` is how many bytes a JSON body may have; of callers
    who were asked for no right only small ones are read.
    """

    def __init__(self, tags: list[str | Enum], prefix: str = API) -> None:
        super().__init__(
            prefix=prefix,
            tags=tags,
            route_class=Route,
            generate_unique_id_function=_operation,
        )

    def _declared(
        self,
        method: str,
        path: str,
        needs: Needs,
        options: dict[str, Any],
    ) -> Callable[[Endpoint], Endpoint]:
        usual = LARGEST_JSON if needs.is_asked_first else LARGEST_PUBLIC
        quick, largest = options.pop("quick", False), options.pop("largest", usual)
        assert largest == usual or needs.is_asked_first, f"{path}: who may send so much?"
        options["openapi_extra"] = {**options.get("openapi_extra", {}), "x-needs": str(needs)}
        options["responses"] = {**_errors(options), **options.get("responses", {})}

        def add(endpoint: Endpoint) -> Endpoint:
            refuse_at_first(endpoint)
            asked = _at_once(endpoint, quick == "files") if quick else endpoint
            self.add_api_route(path, asked, methods=[method], **options)
            added = self.routes[-1]
            assert isinstance(added, Route)
            added.needs, added.largest = needs, largest
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
