"""What the models of a spec's maps are made of."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.fields import FieldInfo


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


def fields_of(model: type[Fields]) -> dict[str, FieldInfo]:
    """The fields by the names that users write."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


class OrShort:
    """Tells the schema that a map may be written shorter: as text, or as a number."""

    def __init__(self, short: dict[str, Any]) -> None:
        self.short = short

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(core_schema), self.short]}


class OrOne(OrShort):
    """Marks a list that may be written without brackets if it has one member: a map."""

    def __init__(self, member: dict[str, Any]) -> None:
        super().__init__(member)


def short(field: str, *kinds: type) -> BeforeValidator:
    """Lets a map be written as the value of its main field."""
    return BeforeValidator(
        lambda given: (
            {field: given} if isinstance(given, kinds) and not isinstance(given, bool) else given
        )
    )
