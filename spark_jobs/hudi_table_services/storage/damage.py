"""Add the path of a damaged file to the errors of decoders. Decoders receive only bytes, not paths."""

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_table_services.errors import CorruptTableError

_HINT = "Restore the file from a copy; nothing was deleted on its account."


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add the path, relative to the base path, to an error about damage that does not name a file yet.

    Raises:
        CorruptTableError: with the class of the original error.
    """
    try:
        yield
    except CorruptTableError as error:
        if error.path:
            raise
        named = type(error)(f"{path}: {error.message}", hint=error.hint or _HINT, path=path)
        raise named from error
