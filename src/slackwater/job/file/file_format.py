"""The formats of files that sources and answers can have."""

from enum import StrEnum


class Format(StrEnum):
    """A format of files that Spark reads and writes by itself."""

    PARQUET = "parquet"
    ORC = "orc"
    CSV = "csv"
    JSON = "json"

    @property
    def is_text(self) -> bool:
        """Whether records have to be parsed."""
        return self in (Format.CSV, Format.JSON)
