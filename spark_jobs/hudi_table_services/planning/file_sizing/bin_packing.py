"""Divide the rows of a batch among new files."""

import math
from dataclasses import dataclass

from hudi_table_services.model.file_sizing import FileSizingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """The number of rows that each file gets.

    Attributes:
        new_files: number of rows of each new file, largest first.
        absorbed: number of additional rows for each existing file that padding has filled, in the order of these files.
    """

    new_files: tuple[int, ...]
    absorbed: tuple[int, ...]


def divide_records(records: int, per_file: int, filled_files: int, options: FileSizingOptions) -> Division:
    """Divide rows among new files of at most `per_file` rows, without leaving a tiny remainder.

    The function uses the first of these divisions whose condition is met:

    1. Add the remainder to the full files: the full new files and the `filled_files` that padding has filled to the
       maximum size. Condition: the remainder is at most half a file, and no file exceeds the maximum size by more than
       the tolerance.
    2. Give all new files an equal share. Condition: each file is larger than the mean of the small-file limit and the
       maximum size, so that no later batch has to rewrite the file in order to pad it.
    3. Write full files, and one last file with the remainder. Later batches pad the last file.
    """
    full, rest = divmod(records, per_file)
    targets = full + filled_files
    none_absorbed = (0,) * filled_files
    if rest == 0:
        return Division(new_files=(per_file,) * full, absorbed=none_absorbed)
    if 2 * rest <= per_file and rest <= targets * math.floor(options.remainder_tolerance * per_file):
        extra = spread_evenly(rest, targets)
        new_files = tuple(per_file + more for more in extra[filled_files:])
        return Division(new_files=new_files, absorbed=extra[:filled_files])
    if full and _is_finished(records // (full + 1), per_file, options):
        return Division(new_files=spread_evenly(records, full + 1), absorbed=none_absorbed)
    return Division(new_files=(per_file,) * full + (rest,), absorbed=none_absorbed)


def spread_evenly(records: int, files: int) -> tuple[int, ...]:
    """Divide the rows into shares that differ by at most one row, larger shares first."""
    share, more = divmod(records, files)
    return (share + 1,) * more + (share,) * (files - more)


def _is_finished(share: int, per_file: int, options: FileSizingOptions) -> bool:
    # Sizes are estimates, so a file that is planned just above the limit may be below the limit when written. A file
    # that is planned above the mean of limit and maximum is unlikely to be below the limit.
    maximum = options.max_file_size_bytes
    return 2 * maximum * share >= per_file * (maximum + options.small_file_limit_bytes)
