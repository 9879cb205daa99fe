"""Find data files that readers need but that are missing, empty or truncated. Uncertain cases are not reported."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.recovery.needed_files import NeededFile, fault_of, needed_files
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.written_files import WrittenFiles

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFilesSearch:
    """Check whether storage contains the files that completed writes of the active timeline name.

    Attributes:
        snapshot: loaded before the storage was listed.
        sizes: maps the path of each file on storage to its size in bytes.
        retained_from: requested time of the earliest commit that the last clean retained; empty if unknown.
    """

    table: TableAccess
    snapshot: TableSnapshot
    sizes: Mapping[str, int]
    written: WrittenFiles
    retained_from: str = ""

    def find(self) -> dict[str, str] | None:
        """Map each faulty path to its fault. Return None if an unfinished restore may be deleting files.

        Raises:
            MalformedMetadataError: a completed write cannot be read.
        """
        if _has_unfinished_restore(self.snapshot.timeline):
            return None
        suspects = self._faults(self.snapshot.timeline)
        if not suspects:
            return {}
        # Every action that deleted a file while the storage was listed is on the timeline now.
        now = self.table.load_timeline()
        if _has_unfinished_restore(now):
            return None
        still = self._faults(now)
        suspects = {file: fault for file, fault in suspects.items() if file in still}
        last_gap = self._last_gap(now, suspects)
        return {file.path: fault for file, fault in suspects.items() if self._is_certain(file, last_gap)}

    def _faults(self, timeline: Timeline) -> dict[NeededFile, str]:
        bases = (each.base_file and (each.file_group_id, each.base_file) for each in self.snapshot.all_slices)
        live_since: dict[FileGroupId, str] = {each[0]: each[1].instant_time for each in bases if each}
        version = self.table.config.table_version
        needed = needed_files(
            self.written.writes(timeline),
            live_since,
            has_own_log_instants=version.has_own_log_instants,
        )
        return {file: fault for file in needed if (fault := fault_of(file, self.sizes.get(file.path)))}

    def _is_certain(self, file: NeededFile, last_gap: str) -> bool:
        """Whether the file must exist: the last clean retained the file, or no archived write can have replaced it."""
        return file.time > last_gap or ("" < self.retained_from <= file.time)

    def _last_gap(self, timeline: Timeline, suspects: Mapping[NeededFile, str]) -> str:
        """Time of the newest write that is only in the archive.

        That write may have replaced files of older writes that a savepoint keeps on the active timeline. The archive is
        read only if files are missing. If the archive cannot be read, the result is the time of the newest active
        write. Then only files that the last clean retained are certain.
        """
        if not suspects:
            return ""
        active = {i.requested_time for i in timeline.completed_writes}
        try:
            archived = ArchivedTimeline(self.table.storage, self.table.config).writes()
        except (CorruptTableError, UnsupportedTableError) as error:
            _LOG.warning(
                "The archive cannot be read, so only files that the last clean retained are checked: %s",
                error,
            )
            return max(active)
        times = {each.instant.requested_time for each in archived}
        return max(times - active, default="")


def _has_unfinished_restore(timeline: Timeline) -> bool:
    return any(i.action is Action.RESTORE for i in timeline.pending)
