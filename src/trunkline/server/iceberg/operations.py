"""What can be asked of the catalog. All else would change something, and is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request

from trunkline.errors import NotFound, TrunklineError
from trunkline.model.access import LAKE, Permission
from trunkline.model.commits import Commit, RepoName
from trunkline.server.calls import Call
from trunkline.server.hidden_inputs import shown_commits
from trunkline.server.iceberg.catalog import Catalog, Found
from trunkline.server.iceberg.credentials import storage_config
from trunkline.server.iceberg.keys import METADATA, PREFIX
from trunkline.server.iceberg.locations import object_location
from trunkline.server.iceberg.metadata import Json
from trunkline.server.iceberg.names import Namespace, Place, below, place_of
from trunkline.server.s3.names import bucket_of

SEPARATOR = "\x1f"
"""Between the parts of a namespace, as the protocol has it."""


class NoNamespace(NotFound):
    """A namespace that is not there, or that the caller may not see."""


class NoView(NotFound):
    """There are no views."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request, by somebody who is known, with the parts of its path that have names."""

    catalog: Catalog
    call: Call
    request: Request
    values: dict[str, str]

    @property
    def namespace(self) -> Namespace:
        return tuple(self.values["namespace"].split(SEPARATOR))

    @property
    def place(self) -> Place:
        parts = (*self.namespace, self.values["table"])
        place = place_of(parts)
        if place is None:
            raise NotFound(f'There is no table "{".".join(parts)}".')
        if not self.call.may(Permission.READ, place.repo):
            self.call.notes["target"] = f"{place.repo.project}/{place.repo.repo}"
            raise self.call.hidden(f'There is no table "{place}".')
        return place

    def table(self, place: Place) -> Found:
        return self.catalog.table(place, partial(self.call.may, Permission.READ))

    def places(self, namespace: Namespace) -> list[Place]:
        """The tables in a namespace, at any depth, that the caller may read."""
        if len(namespace) == 1:
            repos = self.catalog.repos(namespace[0])
        else:
            named = place_of(namespace[:2])
            repos = [named.repo] if named else []
        seen: list[RepoName] = self.call.visible(repos, lambda repo: repo)
        found = [place for repo in seen for place in self.catalog.places(repo)]
        return [one for one in found if one.parts[: len(namespace)] == namespace]

    def require_namespace(self, namespace: Namespace) -> list[Place]:
        """That a namespace is there; its tables. A project is, though it may have none."""
        places = self.places(namespace)
        is_project = len(namespace) == 1 and namespace[0] in self.projects()
        if not is_project and not any(len(one.parts) > len(namespace) for one in places):
            raise NoNamespace(f'There is no namespace "{".".join(namespace)}".')
        return places

    def projects(self) -> dict[str, str]:
        seen = self.call.who.may_see
        return {one.name: one.description for one in self.catalog.projects() if seen(one.name)}


def get_config(visit: Visit) -> Json:
    # Which endpoints there are is not told: who knows does not ask the others, and would not
    # read our words about why a table cannot be written here.
    return {"defaults": {}, "overrides": {}}


def list_namespaces(visit: Visit) -> Json:
    parent = visit.request.query_params.get("parent")
    if not parent:
        return {"namespaces": [[name] for name in visit.projects()]}
    namespace = tuple(parent.split(SEPARATOR))
    inner, _ = below(visit.require_namespace(namespace), namespace)
    return {"namespaces": [list(one) for one in inner]}


def load_namespace(visit: Visit) -> Json:
    namespace = visit.namespace
    visit.require_namespace(namespace)
    told = visit.projects().get(namespace[0], "") if len(namespace) == 1 else ""
    return {"namespace": list(namespace), "properties": {"comment": told} if told else {}}


def has_namespace(visit: Visit) -> None:
    visit.require_namespace(visit.namespace)


def list_tables(visit: Visit) -> Json:
    namespace = visit.namespace
    _, tables = below(visit.require_namespace(namespace), namespace)
    return {
        "identifiers": [{"namespace": list(namespace), "name": one.parts[-1]} for one in tables]
    }


def has_table(visit: Visit) -> None:
    visit.table(visit.place)


def load_table(visit: Visit) -> Json:
    place = visit.place
    found = visit.table(place)
    config = storage_config(visit.call, visit.request)
    only_refs = visit.request.query_params.get("snapshots") == "refs"
    return {
        "metadata-location": object_location(place.repo, found.head, place.path, METADATA),
        "metadata": found.metadata(_messages(visit.call, found), only_refs),
        "config": config,
        "storage-credentials": _credentials(place, config),
    }


def load_credentials(visit: Visit) -> Json:
    place = visit.place
    visit.table(place)
    config = storage_config(visit.call, visit.request)
    return {"storage-credentials": _credentials(place, config)}


def report_metrics(visit: Visit) -> None:
    """What a reader tells of its scan is taken and not kept."""


def list_views(visit: Visit) -> Json:
    visit.require_namespace(visit.namespace)
    return {"identifiers": []}


def has_view(visit: Visit) -> None:
    raise NoView(f'There is no view "{visit.values["view"]}".')


def _credentials(place: Place, config: dict[str, str]) -> list[Json]:
    """The same for all of the bucket. DuckDB takes a single one to be for the table's folder."""
    bucket = f"s3://{bucket_of(place.repo)}/"
    return [{"prefix": prefix, "config": config} for prefix in (bucket, bucket + PREFIX)]


def _messages(call: Call, found: Found) -> Callable[[Commit], str]:
    """The messages of commits, without names that the caller may not know."""
    if call.who.may(Permission.READ, LAKE):
        return lambda commit: commit.message
    shown = shown_commits(call, [one.commit for one in found.history.versions])
    known = {one.id: one.message for one in shown}
    return lambda commit: known[commit.id]


@dataclass(frozen=True, slots=True)
class Operation:
    """`path` is below /iceberg; parts in braces are given to `act` by name."""

    method: str
    path: str
    act: Callable[[Visit], Json | None]

    def match(self, method: str, parts: list[str]) -> dict[str, str] | None:
        wanted = self.path.split("/")[2:]
        if method != self.method or len(parts) != len(wanted):
            return None
        values = {}
        for name, part in zip(wanted, parts, strict=True):
            if name.startswith("{"):
                values[name[1:-1]] = part
            elif name != part:
                return None
        return values


_TABLES = "/iceberg/v1/namespaces/{namespace}/tables"
_TABLE = f"{_TABLES}/{{table}}"
_NAMESPACE = "/iceberg/v1/namespaces/{namespace}"
OPERATIONS = (
    Operation("GET", "/iceberg/v1/config", get_config),
    Operation("GET", "/iceberg/v1/namespaces", list_namespaces),
    Operation("GET", _NAMESPACE, load_namespace),
    Operation("HEAD", _NAMESPACE, has_namespace),
    Operation("GET", _TABLES, list_tables),
    Operation("GET", _TABLE, load_table),
    Operation("HEAD", _TABLE, has_table),
    Operation("GET", f"{_TABLE}/credentials", load_credentials),
    Operation("POST", f"{_TABLE}/metrics", report_metrics),
    Operation("GET", f"{_NAMESPACE}/views", list_views),
    Operation("GET", f"{_NAMESPACE}/views/{{view}}", has_view),
    Operation("HEAD", f"{_NAMESPACE}/views/{{view}}", has_view),
)


def kind_of(error: TrunklineError, operation: Operation | None) -> str:
    """What Iceberg calls an error: clients make their own of it."""
    if isinstance(error, NoNamespace):
        return "NoSuchNamespaceException"
    if isinstance(error, NoView):
        return "NoSuchViewException"
    if isinstance(error, NotFound):
        is_table = operation is not None and operation.path.startswith(_TABLE)
        return "NoSuchTableException" if is_table else "NotFoundException"
    return _KINDS.get(error.http_status, "ServiceFailureException")


_KINDS = {
    400: "BadRequestException",
    401: "NotAuthorizedException",
    403: "ForbiddenException",
    409: "CommitFailedException",
    412: "BadRequestException",
    413: "BadRequestException",
    429: "TooManyRequestsException",
    501: "UnsupportedOperationException",
    503: "ServiceUnavailableException",
    504: "ServiceUnavailableException",
}
