"""The facts about new files that the tasks of a write collect for the metadata table."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from hudi_table_services.execution.metadata_table.row_changes import (
    SecondaryStaging,
    StagedSecondaryKeys,
)
from hudi_table_services.execution.metadata_table.staged_keys import KeyStaging, StagedKeys
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import FileStatistics, SecondaryIndex
from hudi_table_services.storage.stores.paths import join_path


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsToCollect:
    """The facts about new files that the metadata table needs; none by default.

    Attributes:
        statistics_columns: columns whose statistics the tasks collect; a dotted path for a member of a struct.
        key_staging: where the tasks stage new and deleted keys; None if the table has no record index.
        secondary: where the tasks stage changed entries of secondary indexes.
    """

    statistics_columns: tuple[str, ...] = ()
    key_staging: KeyStaging | None = None
    secondary: tuple[SecondaryStaging, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedFacts:
    """Facts about the new files of a write.

    Attributes:
        statistics: maps the path of a file to its statistics. Statistics of other files are read from their footers.
        keys: new and deleted keys, by file group; None if the tasks collected no keys.
        secondary: changed entries of secondary indexes. Empty for a clustering.
        collected_indexes: the secondary indexes whose changes the tasks collected.
        depend_on_compactions: file groups whose keys change again as soon as a pending compaction completes; see
            `StagedRowChanges.depends_on_compaction`.
    """

    statistics: Mapping[str, FileStatistics] = field(default_factory=dict)
    keys: tuple[StagedKeys, ...] | None = None
    secondary: tuple[StagedSecondaryKeys, ...] = ()
    collected_indexes: tuple[SecondaryIndex, ...] = ()
    depend_on_compactions: frozenset[FileGroupId] = frozenset()

    @classmethod
    def of(
        cls,
        wanted: FactsToCollect,
        statistics: Iterable[FileStatistics | None],
        keys: Iterable[StagedKeys | None],
        secondary: Iterable[StagedSecondaryKeys] = (),
    ) -> "CollectedFacts":
        """Collect the facts from the results of the tasks.

        Args:
            wanted: the facts that the tasks had to collect.
        """
        found = [each for each in statistics if each is not None]
        return cls(
            statistics={join_path(each.partition_path, each.file_name): each for each in found},
            keys=None if wanted.key_staging is None else tuple(each for each in keys if each is not None),
            secondary=tuple(secondary),
            collected_indexes=tuple(each.index for each in wanted.secondary),
        )

    def only(self, file_groups: Collection[FileGroupId]) -> "CollectedFacts":
        """Return the same facts, but with the keys of only these file groups."""
        if self.keys is None:
            return self
        return replace(self, keys=tuple(each for each in self.keys if each.file_group_id in file_groups))
