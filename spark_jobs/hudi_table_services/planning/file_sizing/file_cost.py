"""Convert between rows and bytes of base files, from estimates of bytes per row."""

import math
from dataclasses import dataclass

from hudi_table_services.model.file_sizing import FileSizingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCost:
    """Bytes that rows add to a base file.

    Each row adds its data. Until the bloom filter in the footer has its maximum size, each row also makes the footer
    grow. `FileSizingOptions` describes the fields that begin with `footer_`.
    """

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
        """Estimate the size of a new file, in bytes."""
        return self.footer_base_bytes + self.added_bytes(records, existing_records=0)

    def added_bytes(self, records: int, *, existing_records: int) -> int:
        """Return the bytes, rounded up, that `records` more rows add to a file of `existing_records` rows."""
        in_footer = min(records, self._footer_room(existing_records))
        return math.ceil(records * self.bytes_per_record + in_footer * self.footer_bytes_per_record)

    def records_within(self, room_bytes: int, *, existing_records: int) -> int:
        """Return the largest number of rows whose `added_bytes` are at most `room_bytes`; 0 if no row fits."""
        if room_bytes <= 0:
            return 0
        footer_room = self._footer_room(existing_records)
        records = math.floor(room_bytes / (self.bytes_per_record + self.footer_bytes_per_record))
        if records > footer_room:
            footer_bytes = footer_room * self.footer_bytes_per_record
            records = math.floor((room_bytes - footer_bytes) / self.bytes_per_record)
        # Floating point division may round the result up by one row.
        fits = records <= 0 or self.added_bytes(records, existing_records=existing_records) <= room_bytes
        return max(records if fits else records - 1, 0)

    def records_in(self, file_bytes: int) -> int:
        """Estimate the number of rows in a file of this size."""
        return self.records_within(file_bytes - self.footer_base_bytes, existing_records=0)

    def records_per_file(self, options: FileSizingOptions) -> int:
        """Return how many rows fill a new file: at least 1, and without auto split at most `insert_split_size`."""
        room = options.max_file_size_bytes - self.footer_base_bytes
        fitting = max(self.records_within(room, existing_records=0), 1)
        return fitting if options.insert_auto_split else min(options.insert_split_size, fitting)

    def _footer_room(self, existing_records: int) -> int:
        return max(self.footer_max_records - existing_records, 0)
