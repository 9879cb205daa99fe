"""Repeat a read if an archival or a rollback deleted a file between the listing of the timeline and the read."""

import logging
from collections.abc import Callable
from typing import TypeVar

from hudi_table_services.errors import ObjectNotFoundError

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3
_Found = TypeVar("_Found")


def repeat_if_deleted(read: Callable[[], _Found], what: str) -> _Found:
    """Return the result of `read`, which is called up to three times.

    Args:
        read: lists files and reads them; each call lists the files again.
        what: names what is read, for the log.

    Raises:
        ObjectNotFoundError: files were deleted during each of the calls.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return read()
        except ObjectNotFoundError as error:
            if attempt == _ATTEMPTS - 1:
                raise
            _LOG.info("A file was deleted while %s was read; reading again: %s", what, error)
    raise AssertionError("unreachable")
