"""Version 6's archive on storage: log files that are written once and never appended to.

Object stores have no append, and on a local disk Hudi does without it too: each run begins the next file.
"""

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
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
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage, StoredObject

_LOG = logging.getLogger(__name__)
_READ_THREADS = 8


class ArchiveLogStore:
    """``.hoodie/archived`` of one table."""

    def __init__(self, storage: Storage, config: TableConfig) -> None:
        self._storage = storage
        self._folder = join_path(".hoodie", config.get("hoodie.archivelog.folder") or "archived")

    def files(self) -> tuple[StoredObject, ...]:
        """Archive files, oldest first."""
        found = [
            (number, stored)
            for stored in self._storage.list_folder(self._folder).files
            if (number := archive_file_number(stored.name)) is not None
        ]
        return tuple(stored for _, stored in sorted(found, key=lambda pair: (pair[0], pair[1].name)))

    def write(self, states: Iterable[ArchivedState], records_per_block: int) -> str:
        """Archive these state files in a file of their own; its path. Call it under the lock.

        Raises:
            ObjectExistsError: another writer, without the lock, began a file of the same number.
            MalformedMetadataError: the content of a state file cannot be read.
        """
        present = self.files()
        number = (archive_file_number(present[-1].name) or 0) + 1 if present else 1
        path = join_path(self._folder, archive_file_name(number))
        self._storage.create(path, encode_archive(states, records_per_block))
        return path

    def newest_identities(self) -> frozenset[tuple[str, Action]]:
        """Instants in the newest file: what a run that died may have left on the active timeline too."""
        present = self.files()
        return written_states(self._records(present[-1])) if present else frozenset()

    def find(self, text: str) -> Iterable[ArchivedWrite]:
        """Completed writes of files in which this text occurs, newest file first, each file's newest write first."""
        for batch in _batches(list(reversed(self.files()))):
            with ThreadPoolExecutor(_READ_THREADS) as pool:
                contents = list(pool.map(lambda stored: self._storage.read(stored.path), batch))
            for stored, content in zip(batch, contents, strict=True):
                if text.encode() in content:
                    with naming(stored.path):
                        found = archived_writes(decode_archive(content))
                    yield from (found[identity] for identity in sorted(found, reverse=True))

    def writes(self) -> tuple[ArchivedWrite, ...]:
        """All completed writes of the archive, oldest first."""
        with ThreadPoolExecutor(_READ_THREADS) as pool:
            records = [record for each in pool.map(self._records, self.files()) for record in each]
        found = archived_writes(records)
        return tuple(found[identity] for identity in sorted(found))

    def tail(self, count: int, limit_bytes: int) -> ArchiveTail:
        """The newest writes, see `read_tail`. An archival never goes on behind an older one's newest instant."""
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
    for start in range(0, len(files), _READ_THREADS):
        yield files[start : start + _READ_THREADS]
