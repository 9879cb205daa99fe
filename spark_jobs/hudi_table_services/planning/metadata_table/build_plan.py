"""Choose the partitions of a metadata table that a build writes, and their numbers of file groups.

The choices are those of Hudi (HoodieBackedTableMetadataWriter, HoodieTableMetadataUtil; 0.15 to 1.2).
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.secondary_indexes import is_secondary_index

BUILD_ORDER = (FILES, COLUMN_STATS, PARTITION_STATS, BLOOM_FILTERS, RECORD_INDEX)
"""The partitions that this project builds, in the order in which it builds them. Secondary indexes follow them."""

_GROUP_COUNTS = {FILES: 1, COLUMN_STATS: 2, PARTITION_STATS: 1, BLOOM_FILTERS: 4}
_RECORD_INDEX_ENTRY_BYTES = 48
"""Average size of an entry of a record index (RECORD_INDEX_AVERAGE_RECORD_SIZE)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableState:
    """Facts about a table that determine which partitions a build must write.

    Attributes:
        is_partitioned: whether the table has partition fields.
        listed: partitions of the metadata table that the properties of the table list.
        being_built: partitions that the properties list as being built.
        can_grow: whether partitions can be added to the metadata table. From table version 8 on, no partition can be
            added after the archival of the metadata table's first instants. The instant of a new partition becomes the
            first active instant of the metadata table, so the archived instants would no longer be older than the first
            active instant. But readers treat the files of an archived instant as completed only if the instant is older
            than the first active instant.
        defined: secondary indexes that the table defines, whether its metadata table contains them or not.
        lost: partitions that a dead build has dropped and not built again.
    """

    version: TableVersion
    is_partitioned: bool
    listed: tuple[str, ...] = ()
    being_built: tuple[str, ...] = ()
    can_grow: bool = True
    defined: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The partitions that a build writes.

    Attributes:
        partitions: partitions to build, in order.
        is_whole: whether the metadata table is deleted first, so that no earlier partition stays.
    """

    partitions: tuple[str, ...]
    is_whole: bool


def default_partitions(version: TableVersion, *, is_partitioned: bool) -> tuple[str, ...]:
    """Return the partitions that a write of Hudi with default settings builds."""
    if version < TableVersion.V8:
        return (FILES,)
    return (FILES, COLUMN_STATS, PARTITION_STATS) if is_partitioned else (FILES, COLUMN_STATS)


def plan_build(state: MetadataTableState, wanted: Collection[str] = ()) -> BuildPlan:
    """Decide which partitions a build writes.

    Args:
        wanted: partitions to build. Empty means the default partitions of Hudi and the partitions that the table has,
            or had before a build died.

    Raises:
        InvalidRequestError: the table cannot have a wanted partition.
        UnsupportedTableError: the build has to delete a partition that this project cannot build again, or another
            writer is building a partition.
    """
    _refuse_partitions_being_built(state)
    _refuse_impossible(state, wanted)
    default = default_partitions(state.version, is_partitioned=state.is_partitioned)
    names = set(wanted) if wanted else {*default, *state.listed, *state.lost}
    is_whole = FILES in names or FILES not in state.listed or not state.can_grow
    names |= {FILES, *state.listed} if is_whole else set()
    names |= _companions(names, state.listed)
    _refuse_unsupported(names, state.defined)
    return BuildPlan(_in_build_order(names), is_whole)


def dropped_with(names: Iterable[str], listed: Collection[str]) -> tuple[str, ...]:
    """Return the partitions that are dropped if `names` are dropped, in alphabetical order.

    With `column_stats`, `partition_stats` is dropped, because it could not be kept up to date. With `files`, all
    partitions are dropped, because Hudi then builds the whole metadata table again. With `record_index`, all secondary
    indexes are dropped, because no query could use them.
    """
    dropped = set(names)
    if FILES in dropped:
        dropped |= set(listed)
    if COLUMN_STATS in dropped and PARTITION_STATS in listed:
        dropped.add(PARTITION_STATS)
    if RECORD_INDEX in dropped:
        dropped |= set(filter(is_secondary_index, listed))
    return tuple(sorted(dropped))


def group_count(partition: str) -> int:
    """Return the number of file groups of a new partition other than the record index and the secondary indexes."""
    return _GROUP_COUNTS[partition]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndexSize:
    """Hudi's settings for the number of file groups of a record index.

    Attributes:
        growth_factor: expected growth of the number of keys.
        max_group_bytes: greatest size of a file group.
    """

    min_groups: int = 10
    max_groups: int = 10_000
    growth_factor: float = 2.0
    max_group_bytes: int = 1 << 30

    def group_count(self, keys: int) -> int:
        """Return the number of file groups for a number of keys (HoodieTableMetadataUtil.estimateFileGroupCount)."""
        if self.min_groups == self.max_groups:
            return self.min_groups
        expected_keys = math.ceil(keys * self.growth_factor)
        keys_per_group = max(1, self.max_group_bytes // _RECORD_INDEX_ENTRY_BYTES)
        return max(self.min_groups, min(self.max_groups, expected_keys // keys_per_group))


def partitioned_index_size(
    min_groups: int = 1, max_groups: int = 10, growth_factor: float = 2.0, max_group_bytes: int = 1 << 30
) -> RecordIndexSize:
    """Return the settings of a partitioned record index. They apply to each partition of the table separately.

    The default values are those of Hudi.
    """
    return RecordIndexSize(
        min_groups=min_groups,
        max_groups=max_groups,
        growth_factor=growth_factor,
        max_group_bytes=max_group_bytes,
    )


def _companions(names: Collection[str], listed: Collection[str]) -> set[str]:
    """Return the partitions that a build of `names` must also write."""
    found = set()
    if COLUMN_STATS in names and PARTITION_STATS in listed:
        found.add(PARTITION_STATS)
    if PARTITION_STATS in names and COLUMN_STATS not in listed:
        found.add(COLUMN_STATS)
    if RECORD_INDEX not in listed and any(map(is_secondary_index, names)):
        found.add(RECORD_INDEX)
    return found


def _in_build_order(names: Collection[str]) -> tuple[str, ...]:
    fixed = tuple(name for name in BUILD_ORDER if name in names)
    return (*fixed, *sorted(filter(is_secondary_index, names)))


def _refuse_partitions_being_built(state: MetadataTableState) -> None:
    if state.being_built:
        names = ", ".join(state.being_built)
        raise UnsupportedTableError(
            f"According to the properties of the table, another writer is building {names} of the metadata table.",
            hint=f"Wait until the other writer is finished. If the writer has died, drop {names} first.",
        )


def _refuse_impossible(state: MetadataTableState, wanted: Collection[str]) -> None:
    undefined = sorted(name for name in wanted if is_secondary_index(name) and name not in state.defined)
    if undefined:
        raise InvalidRequestError(
            f"The table does not define the index {undefined[0]!r}.",
            hint="Define it with Hudi: CREATE INDEX <name> ON <table> (<column>).",
        )
    unknown = sorted(set(wanted) - {*BUILD_ORDER, *state.defined})
    if unknown:
        raise InvalidRequestError(
            f"This release cannot build {unknown[0]!r} of the metadata table.",
            hint=f"Partitions that can be built: {', '.join((*BUILD_ORDER, *state.defined))}.",
        )
    if PARTITION_STATS not in wanted:
        return
    if state.version < TableVersion.V8:
        raise InvalidRequestError(f"Tables of version {state.version.value} have no {PARTITION_STATS}.")
    if not state.is_partitioned:
        raise InvalidRequestError(f"The table has no partition fields, so it has no {PARTITION_STATS}.")


def _refuse_unsupported(names: Collection[str], defined: Collection[str]) -> None:
    unsupported = sorted(set(names) - {*BUILD_ORDER, *defined})
    if unsupported:
        raise UnsupportedTableError(
            f"The metadata table has the partition {unsupported[0]!r}. This build has to delete the whole metadata "
            f"table, and this release cannot build {unsupported[0]!r} again.",
            hint=f"Drop {', '.join(unsupported)} first, or name only partitions other than {FILES!r}.",
        )
