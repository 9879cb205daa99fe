"""Paths relative to a table's base path. ``/`` separates names. No path is absolute or outside of the table."""

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.table_path import is_inside_table

TEMPORARY_PREFIX = ".tmp-"
"""First characters of the names of temporary files.

No reader treats files with this prefix as instants or data files, because no name in the table format has the prefix.
"""


def checked_path(path: str) -> str:
    """Return the path if it is inside the table; ``""`` is the base path.

    Raises:
        InvalidRequestError: the path may be outside of the base path, or is not a valid path.
    """
    if not is_inside_table(path):
        raise InvalidRequestError(f"{path!r} is not a path below the table's base path.")
    return path


def join_path(folder: str, name: str) -> str:
    """Path of a file or sub-folder in a folder; ``""`` as the folder is the base path."""
    return f"{folder}/{name}" if folder else name


def file_name(path: str) -> str:
    """The last name of a path."""
    return path.rpartition("/")[2]
