"""Find the files of a source as Spark's file readers do, without Spark: a file, a folder or a glob."""

import difflib
import fnmatch
import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import FolderListing, Storage, StoredObject

_MATCHED_PATHS = 1_000
_SHOWN_NAMES = 3
_CLOSE = 0.75
"""Minimum similarity of a missing name to a name that an error proposes, as difflib computes it."""
_DIGITS = re.compile(r"\d")
_WILDCARDS = re.compile(r"[*?\[{]")
_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")
_ROOT = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*://[^/]*)?/*")
_LOCAL = re.compile(r"file:/+")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a source.

    Attributes:
        storage: storage of a folder above the file.
        stored: path below that folder, and size.
        partition_columns: names in the folders ``name=value`` between the source and the file. Spark adds them as
            columns.
    """

    storage: Storage
    stored: StoredObject
    partition_columns: tuple[str, ...]

    @property
    def uri(self) -> str:
        """Address of the file for messages."""
        return f"{self.storage.base_path.rstrip('/')}/{self.stored.path}"


def first_source_files(
    path: str, storage_options: Mapping[str, str], count: int = 1
) -> tuple[SourceFile, ...]:
    """Return the first files that Spark reads from a source, sorted by path.

    Args:
        path: a file, a folder, or a glob in the syntax of Hadoop: ``*``, ``?``, ``[a-c]``, ``{a,b}``.
        storage_options: settings of an object store.
        count: largest number of files. For each file, the function may have to list a folder, which is one request.

    Raises:
        InvalidRequestError: the source does not exist or has no files, or its address is not supported.
        StorageError: the storage refused to list or read the source.
    """
    if (host := urlsplit(path).netloc if path.startswith("file://") else "") not in ("", "localhost"):
        raise InvalidRequestError(
            f"The source {path!r} names a host, {host!r}, because two slashes follow file:.",
            hint="Write file:/// and the absolute path, or give the path without file://.",
        )
    root, names = _split(path)
    storage = open_storage(root, storage_options)
    matches = islice(_matches(storage, "", names), _MATCHED_PATHS)
    found = tuple(islice((file for match in matches for file in _files_of(storage, match)), count))
    if not found:
        raise _nothing_found(path, storage, names)
    return found


def source_files(path: str, storage_options: Mapping[str, str]) -> Iterator[SourceFile]:
    """Yield the files that Spark reads from a source, sorted by path. The arguments are those of `first_source_files`.

    Spark ignores files and folders whose names begin with ``_`` or ``.``.

    Raises:
        StorageError: the storage refused to list the source.
    """
    root, names = _split(path)
    storage = open_storage(root, storage_options)
    for match in _matches(storage, "", names):
        yield from _files_of(storage, match)


def source_pattern(path: str) -> tuple[str, tuple[re.Pattern[str], ...]]:
    """Return a folder above a glob, and one pattern for the names on each level below this folder.

    If the path contains no wildcard, return the path itself and no patterns.

    Args:
        path: a file, a folder, or a glob in the syntax of Hadoop.
    """
    folder, names = _split(path)
    if any(_WILDCARDS.search(name) for name in names):
        return folder, tuple(map(_expression, names))
    return (join_path(folder.rstrip("/"), "/".join(names)) if names else folder), ()


def _split(path: str) -> tuple[str, tuple[str, ...]]:
    """Split a path into its longest folder without wildcards, and the names below this folder."""
    path = _LOCAL.sub("/", path, count=1) if _LOCAL.match(path) else path  # Spark decodes no %XX in a path
    root = _ROOT.match(path)
    start = root.end() if root else 0
    names = [name for name in path[start:].split("/") if name]
    fixed = 0
    while fixed < len(names) - 1 and not _WILDCARDS.search(names[fixed]):
        fixed += 1
    folder = path[:start] + "/".join(names[:fixed])
    return folder or ".", tuple(names[fixed:])


def _matches(storage: Storage, folder: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths that match the names, one name per folder level. A path without wildcards need not exist."""
    if not any(_WILDCARDS.search(name) for name in names):
        yield "/".join(filter(None, (folder, *names)))
        return
    listing = storage.list_folder(folder)
    files = () if len(names) > 1 else tuple(each.name for each in listing.files)
    wanted = _expression(names[0])
    for name in sorted((*files, *listing.folders)):
        if wanted.fullmatch(name):
            yield from _matches(storage, join_path(folder, name), names[1:])


def _expression(glob: str) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(each.replace("[^", "[!")) for each in _alternatives(glob)))


def _alternatives(glob: str) -> list[str]:
    """Return globs without braces that together match the same names."""
    found = _ALTERNATIVES.search(glob)
    if found is None:
        return [glob]
    before, after = glob[: found.start()], glob[found.end() :]
    return [each for part in found[1].split(",") for each in _alternatives(before + part + after)]


def _files_of(storage: Storage, match: str) -> Iterator[SourceFile]:
    """Yield the match itself if it is a file; else the visible files below it."""
    if match and storage.exists(match):
        yield SourceFile(storage, StoredObject(match, storage.size(match), 0), ())
        return
    yield from _files_below(storage, match, ())


def _files_below(storage: Storage, folder: str, columns: tuple[str, ...]) -> Iterator[SourceFile]:
    listing = storage.list_folder(folder)
    files = {each.name: each for each in listing.files}
    # Spark sorts whole paths, so a folder is sorted by its name and a slash.
    for name in sorted((*files, *(f"{name}/" for name in listing.folders))):
        if not _is_visible(name):
            continue
        if name in files:
            yield SourceFile(storage, files[name], columns)
            continue
        column = (name.partition("=")[0],) if "=" in name else ()
        yield from _files_below(storage, join_path(folder, name.rstrip("/")), (*columns, *column))


def _is_visible(name: str) -> bool:
    # Spark reads folders such as _year=2026, whose names are partition columns.
    return not name.startswith(".") and ("=" in name or not name.startswith("_"))


def _nothing_found(path: str, storage: Storage, names: tuple[str, ...]) -> InvalidRequestError:
    if any(_WILDCARDS.search(name) for name in names):
        message = f"No file matches the source {path!r}."
        return InvalidRequestError(
            message,
            hint="Check the folder and the pattern. The characters * ? [ ] { } in a path belong to a pattern.",
        )
    last = "/".join(names)
    listing = storage.list_folder("")
    if last in listing.folders or storage.list_folder(last) != FolderListing():
        return InvalidRequestError(
            f"The source {path!r} has no files that Spark reads.",
            hint="Spark ignores names that begin with '_' or '.'. Check whether an earlier step wrote the files.",
        )
    there = sorted((*(each.name for each in listing.files), *(f"{name}/" for name in listing.folders)))
    return InvalidRequestError(
        f"The source {path!r} does not exist.", hint=_content(storage.base_path, last, there)
    )


def _content(folder: str, missing: str, names: Sequence[str]) -> str:
    """List names in the folder that does not contain `missing`. A name that resembles the missing name comes first."""
    if not names:
        return f"{folder} is empty or missing."
    close = _most_similar(missing, names)
    if close and _stem(close[0]) != _stem(missing) and _without_digits(close[0]) == _without_digits(missing):
        return _content_beside_number(folder, missing, names)
    shown = (*close, *(name for name in names if name not in close))[:_SHOWN_NAMES]
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    question = f"Did you mean {close[0]}? " if close else ""
    return f"{question}{folder} contains: {', '.join(shown)}{more}."


def _content_beside_number(folder: str, missing: str, names: Sequence[str]) -> str:
    """List the names before and after `missing`, which differs from them only in its numbers, such as a date."""
    begin = max(0, bisect_left(names, missing) - _SHOWN_NAMES // 2)
    shown = names[begin : begin + _SHOWN_NAMES]
    return (
        f"{folder} contains, among others: {', '.join(shown)}. If the files for {missing} can come later, wait for "
        "them before the load; otherwise correct the date or number in the path."
    )


def _without_digits(name: str) -> str:
    return _DIGITS.sub("", _stem(name))


def _most_similar(missing: str, names: Sequence[str]) -> Sequence[str]:
    """Return the name that resembles the missing name, as a sequence of one or no name.

    The comparison leaves out the endings of the names, because a common ending makes all files of a folder similar.
    """
    by_stem = {_stem(name): name for name in reversed(names)}
    return [by_stem[stem] for stem in difflib.get_close_matches(_stem(missing), by_stem, n=1, cutoff=_CLOSE)]


def _stem(name: str) -> str:
    return posixpath.splitext(name.rstrip("/"))[0].lower()
