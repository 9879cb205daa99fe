"""Find the exact number of rows of live files if this takes few reads. Otherwise the number is unknown."""

import logging
from collections.abc import Iterable, Mapping, Sequence

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)

FOOTER_LIMIT = 50
"""Largest number of footers that are read for one table. A footer with a bloom filter has about half a megabyte."""


def recorded_row_counts(writes: Iterable[CommitMetadata]) -> dict[str, int]:
    """Map the path of each file that the writes list to its number of rows.

    A write stat counts all rows of the file (HoodieWriteStat.numWrites), not only the changed rows.
    """
    return {stat.path: stat.num_writes for write in writes for stat in write.write_stats}


def row_counts(
    storage: Storage,
    slices: Sequence[FileSlice],
    recorded: Mapping[str, int],
    footer_limit: int = FOOTER_LIMIT,
) -> dict[str, int]:
    """Map the paths of base files to their numbers of rows. Files with an unknown number of rows are left out.

    Slices with log files are left out, because their number of rows is known only after a merge.

    Args:
        recorded: see `recorded_row_counts`.
        footer_limit: largest number of footers to read for files that no write records. If there are more such files,
            no footer is read.
    """
    paths = [each.base_file_path for each in slices if each.base_file_path and not each.log_files]
    found = {path: recorded[path] for path in paths if path in recorded}
    missing = [path for path in paths if path not in recorded and path.endswith(".parquet")]
    if missing and len(missing) <= footer_limit:
        counts = map_in_parallel(lambda path: _footer_rows(storage, path), missing)
        found |= {path: count for path, count in zip(missing, counts, strict=True) if count is not None}
    return found


def _footer_rows(storage: Storage, path: str) -> int | None:
    try:
        from hudi_table_services.execution.footer_rows import footer_row_count  # needs pyarrow
    except ModuleNotFoundError:
        return None
    try:
        return footer_row_count(storage, path)
    except HudiTableServiceError as error:  # a clean may have deleted the file in the meantime
        _LOG.info("The rows of %s were not counted: %s", path, error)
        return None
