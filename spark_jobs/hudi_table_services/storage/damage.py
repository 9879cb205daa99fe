"""Add the path of a damaged file to the errors of decoders. Decoders receive only bytes, not paths."""

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_table_services.errors import CorruptTableError

_METADATA_TABLE = ".hoodie/metadata/"
_HINT = "Restore the file from a backup. No file was deleted because of the damage."
REBUILD_HINT = "Build the metadata table again with rebuild_metadata_table.py. No row of the table is lost."
"""Hint about a damaged metadata table: its content can be computed from the files of the table."""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Add this path to an error about damage if the error names no file yet. The path is relative to the base path.

    Raises:
        CorruptTableError: the new error has the class of the original error.
    """
    try:
        yield
    except CorruptTableError as error:
        if error.path:
            raise
        hint = REBUILD_HINT if path.startswith(_METADATA_TABLE) else error.hint or _HINT
        named = type(error)(f"{path}: {error.message}", hint=hint, path=path)
        raise named from error
