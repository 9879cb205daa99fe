"""Arithmetic of filling files with rows: what fits, and how rows are divided over new files."""

import math
from dataclasses import dataclass

from hudi_table_services.model.file_sizing import FileSizingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCost:
    """What rows cost in bytes: their data, and the footer until the bloom filter stops growing."""

    bytes_per_record: float
    footer_bytes_per_record: float = 0.0
    footer_max_records: int = 0
    footer_base_bytes: int = 0

    @classmethod
    def of(cls, bytes_per_record: float, options: FileSizingOptions) -> "FileCost":
        return cls(
            bytes_per_record=bytes_per_record,
            footer_bytes_per_record=options.footer_bytes_per_record,
            footer_max_records=options.footer_max_records,
            footer_base_bytes=options.footer_base_bytes,
        )

    def file_bytes(self, records: int) -> int:
        """Estimated size of a new file."""
        return self.footer_base_bytes + self.added_bytes(records, existing_records=0)

    def added_bytes(self, records: int, *, existing_records: int) -> int:
        """Growth of a file of `existing_records` rows by `records` more, rounded up."""
        in_footer = min(records, self._footer_room(existing_records))
        return math.ceil(records * self.bytes_per_record + in_footer * self.footer_bytes_per_record)

    def records_within(self, room_bytes: int, *, existing_records: int) -> int:
        """Most rows whose `added_bytes` are at most `room_bytes`; 0 where not one fits."""
        if room_bytes <= 0:
            return 0
        footer_room = self._footer_room(existing_records)
        records = math.floor(room_bytes / (self.bytes_per_record + self.footer_bytes_per_record))
        if records > footer_room:
            footer_bytes = footer_room * self.footer_bytes_per_record
            records = math.floor((room_bytes - footer_bytes) / self.bytes_per_record)
        # The division may be one too high in the last bit.
        fits = records <= 0 or self.added_bytes(records, existing_records=existing_records) <= room_bytes
        return max(records if fits else records - 1, 0)

    def records_in(self, file_bytes: int) -> int:
        """Estimated rows of a file whose rows nobody counted."""
        return self.records_within(file_bytes - self.footer_base_bytes, existing_records=0)

    def records_per_file(self, options: FileSizingOptions) -> int:
        """Rows that fill a new file, at least 1. With auto split off the split size, as far as it fits."""
        room = options.max_file_size_bytes - self.footer_base_bytes
        fitting = max(self.records_within(room, existing_records=0), 1)
        return fitting if options.insert_auto_split else min(options.insert_split_size, fitting)

    def _footer_room(self, existing_records: int) -> int:
        return max(self.footer_max_records - existing_records, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How rows are divided.

    Attributes:
        new_files: rows of each new file, largest first.
        absorbed: rows on top for each of the files that were filled before, in their order.
    """

    new_files: tuple[int, ...]
    absorbed: tuple[int, ...]


def divide_records(records: int, per_file: int, filled_files: int, options: FileSizingOptions) -> Division:
    """Divide rows over new files of at most `per_file` rows, without leaving a tiny remainder.

    A remainder of at most half a file is put on top of the full files (those of this division and the
    `filled_files` that were padded up to the brim before), if none then passes the max size by more than the
    tolerance. Else all new files get the same, if each is then well above the small-file limit (past the
    middle between it and the max size), so that none has to be rewritten to be padded. Else full files and
    one last file of what is left, which later batches pad.
    """
    full, rest = divmod(records, per_file)
    targets = full + filled_files
    nothing = (0,) * filled_files
    if rest == 0:
        return Division(new_files=(per_file,) * full, absorbed=nothing)
    if 2 * rest <= per_file and rest <= targets * math.floor(options.remainder_tolerance * per_file):
        extra = spread_evenly(rest, targets)
        new_files = tuple(per_file + more for more in extra[filled_files:])
        return Division(new_files=new_files, absorbed=extra[:filled_files])
    if full and _is_finished(records // (full + 1), per_file, options):
        return Division(new_files=spread_evenly(records, full + 1), absorbed=nothing)
    return Division(new_files=(per_file,) * full + (rest,), absorbed=nothing)


def spread_evenly(records: int, files: int) -> tuple[int, ...]:
    """Shares that differ by at most one row, larger ones first."""
    share, more = divmod(records, files)
    return (share + 1,) * more + (share,) * (files - more)


def _is_finished(share: int, per_file: int, options: FileSizingOptions) -> bool:
    # Estimates err: a file just above the limit may come out small, one past the middle hardly.
    maximum = options.max_file_size_bytes
    return 2 * maximum * share >= per_file * (maximum + options.small_file_limit_bytes)
