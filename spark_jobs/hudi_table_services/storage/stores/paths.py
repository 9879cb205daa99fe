"""Paths below a table's base path: ``/`` between names, never absolute, never leading out of the table."""

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.table_path import is_inside_table


def checked_path(path: str) -> str:
    """The path itself; ``""`` is the base path.

    Raises:
        InvalidRequestError: the path could mean a place outside of the base path, or none.
    """
    if not is_inside_table(path):
        raise InvalidRequestError(f"{path!r} is not a path below the table's base path.")
    return path


def join_path(folder: str, name: str) -> str:
    """Path of a name in a folder, which may be the base path."""
    return f"{folder}/{name}" if folder else name


def file_name(path: str) -> str:
    """The last name of a path."""
    return path.rpartition("/")[2]
