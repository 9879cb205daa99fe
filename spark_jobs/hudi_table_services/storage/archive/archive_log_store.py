"""Read and write the archive of a table of version 6. It consists of log files that are never extended.

Object stores cannot append, and Hudi does not append on local disks either: each archival writes a new file.
"""

import logging
from collections.abc import Iterable
from functools import partial

from hudi_table_services.hudi_format.archive_log import (
    ArchivedRecord,
    ArchivedState,
    archive_file_name,
    archive_file_number,
    archived_writes,
    decode_archive,
    encode_archive,
    written_states,
)
from hudi_table_services.model.archival import ArchivedWrite, ArchiveTail
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.archive.archive_tail import ArchivePart, PartContent, read_tail
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage, StoredObject

_LOG = logging.getLogger(__name__)


class ArchiveLogStore:
    """``.hoodie/archived`` of one table."""

    def __init__(self, storage: Storage, config: TableConfig) -> None:
        self._storage = storage
        self._folder = config.archive_folder

    def files(self) -> tuple[StoredObject, ...]:
        """Archive files, oldest first."""
        found = [
            (number, stored)
            for stored in self._storage.list_folder(self._folder).files
            if (number := archive_file_number(stored.name)) is not None
        ]
        return tuple(stored for _, stored in sorted(found, key=lambda pair: (pair[0], pair[1].name)))

    def write(self, states: Iterable[ArchivedState], records_per_block: int) -> str:
        """Write these state files into a new archive file and return its path. The caller holds the table lock.

        Raises:
            ObjectExistsError: a writer that does not hold the lock created a file with the same number.
            MalformedMetadataError: the content of a state file cannot be read.
        """
        present = self.files()
        number = (archive_file_number(present[-1].name) or 0) + 1 if present else 1
        path = join_path(self._folder, archive_file_name(number))
        self._storage.create(path, encode_archive(states, records_per_block))
        return path

    def newest_identities(self) -> frozenset[tuple[str, Action]]:
        """Return the instants in the newest archive file.

        If an archival died, these instants may be on the active timeline, too.
        """
        present = self.files()
        return written_states(self._records(present[-1])) if present else frozenset()

    def find(self, text: str) -> Iterable[ArchivedWrite]:
        """Yield all completed writes of each archive file whose bytes contain `text`, newest write first."""
        for batch in _batches(list(reversed(self.files()))):
            contents = map_in_parallel(lambda stored: self._storage.read(stored.path), batch)
            for stored, content in zip(batch, contents, strict=True):
                if text.encode() in content:
                    with naming(stored.path):
                        found = archived_writes(decode_archive(content))
                    yield from (found[identity] for identity in sorted(found, reverse=True))

    def writes(self) -> tuple[ArchivedWrite, ...]:
        """All completed writes of the archive, oldest first."""
        records = [record for each in map_in_parallel(self._records, self.files()) for record in each]
        found = archived_writes(records)
        return tuple(found[identity] for identity in sorted(found))

    def tail(self, count: int, limit_bytes: int) -> ArchiveTail:
        """Return the newest writes; see `read_tail`.

        Archive files are ordered by time: no instant in a file is earlier than an instant in a previous file.
        """
        parts = [
            ArchivePart(size_bytes=each.size_bytes, last="", read=partial(self._part, each))
            for each in reversed(self.files())
        ]
        return read_tail(parts, count=count, limit_bytes=limit_bytes)

    def _part(self, stored: StoredObject) -> PartContent:
        records = self._records(stored)
        with naming(stored.path):
            writes = tuple(archived_writes(records).values())
        return PartContent(
            writes=writes, last=max((each.instant.requested_time for each in records), default="")
        )

    def _records(self, stored: StoredObject) -> list[ArchivedRecord]:
        with naming(stored.path):
            return list(decode_archive(self._storage.read(stored.path)))


def _batches(files: list[StoredObject]) -> Iterable[list[StoredObject]]:
    for start in range(0, len(files), READ_THREADS):
        yield files[start : start + READ_THREADS]
