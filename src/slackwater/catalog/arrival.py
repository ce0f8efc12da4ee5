"""What one run brings to one table: inserted, updated and deleted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

CHANGE_TYPE: Final = "_change_type"


@dataclass(frozen=True, slots=True)
class Change:
    """Inserts and deletes of one run, as bags of whole rows.

    An update is a delete of the old row and an insert of the new one: the last `updates` rows of both tables are
    such pairs, in the same order. Applied to a bag, the deletes count against the rows present before the inserts.
    """

    inserts: pa.Table
    deletes: pa.Table
    updates: int = 0

    @classmethod
    def of(cls, arrival: pa.Table | Change) -> Change:
        """Rows that only arrive, unless the arrival says otherwise."""
        return arrival if isinstance(arrival, Change) else cls(arrival, arrival.schema.empty_table())

    @property
    def is_empty(self) -> bool:
        return not (self.inserts.num_rows or self.deletes.num_rows)

    def feed(self) -> pa.Table:
        """The change as rows of a change feed: deletes, then inserts, then updates as old and new rows."""
        new = self.inserts.num_rows - self.updates
        gone = self.deletes.num_rows - self.updates
        return pa.concat_tables(
            [
                _labelled(self.deletes.slice(0, gone), "delete"),
                _labelled(self.inserts.slice(0, new), "insert"),
                _labelled(self.deletes.slice(gone), "update_preimage"),
                _labelled(self.inserts.slice(new), "update_postimage"),
            ]
        )


def _labelled(rows: pa.Table, change_type: str) -> pa.Table:
    field = pa.field(CHANGE_TYPE, pa.string(), nullable=False)
    return rows.append_column(field, pa.repeat(change_type, rows.num_rows))
