"""Errors about damaged bytes get the path of their file here: decoders know bytes, and no paths."""

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_table_services.errors import CorruptTableError

_HINT = "Restore the file from a copy; nothing was deleted on its account."


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add the path, relative to the base path, to an error about damage that names no file yet.

    Raises:
        CorruptTableError: of the class that was raised inside.
    """
    try:
        yield
    except CorruptTableError as error:
        if error.path:
            raise
        named = type(error)(f"{path}: {error.message}", hint=error.hint or _HINT, path=path)
        raise named from error
