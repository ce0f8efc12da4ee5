"""What all sections of a job file share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of the file: no unknown keys, and no change once it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True)

    def states(self, key: str) -> bool:
        """Whether the file has the key, be it with the default."""
        return key in self.model_fields_set
