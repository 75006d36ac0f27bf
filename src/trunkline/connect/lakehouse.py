"""Tables of Delta and Iceberg, by the libraries of their own people.

What goes wrong is said in one line, as an error of ours: what may pass is `Unavailable`. A value
that was given as a secret is never in it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trunkline.errors import (
    NotAllowed,
    NotFound,
    Precondition,
    SourceUnreadable,
    TrunklineError,
    Unavailable,
)
from trunkline.model.reach import WITHOUT_URI

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_SECRET = "…"
_passing = re.compile(
    r"timed? ?out|timeout|connect|reset|refused|unreachable|dns|temporar|slow ?down|"
    r"\b(429|500|502|503|504)\b|too many requests|unavailable",
    re.IGNORECASE,
).search
_refused = re.compile(
    r"\b(401|403)\b|access ?denied|forbidden|unauthori[sz]ed|permission denied|"
    r"invalid ?access ?key|signature ?does ?not ?match|credential",
    re.IGNORECASE,
).search


def _library(name: str, extra: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise Precondition(
            f"Tables of {what} need {name}, which is not installed.",
            hint=f"pip install 'trunkline[{extra}]'",
        ) from None


def without_secrets(text: str, secrets: Mapping[str, Any]) -> str:
    """The first line of a message, with what is secret made unreadable."""
    line = next((one.strip() for one in text.splitlines() if one.strip()), "")
    for value in secrets.values():
        if isinstance(value, str) and len(value) > 3:
            line = line.replace(value, _SECRET)
    return re.sub(r"://[^/@\s]+@", "://", line)[:300]


def _worded(error: Exception, what: str, secrets: Mapping[str, Any]) -> TrunklineError:
    text = without_secrets(str(error), secrets) or type(error).__name__
    message = f"{what}: {text}"
    if _refused(str(error)):
        return NotAllowed(message, hint="Look at its options and secrets.")
    if isinstance(error, ConnectionError | TimeoutError) or _passing(str(error)):
        return Unavailable(message, hint="It is tried again.")
    return SourceUnreadable(message)


# -- Delta ----------------------------------------------------------------------------------


def deltalake() -> Any:
    """The library, which is installed only by those who want it."""
    return _library("deltalake", "delta", "Delta")


def storage_options(options: Mapping[str, Any], secrets: Mapping[str, Any]) -> dict[str, str]:
    """What the library is told of the store. Without more, environment variables say it."""
    given = {str(name): _text(value) for name, value in {**options, **secrets}.items()}
    endpoint = next((v for k, v in given.items() if k.lower().endswith("endpoint_url")), "")
    if endpoint.startswith("http://"):
        given.setdefault("AWS_ALLOW_HTTP", "true")
    return given


@contextmanager
def delta_errors(url: str, secrets: Mapping[str, Any]) -> Iterator[None]:
    """Errors of the library as ours."""
    library = deltalake()
    kinds = library.exceptions
    what = f"The Delta table {without_secrets(url, secrets)}"
    try:
        yield
    except kinds.TableNotFoundError:
        raise NotFound(f"{what} is not there.", hint="Look at url and options.") from None
    except kinds.CommitFailedError as error:
        text = without_secrets(str(error), secrets)
        raise Unavailable(
            f"{what}: others write to it: {text}", hint="It is tried again."
        ) from None
    except (kinds.SchemaMismatchError, kinds.DeltaProtocolError) as error:
        raise Precondition(f"{what}: {without_secrets(str(error), secrets)}") from None
    except (kinds.DeltaError, OSError, ValueError) as error:
        raise _worded(error, what, secrets) from None
    except Exception as error:
        if isinstance(error, TrunklineError) or type(error).__module__.startswith("trunkline"):
            raise
        raise _worded(error, what, secrets) from None


def open_delta(url: str, storage: Mapping[str, str], version: int | None = None) -> DeltaTable:
    """A table as of a version, or as it is now. To be called within `delta_errors`."""
    found: DeltaTable = deltalake().DeltaTable(
        url, version=version, storage_options=dict(storage) or None
    )
    return found


# -- Iceberg --------------------------------------------------------------------------------


def pyiceberg() -> Any:
    """The library, which is installed only by those who want it."""
    # It warns of deletes that find nothing, which is no news to anybody.
    warnings.filterwarnings("ignore", message="Delete operation did not match any records")
    return _library("pyiceberg", "iceberg", "Iceberg")


_CATALOGS = {
    "rest": "rest.RestCatalog",
    "sql": "sql.SqlCatalog",
    "glue": "glue.GlueCatalog",
    "hive": "hive.HiveCatalog",
    "dynamodb": "dynamodb.DynamoDbCatalog",
    "in-memory": "memory.InMemoryCatalog",
}


def open_catalog(
    options: Mapping[str, Any],
    secrets: Mapping[str, Any],
    check: Callable[[str], None],
    *,
    configured: bool = False,
) -> Catalog:
    """A catalog by its properties, as the library names them: type, uri, warehouse …

    `check` is asked for each file of this machine that it leads to. With `configured` it is one
    of the library's own configuration, by its `name`: a catalog that is named whole has nothing
    from there, such as credentials of another.
    """
    pyiceberg()
    from pyiceberg.catalog import infer_catalog_type
    from pyiceberg.utils.config import Config

    from trunkline.connect.icebergfiles import checked

    given = {str(name): _text(value) for name, value in {**options, **secrets}.items()}
    name = given.pop("name", "default")
    with iceberg_errors("The catalog", secrets):
        if configured:
            found: dict[str, Any] = dict(Config().get_catalog_config(name) or {})
            given = found | given
        if "uri" not in given and given.get("type", "").lower() not in WITHOUT_URI:
            raise Precondition("The catalog has no uri.", hint="Write catalog: {uri: https://…}.")
        told = given.get("type") or infer_catalog_type(name, dict(given))
        module, _, kind = _CATALOGS[str(getattr(told, "value", told)).lower()].partition(".")
        catalog = getattr(import_module(f"pyiceberg.catalog.{module}"), kind)
        opened: Catalog = checked(catalog, given, check)(name, **given)
        return opened


@contextmanager
def iceberg_errors(what: str, secrets: Mapping[str, Any]) -> Iterator[None]:
    """Errors of the library as ours."""
    pyiceberg()
    from pyiceberg import exceptions as kinds

    try:
        yield
    except (kinds.NoSuchTableError, kinds.NoSuchNamespaceError):
        raise NotFound(f"{what} is not there.", hint="Look at catalog and table.") from None
    except (
        kinds.CommitFailedException,
        kinds.CommitStateUnknownException,
        kinds.ServerError,
        kinds.TooManyRequestsError,
        kinds.WaitingForLockException,
    ) as error:
        text = without_secrets(str(error), secrets)
        raise Unavailable(f"{what}: {text}", hint="It is tried again.") from None
    except (kinds.UnauthorizedError, kinds.ForbiddenError, kinds.OAuthError) as error:
        text = without_secrets(str(error), secrets)
        raise NotAllowed(f"{what}: {text}", hint="Look at the catalog's secrets.") from None
    except (kinds.NotInstalledError, ImportError) as error:
        raise Precondition(f"{what}: {without_secrets(str(error), secrets)}") from None
    except Exception as error:
        if isinstance(error, TrunklineError):
            raise
        raise _worded(error, what, secrets) from None


def open_table(catalog: Catalog, name: str) -> Table:
    """A table. To be called within `iceberg_errors`."""
    return catalog.load_table(name)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
