"""Python packages that a function needs: which are not here."""

from importlib.metadata import version

import pytest

from trunkline.errors import InvalidSpec
from trunkline.pipelines.requirements import parse_requirement, unmet

PYTEST = version("pytest")


@pytest.mark.parametrize(
    ("requirement", "problems"),
    [
        ("pytest", []),
        ("PyTest>=1", []),
        (f"pytest=={PYTEST}", []),
        ("pytest<1", [f"pytest<1: {PYTEST} is installed"]),
        ("no-such-package-here", ["no-such-package-here: not installed"]),
        ("no-such-package-here>=2; python_version < '3'", []),
        ("pytest[dev]", None),
        ("pytest[nothing]", [f"pytest[nothing]: {PYTEST} has no such extra"]),
    ],
)
def test_what_is_missing(requirement, problems):
    found = unmet([requirement])
    if problems is None:
        assert all(problem.startswith("pytest[dev]: ") for problem in found)
        assert any(problem.endswith(": not installed") for problem in found)
    else:
        assert found == problems


def test_several():
    assert unmet([]) == []
    assert len(unmet(["pytest<1", "pytest>1", "no-such-package-here"])) == 2


@pytest.mark.parametrize("text", ["", "a b", "a>>1", "a @ file:///b"])
def test_what_is_no_requirement(text):
    with pytest.raises(InvalidSpec):
        parse_requirement(text)
