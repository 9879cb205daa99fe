"""Read and write the timeline history of table versions 8 and 9: Parquet files in levels, listed by a manifest."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, TypeVar

from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata, decode_operation
from hudi_table_services.hudi_format.history_manifest import HistoryFile
from hudi_table_services.model.archival import ArchivedOperation, ArchivedWrite, ArchiveTail, HistoryEntry
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.archive.archive_tail import ArchivePart, PartContent, read_tail
from hudi_table_services.storage.archive.examined_history import ExaminedHistory
from hudi_table_services.storage.archive.history_manifest_store import HistoryManifestStore
from hudi_table_services.storage.archive.repeated_reads import repeat_if_deleted
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCodec:
    """Functions that convert entries to the bytes of a Parquet file and back, so `storage` needs no Parquet library.

    Attributes:
        decode_since: returns the entries of a seekable file that completed at or after a time.
    """

    encode: Callable[[Sequence[HistoryEntry]], bytes]
    decode: Callable[[bytes], tuple[HistoryEntry, ...]]
    decode_since: Callable[[BinaryIO, str], tuple[HistoryEntry, ...]]


class HistoryStore:
    """``.hoodie/timeline/history`` of one table. The caller of a method that writes or deletes holds the table lock."""

    def __init__(self, storage: Storage, config: TableConfig, codec: HistoryCodec) -> None:
        self._storage = storage
        self._codec = codec
        self._manifests = HistoryManifestStore(storage, config)

    def delete_unreferenced(self, manifests_retained: int) -> None:
        """See `HistoryManifestStore.delete_unreferenced`."""
        self._manifests.delete_unreferenced(manifests_retained)

    def entries(self, since: str = "") -> tuple[HistoryEntry, ...]:
        """Return the entries of all history files whose last requested time is `since` or later.

        Each entry is returned once. The oldest entry is the first.

        Raises:
            CorruptTableError: a manifest or a file cannot be read.
        """
        found = {
            (entry.requested_time, entry.action): entry
            for batch in self._read_all(lambda each: each.last >= since)
            for entry in batch
        }
        return tuple(found[key] for key in sorted(found))

    def identities(self, since: str) -> frozenset[tuple[str, Action]]:
        """Return the instants of the files that `entries` reads.

        If an archival died, these instants may be on the active timeline, too.
        """
        known = {action.value for action in Action}
        return frozenset(
            (entry.requested_time, Action(entry.action))
            for entry in self.entries(since)
            if entry.action in known
        )

    def writes(self) -> tuple[ArchivedWrite, ...]:
        """All completed writes, oldest first."""
        return tuple(_write(entry) for entry in self.entries() if _is_write(entry))

    def writes_completed_since(
        self, time: str, moment_ms: int, examined: ExaminedHistory
    ) -> tuple[ArchivedWrite, ...]:
        """Return the writes that completed at or after a time, oldest first.

        Only files that were written at or after a moment are examined. Of these files, only the parts are read that can
        contain such writes.

        Args:
            time: completion time.
            moment_ms: time on the clock of the storage, in milliseconds since 1970.
            examined: the files that earlier calls for the same time examined. The call adds its files.

        Raises:
            CorruptTableError: a manifest or a file cannot be read.
        """

        def read() -> tuple[ArchivedWrite, ...]:
            version = self._manifests.version()
            if version == examined.version:
                return examined.all_writes()
            names = [each.name for each in self._manifests.files_of(version)]
            # If another archival deletes a file between these two calls, `written_ms` lacks the file, so the file does
            # not count as old. Reading the file then fails, and `_retry_after_merge` repeats this function.
            old = {
                name for name, written_ms in self._manifests.written_ms().items() if written_ms < moment_ms
            }
            unread = [name for name in names if name not in old and name not in examined.writes]
            found = map_in_parallel(lambda name: self._completed_since(name, time), unread)
            examined.writes.update(zip(unread, found, strict=True))
            examined.version = version
            return examined.all_writes()

        return _retry_after_merge(read)

    def _completed_since(self, name: str, time: str) -> tuple[ArchivedWrite, ...]:
        path = self._manifests.path_of(name)
        with naming(path), self._storage.open_reader(path) as stream:
            return tuple(
                _write(entry) for entry in self._codec.decode_since(stream, time) if _is_write(entry)
            )

    def tail(self, count: int, limit_bytes: int) -> ArchiveTail:
        """Return the newest writes; see `read_tail`.

        Raises:
            CorruptTableError: a manifest or a file cannot be read.
        """

        def read() -> ArchiveTail:
            files = sorted(self._manifests.files(), key=lambda each: each.last, reverse=True)
            parts = [
                ArchivePart(size_bytes=each.size_bytes, last=each.last, read=partial(self._part, each.name))
                for each in files
            ]
            return read_tail(parts, count=count, limit_bytes=limit_bytes)

        return _retry_after_merge(read)

    def _part(self, name: str) -> PartContent:
        entries = self._decoded(name, self._read(name))
        with naming(self._manifests.path_of(name)):
            writes = tuple(_write(entry) for entry in entries if _is_write(entry))
        return PartContent(writes=writes, last=max((each.requested_time for each in entries), default=""))

    def find(self, text: str) -> Iterable[ArchivedWrite]:
        """Yield the completed writes whose metadata contains the string `text`, newest first.

        The newest files are read first. Older files are read only if the caller requests further writes.
        """
        wanted = text.encode()
        for entries in self._newest_entries():
            for entry in entries:
                if _is_write(entry) and wanted in (entry.metadata or b""):
                    yield _write(entry)

    def newest_operations(self) -> Iterator[ArchivedOperation]:
        """Yield the operations of all completed writes, newest first.

        The newest files are read first, and older files only if the caller goes on.

        Raises:
            CorruptTableError: a manifest or a file cannot be read.
            MalformedMetadataError: the metadata of a commit is damaged.
        """
        for entries in self._newest_entries():
            for entry in entries:
                if _is_write(entry):
                    operation = decode_operation(entry.metadata or b"")
                    yield ArchivedOperation(instant=_instant(entry), operation=operation)

    def _newest_entries(self) -> Iterator[tuple[HistoryEntry, ...]]:
        """Yield all entries in portions, newest first. Each portion reads twice as many files as the previous one."""
        before, count = "", 1
        while (found := _retry_after_merge(partial(self._portion, before, count))) is not None:
            before, entries = found
            yield entries
            count *= 2

    def _portion(self, before: str, count: int) -> tuple[str, tuple[HistoryEntry, ...]] | None:
        """Return the next entries, newest first, and a time. All further entries were requested before this time."""
        files = _newest_files(self._manifests.files(), before, count)
        if not files:
            return None
        names = [each.name for each in files]
        contents = map_in_parallel(self._read, names)
        unique = {
            (entry.requested_time, entry.action): entry
            for each in zip(names, contents, strict=True)
            for entry in self._decoded(*each)
            if not before or entry.requested_time < before
        }
        entries = tuple(unique[key] for key in sorted(unique, reverse=True))
        return min(each.first for each in files), entries

    def add(self, entries: Sequence[HistoryEntry], batch_size: int) -> tuple[str, ...]:
        """Write entries into files of level 0, publish them, and return the names of the files."""
        ordered = sorted(entries, key=lambda entry: entry.requested_time)
        batches = [ordered[start : start + batch_size] for start in range(0, len(ordered), batch_size)]
        added = [self._write_file(batch, 0) for batch in batches]
        names = {each.name for each in added}
        kept = [each for each in self._manifests.files() if each.name not in names]
        self._manifests.publish([*kept, *added])
        return tuple(sorted(names))

    def merge(self, files_of_a_level: int) -> tuple[str, ...]:
        """Merge the files of each full level into one file of the next level; return the names of the new files.

        Args:
            files_of_a_level: number of files that makes a level full.
        """
        merged: list[str] = []
        while (batch := _first_full_level(self._manifests.files(), files_of_a_level)) is not None:
            unique = {
                (entry.requested_time, entry.action): entry
                for each in batch
                for entry in self._decoded(each.name, self._read(each.name))
            }
            larger = self._write_file(list(unique.values()), batch[0].level + 1)
            replaced = {each.name for each in batch} | {larger.name}
            kept = [each for each in self._manifests.files() if each.name not in replaced]
            self._manifests.publish([*kept, larger])
            merged.append(larger.name)
        return tuple(merged)

    def _read_all(self, wanted: Callable[[HistoryFile], bool]) -> list[tuple[HistoryEntry, ...]]:
        def read() -> list[tuple[HistoryEntry, ...]]:
            names = [each.name for each in self._manifests.files() if wanted(each)]
            contents = map_in_parallel(self._read, names)
            return [self._decoded(*each) for each in zip(names, contents, strict=True)]

        return _retry_after_merge(read)

    def _read(self, name: str) -> bytes:
        return self._storage.read(self._manifests.path_of(name))

    def _decoded(self, name: str, content: bytes) -> tuple[HistoryEntry, ...]:
        with naming(self._manifests.path_of(name)):
            return self._codec.decode(content)

    def _write_file(self, entries: Sequence[HistoryEntry], level: int) -> HistoryFile:
        """Write a history file.

        An archival that died may have left a file with this name. Replacing that file is safe: either no manifest
        lists the file, or the file contains the same entries.
        """
        content = self._codec.encode(entries)
        times = [entry.requested_time for entry in entries]
        written = HistoryFile(first=min(times), last=max(times), level=level, size_bytes=len(content))
        self._storage.write(self._manifests.path_of(written.name), content)
        return written


def _retry_after_merge(read: Callable[[], _Found]) -> _Found:
    """Repeat a read if other archivals merged the files of the read and deleted the manifest that listed them."""
    return repeat_if_deleted(read, "the timeline history")


def _newest_files(files: Iterable[HistoryFile], before: str, count: int) -> tuple[HistoryFile, ...]:
    """Return the files with the newest entries before a requested time.

    If a further file may have entries that are newer than the oldest entry of these files, return this file, too.

    Args:
        before: exclusive bound; empty for no bound.
        count: smallest number of files, if there are that many.
    """
    left = sorted(
        (each for each in files if not before or each.first < before),
        key=lambda each: each.last,
        reverse=True,
    )
    chosen, left = left[:count], left[count:]
    while left and left[0].last >= min(each.first for each in chosen):
        chosen.append(left.pop(0))
    return tuple(chosen)


def _first_full_level(files: Sequence[HistoryFile], count: int) -> list[HistoryFile] | None:
    for level in sorted({each.level for each in files}):
        of_level = sorted(each for each in files if each.level == level)
        if len(of_level) >= count:
            return of_level[:count]
    return None


def _is_write(entry: HistoryEntry) -> bool:
    return entry.action in (Action.COMMIT.value, Action.DELTA_COMMIT.value, Action.REPLACE_COMMIT.value)


def _write(entry: HistoryEntry) -> ArchivedWrite:
    """Convert an entry to a write. Raises MalformedMetadataError."""
    return ArchivedWrite(instant=_instant(entry), metadata=decode_commit_metadata(entry.metadata or b""))


def _instant(entry: HistoryEntry) -> Instant:
    return Instant(
        requested_time=entry.requested_time,
        action=Action(entry.action),
        state=InstantState.COMPLETED,
        completion_time=entry.completion_time,
    )
