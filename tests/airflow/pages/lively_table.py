"""A table with a life of thirty days: daily loads into forty partitions, late rows, clusterings and cleans.

The data files are empty files of a believable size, because the pages read no rows.
"""

import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.storage.stores.local import LocalStorage
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

DAYS, PARTITIONS = 30, 40
_MIB = 1 << 20
_ROW_BYTES = 58
_COLUMNS = [("order_id", "string"), ("day", "string"), ("customer", "string"), ("amount", "double")]
_NEW_COLUMN = ("channel", "string")


def _schema(*columns: tuple[str, str]) -> str:
    fields = ",".join(
        f'{{"name":"{name}","type":["null","{kind}"],"default":null}}' for name, kind in columns
    )
    return f'{{"type":"record","name":"orders","fields":[{fields}]}}'


@dataclass
class LivelyTable:
    """The table, and the steps of its life."""

    folder: Path
    clock: FixedClock = field(default_factory=FixedClock)
    sizes: dict[FileGroupId, int] = field(default_factory=dict)
    written: dict[FileGroupId, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = SmallTable(LocalStorage(str(self.folder)), TableVersion.V9, self.clock)
        self.random = random.Random(7)
        self.limits = resolve_options(UpsertRequest(base_path="/t")).extra_metadata

    def load(self, day: int) -> None:
        """Load the rows of a day, and late rows of some days before."""
        first = f"day={self._date(day)}"
        late = [f"day={self._date(day - age)}" for age in (1, 2, 5, 9) if self.random.random() < 0.6]
        changed = [FileGroupId(first, f"f{day:02d}-{n}") for n in range(self.random.randint(2, 4))]
        changed += [self.random.choice(self._groups(path)) for path in late if self._groups(path)]
        columns = (*_COLUMNS, *([_NEW_COLUMN] if day >= PARTITIONS - 12 else []))
        self._commit(changed, WriteOperation.UPSERT, "load_orders", "load_day", _schema(*columns), {})

    def cluster(self) -> None:
        """Merge the small files of the partitions with the most small files."""
        paths = sorted({group.partition_path for group in self.sizes})
        groups = {path: [g for g in self._groups(path) if self.sizes[g] < 60 * _MIB] for path in paths}
        merged = {path: found for path, found in groups.items() if len(found) > 1}
        plan = ClusteringPlan(
            groups=tuple(ClusteringGroup(slices=tuple(map(self._slice, g))) for g in merged.values())
        )
        extra = encode_requested_replace(plan)
        new = [FileGroupId(path, f"c{self.clock.moment:%d}-{number}") for number, path in enumerate(merged)]
        for group, path in zip(new, merged, strict=True):
            self.sizes[group] = sum(self.sizes.pop(each) for each in merged[path])
        replaced = {path: tuple(g.file_id for g in found) for path, found in merged.items()}
        self._commit(
            new, WriteOperation.CLUSTER, "upkeep_orders", "cluster", _schema(*_COLUMNS), replaced, plan=extra
        )

    def clean(self) -> None:
        request = CleanRequest(
            base_path=str(self.folder), commits_retained=4, request_id="upkeep_orders/night/clean"
        )
        clean(request, storage=self.table.storage, clock=self.clock)

    def _date(self, day: int) -> str:
        return f"{datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(days=day):%Y-%m-%d}"

    def _groups(self, path: str) -> list[FileGroupId]:
        return [group for group in self.sizes if group.partition_path == path]

    def _slice(self, group: FileGroupId) -> ClusteringSlice:
        name = base_file_name(group.file_id, self.written[group])
        path = f"{self.folder}/{group.partition_path}/{name}"
        return ClusteringSlice(
            partition_path=group.partition_path, file_id=group.file_id, data_file_path=path
        )

    def _commit(
        self,
        groups: Iterable[FileGroupId],
        operation: WriteOperation,
        dag_id: str,
        task_id: str,
        schema: str,
        replaced: dict[str, tuple[str, ...]],
        plan: bytes = b"",
    ) -> None:
        action = Action.CLUSTERING if plan else Action.COMMIT
        pending = self.table.begin(action, plan)
        self.clock.moment += timedelta(minutes=self.random.randint(2, 9))
        stats: dict[str, tuple[WriteStat, ...]] = {}
        for stat in self._stats(dict.fromkeys(groups), pending.requested_time, is_new=bool(plan)):
            stats[stat.partition_path] = (*stats.get(stat.partition_path, ()), stat)
        extra = {
            "schema": schema,
            "airflow.request_id": f"{dag_id}/scheduled__{self.clock.moment:%Y-%m-%d}/{task_id}",
        }
        metadata = CommitMetadata(
            operation_type=operation,
            partition_to_write_stats=stats,
            extra_metadata={**extra, **({} if plan else self.limits)},
            partition_to_replace_file_ids=replaced or None,
        )
        self.table.timeline_store.complete(pending, encode_commit_metadata(metadata, self.table.version))

    def _stats(self, groups: Iterable[FileGroupId], time: str, *, is_new: bool) -> Iterator[WriteStat]:
        for group in groups:
            before = 0 if is_new else self.sizes.get(group, 0)
            added = 0 if is_new else self.random.randint(18, 64) * _MIB // (3 if before else 1)
            self.sizes[group] = size = self.sizes.get(group, 0) + added
            path = self.table.add_file(group.partition_path, base_file_name(group.file_id, time))
            os.truncate(self.folder / path, size)
            previous = self.written.get(group)
            self.written[group] = time
            yield WriteStat(
                file_id=group.file_id,
                partition_path=group.partition_path,
                path=path,
                prev_commit=previous or "null",
                num_writes=size // _ROW_BYTES,
                num_inserts=added // _ROW_BYTES * 9 // 10,
                num_update_writes=added // _ROW_BYTES // 10,
                file_size_bytes=size,
            )


def lively_table(folder: Path) -> SmallTable:
    """Create the table; its last load was five hours ago. Return the table for further steps."""
    table = LivelyTable(folder)
    begin = datetime.now(timezone.utc).replace(microsecond=678000) - timedelta(days=DAYS, hours=5)
    loads_per_day = PARTITIONS / DAYS
    for day in range(PARTITIONS):
        table.clock.moment = begin + timedelta(days=(day + 1) / loads_per_day)
        if day and day % 9 == 0:
            table.clock.moment -= timedelta(hours=6)
            table.cluster()
            table.clock.moment += timedelta(hours=1)
            table.clean()
            table.clock.moment = begin + timedelta(days=(day + 1) / loads_per_day)
        table.load(day)
    table.clock.moment += timedelta(minutes=20)
    return table.table
