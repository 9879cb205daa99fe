"""The rule by which a merge-on-read table merges the versions of a record in the base file and the log files.

A merge has two phases. First, the log entries of each key are merged with each other, oldest first. Then the result is
merged with the row of the base file, if there is one. Hudi 0.15 merges tables of version 6 with payload classes
(HoodieMergedLogRecordScanner and subclasses of BaseAvroPayload), and Hudi 1.2 merges tables of version 8 and later with
merge modes (BufferedRecordMergerFactory). The attributes of `MergeRule` are the differences between these rules.
"""

from dataclasses import dataclass
from enum import Enum


class MergeOrder(str, Enum):
    """Which of two versions of a record wins.

    BY_ORDERING: the version with the larger ordering value, whether this version is a row or a delete. A delete without
        ordering value always deletes all earlier versions, and every later row wins.
    BY_ARRIVAL: the later version.
    VERSION_6: the log row with the larger ordering value. A delete in a log deletes an earlier log row, unless the
        ordering value of the row is larger. A log row after a delete wins, whatever its ordering value. A delete always
        deletes the row of the base file.
    """

    BY_ORDERING = "BY_ORDERING"
    BY_ARRIVAL = "BY_ARRIVAL"
    VERSION_6 = "VERSION_6"


class Fill(str, Enum):
    """Which columns of the winning row take their value from the other row.

    NOTHING: none; the winning row stays as it is.
    NULLS: the columns whose value is null (PartialUpdateAvroPayload).
    DEFAULTS: the columns whose value is the default of the column in the schema, which is null for most columns
        (OverwriteNonDefaultsWithLatestAvroPayload, and the partial update mode IGNORE_DEFAULTS).
    """

    NOTHING = "NOTHING"
    NULLS = "NULLS"
    DEFAULTS = "DEFAULTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMarker:
    """A value in a column of the user that marks a row as a delete.

    Attributes:
        field: top-level column (``hoodie.payload.delete.field``).
        value: the value that marks deletes, as a string (``hoodie.payload.delete.marker``).
    """

    field: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRule:
    """Rule that decides which version of a record stays. If ordering values are equal, the later version stays.

    Attributes:
        ordering_fields: columns to compare, as a tuple; empty if the table has no ordering field. Null is smaller than
            every value.
        order: which of two versions wins.
        orders_base_rows: whether the larger ordering value also wins between a log row and the row of the base file;
            otherwise the log row wins.
        fill: which columns of the winning row take their value from the other row. The ordering value of the winning
            row does not change.
        fills_between_log_rows: whether `fill` also applies between two log rows; if not, `fill` applies only between a
            log row and the row of the base file.
        keeps_meta_of_latest: whether the meta columns of a filled row are those of the latest log row instead of those
            of the winning row (PartialUpdateAvroPayload of Hudi 0.15).
        delete_marker: value that marks rows as deletes, besides ``_hoodie_is_deleted``; None if there is none.
    """

    ordering_fields: tuple[str, ...]
    order: MergeOrder
    orders_base_rows: bool
    fill: Fill = Fill.NOTHING
    fills_between_log_rows: bool = False
    keeps_meta_of_latest: bool = False
    delete_marker: DeleteMarker | None = None
