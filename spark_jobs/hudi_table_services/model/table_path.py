"""Checks of the paths in plans, markers and metadata of a table: only paths below the base path are valid."""

_INVALID_NAMES = ("", ".", "..")
_OWN_FOLDER = ".hoodie"


def is_inside_table(path: str) -> bool:
    """Whether a relative path stays below the base path, however a reader interprets it; ``""`` is the base path."""
    return not path or ("\0" not in path and not any(name in _INVALID_NAMES for name in path.split("/")))


def may_hold_data(partition_path: str) -> bool:
    """Whether a partition path can contain data files: it is inside the table and not in ``.hoodie``."""
    return is_inside_table(partition_path) and partition_path.partition("/")[0] != _OWN_FOLDER
