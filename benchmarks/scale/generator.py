"""Create a table of any size without writing its rows.

The archive, the clean, the metadata table and the newest commits are made by the code of the product. The older commits
of the active timeline are written directly. Data files have sizes and footers, but no rows.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from bench.quick_storage import QuickStorage
from hudi_table_services.commits.archive_writing import ArchiveWriter, archive_writer
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.hudi_format.history_manifest import HistoryFile
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE, encode_partition_metadata
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.model.instant import InstantState
from hudi_table_services.options.archival import DEFAULT_ARCHIVAL
from hudi_table_services.storage.table_store import create_table, read_table_config
from hudi_table_services.tables.table import TableAccess
from scale.base_files import write_base_file, write_log_file
from scale.instants import DURATION, INTERVAL, Commits, base_file_name, log_file_name, table_properties
from scale.product_commits import ProductCommit
from scale.shapes import ACTIVE_COMMITS, ARCHIVAL_BATCH, LOG_BYTES, TableShape, partition_path
from support.fixed_clock import FixedClock

DIRECT_COMMITS = 16
"""Number of active commits that are written directly. The metadata table is built after them. 4 commits, a clean and 5
commits later, the metadata table is compacted; 5 more commits follow its compaction."""

CLEANED_AFTER = 20
"""Number of active commits after which the table is cleaned."""

_FREE_BYTES_OF_A_GROUP = 32 << 10
"""Bytes of the disk that a file group may take: the blocks of its files and of their folder entries."""


@dataclass(frozen=True)
class _Generator:
    folder: Path
    commits: Commits
    clock: FixedClock

    @property
    def shape(self) -> TableShape:
        return self.commits.shape

    @property
    def storage(self) -> QuickStorage:
        return QuickStorage(str(self.folder))

    @property
    def table(self) -> TableAccess:
        return TableAccess(storage=self.storage, clock=self.clock, config=read_table_config(self.storage))

    def run(self) -> None:
        create_table(self.storage, table_properties(self.shape.kind), self.clock)
        self._archive()
        first = self.shape.archived_commits
        end = first + DIRECT_COMMITS
        for commit in range(first, end):
            self._write_instants(commit)
        self._write_files(end)
        self._set_times()
        self._at(end - 1)
        rebuild_metadata_table(
            RebuildMetadataTableRequest(base_path=str(self.folder), partitions=("files",)),
            storage=self.storage,
            clock=self.clock,
        )
        for commit in range(end, first + ACTIVE_COMMITS):
            if commit == first + CLEANED_AFTER:
                self._clean(commit)
            self._commit(commit)
        self._set_times()

    def _archive(self) -> None:
        writer = archive_writer(self.table, DEFAULT_ARCHIVAL)
        for begin in range(0, self.shape.archived_commits, ARCHIVAL_BATCH):
            self._archive_batch(writer, range(begin, begin + ARCHIVAL_BATCH))

    def _archive_batch(self, writer: ArchiveWriter, batch: range) -> None:
        paths = [path for commit in batch for path in self._write_instants(commit)]
        writer.write([self.commits.instants(commit)[2] for commit in batch])
        writer.maintain()
        for path in paths:
            path.unlink()

    def _write_instants(self, commit: int) -> list[Path]:
        layout = self.shape.kind.version.layout
        paths = []
        for instant in self.commits.instants(commit):
            path = self.folder / layout.timeline_folder / instant.file_name(layout)
            content = self.commits.metadata(commit) if instant.is_completed else b""
            path.write_bytes(content)
            paths.append(path)
        return paths

    def _write_files(self, until: int) -> None:
        """Write the files of all versions of all file groups that exist after the commits before `until`."""
        for number in range(self.shape.partitions):
            place = self.folder / partition_path(number)
            place.mkdir()
            metafile = encode_partition_metadata("0", 1, self.commits.begin)
            (place / PARTITION_METAFILE).write_bytes(metafile)
        for group in range(self.shape.groups):
            for commit in self.shape.commits_of(group, until):
                self._write_file(group, commit, self.commits.time(commit))

    def _write_file(self, group: int, commit: int, time: str) -> None:
        found = self.shape.group_id(group)
        place = self.folder / found.partition_path
        if self.commits.writes_logs(commit):
            write_log_file(place / log_file_name(found.file_id, time), LOG_BYTES)
        else:
            write_base_file(place / base_file_name(found.file_id, time), self.shape.size_of(group))

    def _at(self, commit: int) -> None:
        """Set the clock to the middle between the end of a commit and the next commit."""
        self.clock.moment = self.commits.moment(commit) + (DURATION + INTERVAL) / 2

    def _clean(self, commit: int) -> None:
        self._set_times()
        self._at(commit - 1)
        request = CleanRequest(base_path=str(self.folder), commits_retained=10)
        clean(request, storage=self.storage, clock=self.clock)

    def _commit(self, commit: int) -> None:
        product = ProductCommit(self.table, self.shape, f"load-{commit:08d}")
        self.clock.moment = self.commits.moment(commit)
        with product.attempt() as attempt:
            product.start(attempt)
            for group in self.shape.groups_of(commit):
                self._write_file(group, commit, attempt.instant_time)
            self.clock.moment += DURATION
            attempt.complete(product.metadata(commit, attempt.instant_time))

    def _set_times(self) -> None:
        """Set the modification times of the instant files and of the history files.

        Table version 6 has no other completion times. Readers of later versions examine only the history files that
        were written recently. A history file was written when the active timeline had `ACTIVE_COMMITS` newer commits.
        """
        for path, moment in (*self._instant_files(), *self._history_files()):
            os.utime(path, (moment.timestamp(), moment.timestamp()))

    def _history_files(self) -> Iterator[tuple[Path, datetime]]:
        for path in (self.folder / self.table.config.archive_folder).glob("*.parquet"):
            found = HistoryFile.from_name(path.name)
            if found is not None:
                yield path, _moment(found.last) + ACTIVE_COMMITS * INTERVAL + DURATION

    def _instant_files(self) -> Iterator[tuple[Path, datetime]]:
        timeline = self.table.timeline_store.state_files()
        for instant, stored in timeline.items():
            is_completed = instant.state is InstantState.COMPLETED
            duration = DURATION if is_completed else timedelta(0)
            yield self.folder / stored.path, _moment(instant.requested_time) + duration


def _moment(instant_time: str) -> datetime:
    return datetime.strptime(instant_time + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)


def make_table(folder: Path, shape: TableShape, now: datetime | None = None) -> None:
    """Create a table in a folder that does not exist yet.

    Args:
        now: the current time of the generated table. Its last commit was requested one interval earlier.

    Raises:
        OSError: the disk has too little space for the blocks of the files.
    """
    folder.mkdir(parents=True)
    if shutil.disk_usage(folder).free < shape.groups * _FREE_BYTES_OF_A_GROUP:
        raise OSError(f"The disk of {folder} has too little space for {shape.groups:,} file groups.")
    begin = (now or datetime.now(timezone.utc)).replace(microsecond=0) - shape.commits * INTERVAL
    commits = Commits(shape, begin)
    _Generator(folder, commits, FixedClock(begin - INTERVAL)).run()
