"""Find the instants that wrote data files: from their names or, for log files of table version 6, from their blocks."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.errors import MalformedFileNameError, ObjectNotFoundError
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.log_files.block_instants import BlockInstants, block_instants
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage, StoredObject


@dataclass(frozen=True, slots=True)
class FileInstant:
    """An instant in the name or the blocks of a data file. It wrote the file, or is the base instant of the slice."""

    partition_path: str
    file_id: str
    path: str
    instant_time: str
    is_log: bool = False


def written_instants(
    storage: Storage, version: TableVersion, listed: Mapping[str, Sequence[StoredObject]]
) -> Iterator[FileInstant]:
    """Yield the instants of the base files and log files in listings of partitions.

    In table version 6, a log file has several instants. One is the base instant in its name, because readers see the
    slice of the file if this instant counts as completed. The others are the instants of its blocks, except blocks that
    a rollback block removes. To find the others, the headers of all blocks of all log files are read in parallel.

    Raises:
        MalformedMetadataError: a log file is damaged before its end; the message names the file.
    """
    logs: list[tuple[str, StoredObject, LogFile]] = []
    for folder, files in listed.items():
        for stored in files:
            log = _log(stored)
            if log is not None:
                logs.append((folder, stored, log))
                yield FileInstant(folder, log.file_id, stored.path, log.instant_time, is_log=True)
                continue
            try:
                base = BaseFile.from_file_name(stored.name)
            except MalformedFileNameError:
                continue
            yield FileInstant(folder, base.file_id, stored.path, base.instant_time)
    if not version.layout.has_completion_time_in_names:
        yield from _of_blocks(storage, logs)


def writers_of_open_logs(
    storage: Storage, listed: Mapping[str, Sequence[StoredObject]], suspects: Collection[str]
) -> dict[str, frozenset[str]]:
    """Map log files of table version 6 to the instants of their blocks.

    The result omits three kinds of files: files without complete blocks, files with rollback blocks, and files with a
    block that a rollback block of the same slice removes.

    Args:
        suspects: paths of the log files of interest. Only the slices of these files are read.

    Raises:
        MalformedMetadataError: see `written_instants`.
    """
    logs = [
        (folder, stored, log)
        for folder, files in listed.items()
        for stored in files
        if (log := _log(stored)) is not None
    ]
    slices = {
        (folder, log.file_id, log.instant_time) for folder, stored, log in logs if stored.path in suspects
    }
    wanted = [entry for entry in logs if (entry[0], entry[2].file_id, entry[2].instant_time) in slices]
    found = {}
    for entries in _by_slice(storage, wanted).values():
        undone_later: set[str] = set()
        for _, path, instants in reversed(entries):
            undone_later |= instants.undone_after
            is_open = not instants.has_commands and not instants.writers & undone_later
            if instants.writers and is_open and path in suspects:
                found[path] = instants.writers
    return found


def _log(stored: StoredObject) -> LogFile | None:
    log = LogFile.parse_or_none(stored.name)
    return None if log is None or log.is_cdc else log


def _of_blocks(storage: Storage, logs: Sequence[tuple[str, StoredObject, LogFile]]) -> Iterator[FileInstant]:
    for (folder, file_id, _), entries in _by_slice(storage, logs).items():
        still: dict[str, str] = {}
        for _, path, found in entries:
            for time in found.undone_after:
                still.pop(time, None)
            still.update(dict.fromkeys(found.writers - found.undone_after, path))
        for time, path in still.items():
            yield FileInstant(folder, file_id, path, time, is_log=True)


def _by_slice(
    storage: Storage, logs: Sequence[tuple[str, StoredObject, LogFile]]
) -> dict[tuple[str, str, str], list[tuple[LogFile, str, BlockInstants]]]:
    """Read the log files. Returns them by slice, in merge order."""
    read = map_in_parallel(lambda entry: _block_instants(storage, entry[1]), logs)
    slices: dict[tuple[str, str, str], list[tuple[LogFile, str, BlockInstants]]] = defaultdict(list)
    for (folder, stored, log), found in zip(logs, read, strict=True):
        if found is not None:
            slices[folder, log.file_id, log.instant_time].append((log, stored.path, found))
    for entries in slices.values():
        entries.sort(key=lambda entry: entry[0].merge_order)
    return slices


def _block_instants(storage: Storage, stored: StoredObject) -> BlockInstants | None:
    """Instants of a log file; None if another job has deleted the file."""
    try:
        return block_instants(storage, stored.path, stored.size_bytes)
    except ObjectNotFoundError:
        return None
