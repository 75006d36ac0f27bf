"""What the models of a spec's maps are made of."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field


class Ignored:
    """Marks a field that Pachyderm knows and that has no meaning here."""


NoMeaning = Annotated[Any, Ignored()]


def ignored(why: str) -> Any:
    return Field(default=None, description=f"Accepted and ignored: {why}")


def about(description: str, default: Any = None) -> Any:
    return Field(default=default, description=description)


class Fields(BaseModel):
    """A map of a spec. `refused` has fields that would be wrong to ignore, and what we say."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, title=None)
    refused: ClassVar[dict[str, str]] = {}
