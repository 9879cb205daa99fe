"""Divide the rows of a batch over new files."""

import math
from dataclasses import dataclass

from hudi_table_services.model.file_sizing import FileSizingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """Rows of each file.

    Attributes:
        new_files: rows of each new file, largest first.
        absorbed: additional rows for each of the files that padding filled before, in their order.
    """

    new_files: tuple[int, ...]
    absorbed: tuple[int, ...]


def divide_records(records: int, per_file: int, filled_files: int, options: FileSizingOptions) -> Division:
    """Divide rows over new files of at most `per_file` rows, without leaving a tiny remainder.

    First choice: a remainder of at most half a file is added to the full files (the full files of this division and
    the `filled_files` that padding has filled to the max size), if no file then exceeds the max size by more than the
    tolerance. Second choice: all new files get an equal share, if each is then well above the small-file limit (beyond
    the middle between that limit and the max size), so that none has to be rewritten to be padded. Otherwise: full
    files, and one last file with the remainder, which later batches pad.
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
    """Shares that differ by at most one row, larger shares first."""
    share, more = divmod(records, files)
    return (share + 1,) * more + (share,) * (files - more)


def _is_finished(share: int, per_file: int, options: FileSizingOptions) -> bool:
    # Sizes are estimates: a file planned just above the limit may turn out small, a file beyond the middle hardly.
    maximum = options.max_file_size_bytes
    return 2 * maximum * share >= per_file * (maximum + options.small_file_limit_bytes)
