"""What all parts of a study share."""

from typing import Any

from pydantic import BaseModel, ConfigDict

__all__ = ["Part"]


def _without_examples(schema: dict[str, Any]) -> None:
    """Leave the examples in Python out of a schema, which describes files."""
    if "description" in schema:
        schema["description"] = schema["description"].partition("\n\nExamples\n")[0]


class Part(BaseModel):
    """What all parts of a study share: no change, no unknown key, no value turned into another."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, json_schema_extra=_without_examples
    )
