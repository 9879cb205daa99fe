"""Errors about damaged bytes that say which file holds them: decoders know bytes, and no paths."""

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_table_services.errors import CorruptTableError

_HINT = "Restore the file from a copy; nothing was deleted on its account."


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Put the path, relative to the base path, before the message of an error about damage.

    Raises:
        CorruptTableError: of the class that was raised inside.
    """
    try:
        yield
    except CorruptTableError as error:
        if path in error.message:
            raise
        raise type(error)(f"{path}: {error.message}", hint=error.hint or _HINT) from error
