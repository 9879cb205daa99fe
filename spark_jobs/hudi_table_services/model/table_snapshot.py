"""A value with the state of a table, from which planners make their plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """State of the table at its latest completed write, or at an earlier instant.

    Attributes:
        config: table properties.
        timeline: the active timeline at the time when the snapshot was loaded.
        file_slices: maps each partition path to the latest visible slices of its live file groups. Replaced file groups
            are not live.
        reserved_file_groups: maps each file group of a pending clustering, compaction or log compaction plan to the
            requested time of the plan. Jobs must not write into any of these file groups, except that a write may add
            a log file to a file group of a pending compaction or log compaction.
        schema_json: Avro JSON schema of the latest completed write, without meta columns; None if the table has no
            completed write.
        is_from_metadata_table: whether the files were listed from the metadata table, which does not show whether the
            files exist. Equal snapshots may differ in this attribute.
        as_of: `file_slices` and `schema_json` contain only writes that were requested at or before this time; None for
            the latest state. The timeline is always the whole active timeline.
    """

    config: TableConfig
    timeline: Timeline
    file_slices: Mapping[str, tuple[FileSlice, ...]] = field(default_factory=dict)
    reserved_file_groups: Mapping[FileGroupId, str] = field(default_factory=dict)
    schema_json: str | None = None
    is_from_metadata_table: bool = field(default=False, compare=False)
    as_of: str | None = None

    @property
    def partitions(self) -> tuple[str, ...]:
        """Return the sorted partition paths with at least one live file group."""
        return tuple(sorted(path for path, slices in self.file_slices.items() if slices))

    def slices_of(self, partition_path: str) -> tuple[FileSlice, ...]:
        return self.file_slices.get(partition_path, ())

    @property
    def compacting_file_groups(self) -> Mapping[FileGroupId, str]:
        """Return the reserved file groups of pending compactions and log compactions.

        Writes may add log files to these file groups.
        """
        actions = (Action.COMPACTION, Action.LOG_COMPACTION)
        plans = {i.requested_time for i in self.timeline.pending if i.action in actions}
        return {group: plan for group, plan in self.reserved_file_groups.items() if plan in plans}

    @property
    def clustering_file_groups(self) -> Mapping[FileGroupId, str]:
        """Return the reserved file groups of pending clusterings."""
        compacting = self.compacting_file_groups
        return {group: plan for group, plan in self.reserved_file_groups.items() if group not in compacting}

    @property
    def all_slices(self) -> tuple[FileSlice, ...]:
        return tuple(s for path in sorted(self.file_slices) for s in self.file_slices[path])
