"""What all parts of a study share."""

from pydantic import BaseModel, ConfigDict

__all__ = ["Part"]


class Part(BaseModel):
    """What all parts of a study share: no change, no unknown key, no value turned into another."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
