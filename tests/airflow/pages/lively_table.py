"""Tables with a history of thirty days: daily loads into forty partitions, late rows, clusterings and cleans.

All times and partitions are relative to now. The data files are empty files of a believable size, because the pages
read no rows.
"""

import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
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
_NEW_COLUMN = ("channel", "string")


@dataclass(frozen=True, kw_only=True)
class Life:
    """The content of a table, and how its rows are written.

    Attributes:
        name: name of the table, and the end of the names of its DAGs.
        key: column of the record key.
        file_mib: smallest and largest size of a new file.
        late_share: share of the earlier days that get late rows in each load.
        seed: seed of the random numbers.
    """

    name: str
    key: str
    file_mib: tuple[int, int] = (18, 64)
    late_share: float = 0.6
    seed: int = 7

    @property
    def columns(self) -> list[tuple[str, str]]:
        return [
            (self.key, "string"),
            ("day", "string"),
            ("customer", "string"),
            ("amount", "double"),
            ("updated_at", "long"),
        ]

    @property
    def properties(self) -> dict[str, str]:
        return {
            "hoodie.table.name": self.name,
            "hoodie.table.recordkey.fields": self.key,
            "hoodie.table.partition.fields": "day",
            "hoodie.table.precombine.field": "updated_at",
            "hoodie.datasource.write.hive_style_partitioning": "true",
        }


def _schema(*columns: tuple[str, str]) -> str:
    fields = ",".join(
        f'{{"name":"{name}","type":["null","{kind}"],"default":null}}' for name, kind in columns
    )
    return f'{{"type":"record","name":"record","fields":[{fields}]}}'


@dataclass
class LivelyTable:
    """A table, and methods that add loads, late rows and table services to its history."""

    folder: Path
    life: Life
    clock: FixedClock = field(default_factory=FixedClock)
    sizes: dict[FileGroupId, int] = field(default_factory=dict)
    written: dict[FileGroupId, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        storage = LocalStorage(str(self.folder))
        self.table = SmallTable(storage, TableVersion.V6, self.clock, self.life.properties)
        self.random = random.Random(self.life.seed)
        self.today = datetime.now(timezone.utc) - timedelta(hours=5)
        self.limits = resolve_options(UpsertRequest(base_path="/t")).extra_metadata

    def load(self, day: int) -> None:
        """Load the rows of a day, and late rows of some earlier days."""
        first = f"day={self._date(day)}"
        late = [
            f"day={self._date(day - age)}"
            for age in (1, 2, 5, 9)
            if self.random.random() < self.life.late_share
        ]
        changed = [FileGroupId(first, f"f{day:02d}-{n}") for n in range(self.random.randint(2, 4))]
        changed += [self.random.choice(self._groups(path)) for path in late if self._groups(path)]
        self.columns = [*self.life.columns, *([_NEW_COLUMN] if day >= PARTITIONS - 12 else [])]
        dag_id = f"load_{self.life.name}"
        self._commit(changed, WriteOperation.UPSERT, dag_id, "load_day", _schema(*self.columns), {})

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
        dag_id, schema = f"upkeep_{self.life.name}", _schema(*self.columns)
        self._commit(new, WriteOperation.CLUSTER, dag_id, "cluster", schema, replaced, plan=extra)

    def clean(self) -> None:
        request_id = f"upkeep_{self.life.name}/scheduled__{self.clock.moment:%Y-%m-%d}/clean"
        request = CleanRequest(base_path=str(self.folder), commits_retained=4, request_id=request_id)
        clean(request, storage=self.table.storage, clock=self.clock)

    def _date(self, day: int) -> str:
        return f"{self.today - timedelta(days=PARTITIONS - day):%Y-%m-%d}"

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
        action = Action.REPLACE_COMMIT if plan else Action.COMMIT
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
        # In tables of version 6, the time of the file is the time of the completion.
        seconds = self.clock.moment.timestamp()
        for path in (self.folder / ".hoodie").glob(f"{pending.requested_time}.*"):
            os.utime(path, (seconds, seconds))

    def _stats(self, groups: Iterable[FileGroupId], time: str, *, is_new: bool) -> Iterator[WriteStat]:
        for group in groups:
            before = 0 if is_new else self.sizes.get(group, 0)
            added = 0 if is_new else self.random.randint(*self.life.file_mib) * _MIB // (3 if before else 1)
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


def lively_table(folder: Path, life: Life) -> SmallTable:
    """Create the table; its last load was five hours ago. Return the table for further steps.

    The first loads are a backfill of the days before the table was created. Then each day has one load.
    """
    table = LivelyTable(folder, life)
    table.clock.moment = table.today.replace(microsecond=678000)
    end = table.clock.moment
    for day in range(PARTITIONS):
        age = PARTITIONS - 1 - day
        backfilled = max(0, age - DAYS + 1)
        table.clock.moment = end - timedelta(days=min(age, DAYS - 1)) - timedelta(minutes=25 * backfilled)
        table.load(day)
        if age and age % 7 == 3 and not backfilled:
            table.clock.moment += timedelta(hours=6)
            table.cluster()
            table.clock.moment += timedelta(hours=1)
            table.clean()
    rebuild_metadata_table(
        RebuildMetadataTableRequest(base_path=str(folder)), storage=table.table.storage, clock=table.clock
    )
    table.clock.moment += timedelta(minutes=20)
    return table.table
