"""Paths as plans, markers and metadata of a table give them: below the base path, or refused."""

_NAMES_OF_NOTHING = ("", ".", "..")
_OWN_FOLDER = ".hoodie"


def is_inside_table(path: str) -> bool:
    """Whether a path relative to the base path stays below it, however it is taken; ``""`` is the base path."""
    return not path or ("\0" not in path and not any(name in _NAMES_OF_NOTHING for name in path.split("/")))


def may_hold_data(partition_path: str) -> bool:
    """Whether rows may lie there: inside of the table, and not among the files that Hudi keeps about it."""
    return is_inside_table(partition_path) and partition_path.partition("/")[0] != _OWN_FOLDER
