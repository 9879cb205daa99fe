"""Reasons why a metadata table cannot be used.

The caller then lists the folders or reads the data files instead, because with wrong metadata it would miss rows.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from hudi_table_services.errors import (
    CorruptTableError,
    ObjectNotFoundError,
    TableNotFoundError,
    UnsupportedTableError,
)

_SHOWN = 3
_Result = TypeVar("_Result")


class Reason(Enum):
    """Why a partition of a metadata table cannot be used."""

    NOT_LISTED = "the properties of the table do not list the partition"
    BEING_BUILT = "a writer is building the partition"
    ABSENT = "the properties of the table list a metadata table that does not exist"
    UNSUPPORTED = "the metadata table has a version, codec or kind of block that this release does not read"
    DAMAGED = "files of the metadata table are damaged, lost or contradict each other"
    BEHIND = "the metadata table lacks completed instants of the table"
    AHEAD = "the metadata table has instants that the table does not have"
    CHANGED = "a writer changed the metadata table while this job read it"


@dataclass(frozen=True, slots=True)
class UnusableMetadataTable:
    """The result of a read, if the metadata table cannot be used.

    Attributes:
        message: sentence with the details, for logs and reports.
        path: the file that is the cause, relative to the base path; empty if the cause is not a single file.
    """

    reason: Reason
    message: str
    path: str = ""


class UnusableError(Exception):
    """The metadata table cannot be used. `usable_or_reason` turns this exception into an `UnusableMetadataTable`."""

    def __init__(self, reason: Reason, message: str, path: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.path = path


def usable_or_reason(read: Callable[[], _Result]) -> _Result | UnusableMetadataTable:
    """Return the result of a function that reads a metadata table, or why the metadata table cannot be used.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """
    try:
        return read()
    except UnusableError as error:
        return UnusableMetadataTable(error.reason, str(error), error.path)
    except TableNotFoundError as error:
        return UnusableMetadataTable(Reason.ABSENT, error.message)
    except UnsupportedTableError as error:
        return UnusableMetadataTable(Reason.UNSUPPORTED, error.message, error.path)
    except CorruptTableError as error:
        return UnusableMetadataTable(Reason.DAMAGED, error.message, error.path)
    except ObjectNotFoundError as error:
        return UnusableMetadataTable(Reason.CHANGED, error.message, error.path)


def some(names: Collection[str]) -> str:
    """Return the first names in alphabetical order, and the number of the others; ``none`` for no names."""
    shown = sorted(names)[:_SHOWN]
    more = len(names) - len(shown)
    return (", ".join(shown) or "none") + (f" and {more} more" if more else "")
