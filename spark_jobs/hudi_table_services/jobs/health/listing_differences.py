"""Find the differences between the files that a metadata table lists and the files in the folders."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.storage.file_listing import is_partition
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.stores.storage import StoredObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Differences between two listings.

    Attributes:
        missing: number of files that the metadata table lists and that do not exist or have another size.
        unlisted: number of data files of completed writes that the metadata table does not list.
        examples: one line for each difference, missing files first, sorted by path.
    """

    missing: int
    unlisted: int
    examples: tuple[str, ...]


def compare_listings(
    in_metadata_table: Mapping[str, tuple[StoredObject, ...]],
    in_folders: Mapping[str, tuple[StoredObject, ...]],
    visibility: Visibility,
) -> Differences:
    """Compare the listing from the metadata table with the folders.

    Files of instants that are not completed are left out, because readers ignore them. Log files of table version 6 are
    not compared, because their names do not contain the instant that wrote them, and writers append to log files.

    Args:
        in_metadata_table: partition path → data files of completed instants.
        in_folders: every folder outside of ``.hoodie`` → its files.
    """
    sizes = {stored.path: stored.size_bytes for files in in_folders.values() for stored in files}
    seen = _compared((files for files in in_folders.values() if is_partition(files)), visibility)
    listed = _compared(in_metadata_table.values(), visibility)
    missing = list(_missing(listed, sizes))
    unlisted = sorted(seen.keys() - listed.keys())
    return Differences(
        missing=len(missing),
        unlisted=len(unlisted),
        examples=(*missing, *(f"{path}: not listed" for path in unlisted)),
    )


def _missing(listed: Mapping[str, int], sizes: Mapping[str, int]) -> Iterator[str]:
    for path, size in sorted(listed.items()):
        found = sizes.get(path)
        if found is None:
            yield f"{path}: listed, but does not exist"
        elif found != size:
            yield f"{path}: listed with {size} bytes, but has {found}"


def _compared(folders: Iterable[Iterable[StoredObject]], visibility: Visibility) -> dict[str, int]:
    """Map the paths of the data files of completed instants to the sizes of the files."""
    return {
        stored.path: stored.size_bytes
        for files in folders
        for stored in files
        if _is_compared(stored, visibility)
    }


def _is_compared(stored: StoredObject, visibility: Visibility) -> bool:
    if stored.name.startswith(".") and not visibility.has_own_log_instants:
        return False
    instant_time = instant_in_file_name(stored.name)
    return instant_time is not None and visibility.sees(instant_time)
