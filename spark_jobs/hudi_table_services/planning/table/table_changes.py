"""What another writer may do to a table between a job's first look at it and its commit."""

import re

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.model.schema import StructType


def refuse_changed_schema(planned_with: StructType | None, found: StructType | None) -> None:
    """A merge by an older schema would erase the columns that a newer one added.

    Raises:
        CommitConflictError: the table's schema is another one than the job planned with.
    """
    if planned_with is None or found is None or planned_with == found:
        return
    added = sorted(set(found.names) - set(planned_with.names))
    what = f"added {', '.join(added)} to it" if added else "changed its columns"
    raise CommitConflictError(
        f"Another writer changed the table's schema during this write: it {what}.",
        hint="Nothing was committed; run the request again.",
    )


def partition_matches(partition_path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a partition is named; ``*`` stands for any text, as in Hudi's delete_partition, and nothing else does."""
    return any(
        re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), partition_path, re.DOTALL)
        for pattern in patterns
    )
