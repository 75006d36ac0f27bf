"""The whole API against its own description: no answer that it does not tell of, and no bug."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.server.security.world import World, a_world
from trunkline.model.ids import new_id
from trunkline.sdk.wire.values import ARROW, BUNDLE

pytestmark = pytest.mark.slow


@schemathesis.check
def no_bug(ctx: Any, response: Any, case: Any) -> None:
    """Where something is not to be had for now that is told with 503; a bug with 500."""
    assert response.status_code != 500, response.text


@schemathesis.serializer(BUNDLE, "application/x-tar", ARROW)
def as_it_is(ctx: Any, value: Any) -> Any:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


CHECKS = [
    no_bug,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 4
WITHOUT_END = ("/events", "/logs/events")
REAL: dict[str, list[str]] = {
    "project": ["shop", "other"],
    "repo": ["orders", "sizes", "visible", "sessions", "feed", "clicks"],
    "branch": ["main", "work"],
    "tag": ["v1"],
    "at": ["main", "work", "v1", "main~1"],
    "commit": ["main"],
    "path": ["/a.txt", "/table", "/"],
    "ref": ["shop/orders@main", "shop/orders@main:/table"],
    "old": ["shop/orders@work", "shop/orders@work:/table"],
    "new": ["shop/orders@main", "shop/orders@main:/table"],
    "pipeline": ["shop/sizes"],
    "name": ["reader", "heavy"],
    "txn": [new_id()],
}
"""What is put in the place of some of what is made up, so that more than 404 is seen."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with a_world(tmp_path_factory.mktemp("world")) as made:
        yield made


def _real(draw: Any, given: Any) -> None:
    for name in list(given or ()):
        if name in REAL and draw(st.integers(0, 3)):
            given[name] = draw(st.sampled_from(REAL[name]))


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_the_api_is_as_it_says(world: World, mode: GenerationMode):
    token = {"Authorization": f"Bearer {world.tokens['root']}"}
    description = requests.get(f"{world.api}/openapi.json", timeout=60).json()
    schema = schemathesis.openapi.from_dict(description)
    jobs = [job.id for job in world.lake.jobs("shop/sizes")]
    REAL["job"] = REAL["set_id"] = REAL["commit_id"] = jobs
    checks = [*CHECKS, *([negative_data_rejection] if mode is GenerationMode.NEGATIVE else [])]
    flaws: dict[str, str] = {}
    with requests.Session() as session:
        for result in schema.get_all_operations():
            operation: Any = result.ok()  # type: ignore[union-attr]
            if operation.path.endswith(WITHOUT_END) and operation.method == "get":
                continue
            if mode is GenerationMode.NEGATIVE and not [*operation.query, *operation.body]:
                continue  # every text is good in a path
            cases = operation.as_strategy(generation_mode=mode)

            @seed(1)
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(cases, st.data())
            def ask(case: Any, data: Any) -> None:
                if mode is GenerationMode.POSITIVE:
                    _real(data.draw, case.path_parameters)
                    _real(data.draw, case.query)
                answer = case.call(world.url, session, headers=token, timeout=60)
                case.validate_response(answer, checks=checks)

            try:
                ask()
            except Unsatisfiable:
                pass  # nothing that it takes can be wrong
            except (Exception, BaseExceptionGroup) as error:
                flaws[operation.label] = _told(error)
    assert not flaws, "\n\n".join(f"{name}\n{text}" for name, text in flaws.items())


def _told(error: BaseException) -> str:
    return "\n".join(str(one)[:1500] for one in getattr(error, "exceptions", (error,)))
