"""Detect schema changes by concurrent writers, and match the partition patterns of delete_partition."""

import re

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.model.schema import StructType


def refuse_changed_schema(planned_with: StructType | None, found: StructType | None) -> None:
    """Refuse to commit rows that were merged with an outdated schema.

    Such rows would erase the columns that another writer has added since the job read the schema.

    Raises:
        CommitConflictError: the table's schema differs from the schema that the job planned with.
    """
    if planned_with is None or found is None or planned_with == found:
        return
    added = sorted(set(found.names) - set(planned_with.names))
    what = f"added the columns {', '.join(added)}" if added else "changed the columns"
    raise CommitConflictError(
        f"Another writer changed the table's schema during this write: the writer {what}.",
        hint="Nothing was committed; run the request again.",
    )


def partition_matches(partition_path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern matches a partition. As in Hudi's delete_partition, ``*`` is the only wildcard."""
    return any(
        re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), partition_path, re.DOTALL)
        for pattern in patterns
    )
