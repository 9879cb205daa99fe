"""A table of real Hudi with all indexes and one commit of the engine, and what Hudi finds in copies of the table."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from judges import hudi_rs
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.indexed_tables import INDEXES, NO_COMPACTION
from judges.oracle import Oracle
from judges.rows import ALL_TYPES, KEY, PARTITION, Model, Row, a_key, as_table, merged, some_rows
from judges.table_files import instant_names

SCHEMA = pa.schema(
    [ALL_TYPES.field(name) for name in (KEY, PARTITION, "ts", "double", "text", "small_decimal")]
)
PARTITIONS = ("a", "b", "c")
NEW_PARTITION = "new"
FIRST, SECOND, OURS = 1, 2, 9
"""Values of the column `ts` in the rows of the three writes; the third one is the engine's."""
UPDATED = (0, 1, 2)
NEW_KEYS = range(40, 46)
NEW_GROUPS = {"hoodie.parquet.small.file.limit": "0"}
_SKIPPING = {
    **INDEXES,
    "hoodie.enable.data.skipping": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
}


@dataclass(frozen=True, kw_only=True)
class RuleTable:
    """The table: two writes of Hudi, each to a file group in each of three partitions, and a write of the engine.

    The engine's write updates one row in the first file group of each partition, and adds a partition.

    Attributes:
        before: the rows without the engine's write.
        ours: instant time of the engine's write.
    """

    base_path: Path
    oracle: Oracle
    before: Model
    model: Model
    ours: str

    @property
    def version(self) -> int:
        return self.oracle.table_version

    def copied_to(self, folder: Path) -> "RuleTable":
        shutil.copytree(self.base_path, folder)
        return RuleTable(
            base_path=folder, oracle=self.oracle, before=self.before, model=self.model, ours=self.ours
        )


def make_rule_table(judge: HudiJudge, engine: Engine, base_path: Path, oracle: Oracle) -> RuleTable:
    model: Model = {}
    for version, numbers in ((FIRST, range(15)), (SECOND, range(15, 30))):
        rows = some_rows(numbers, version, SCHEMA, PARTITIONS)
        hudi_writes(judge, base_path, oracle, rows)
        model = merged(model, rows)
    rows = our_rows()
    engine.write(base_path, as_table(rows, SCHEMA), version=oracle.table_version, options=NEW_GROUPS)
    return RuleTable(
        base_path=base_path,
        oracle=oracle,
        before=model,
        model=merged(model, rows),
        ours=newest_commit(base_path),
    )


def our_rows() -> list[Row]:
    updated = some_rows(UPDATED, OURS, SCHEMA, PARTITIONS)
    return updated + some_rows(NEW_KEYS, OURS, SCHEMA, (NEW_PARTITION,))


def hudi_writes(
    judge: HudiJudge, base_path: Path, oracle: Oracle, rows: list[Row], more: Mapping[str, str] | None = None
) -> None:
    """An upsert of Hudi that finds stored keys in the record index only."""
    options = {
        **oracle.options("t"),
        **INDEXES,
        **NO_COMPACTION,
        **NEW_GROUPS,
        "hoodie.index.type": "RECORD_INDEX",
        **(more or {}),
    }
    judge.write(base_path, as_table(rows, SCHEMA), options)


def newest_commit(base_path: Path) -> str:
    return instant_times(base_path)[-1]


def instant_times(base_path: Path) -> list[str]:
    """Requested times of the completed writes in the table, oldest first."""
    return [name.partition(".")[0].partition("_")[0] for name in instant_names(base_path, "commit")]


def opened(base_path: Path) -> MetadataTable:
    storage = LocalStorage(str(base_path))
    return open_metadata_table(storage, read_table_config(storage), SystemClock())


def selections(model: Model) -> dict[str, tuple[str, int]]:
    """Name → condition, and number of rows of the model that the condition selects."""
    stored, added = a_key(UPDATED[0]), a_key(NEW_KEYS[0])
    found = {
        "all": ("true", lambda row: True),
        "first": (f"ts = {FIRST}", lambda row: row["ts"] == FIRST),
        "second": (f"ts = {SECOND}", lambda row: row["ts"] == SECOND),
        "ours": (f"ts = {OURS}", lambda row: row["ts"] == OURS),
        "stored key": (f"{KEY} = '{stored}'", lambda row: row[KEY] == stored),
        "added key": (f"{KEY} = '{added}'", lambda row: row[KEY] == added),
        "new partition": (f"{PARTITION} = '{NEW_PARTITION}'", lambda row: row[PARTITION] == NEW_PARTITION),
        "small double": ("double < 500", lambda row: row["double"] is not None and row["double"] < 500),
        "great double": ("double > 3000", lambda row: row["double"] is not None and row["double"] > 3000),
    }
    return {name: (text, sum(map(selects, model.values()))) for name, (text, selects) in found.items()}


def expected(model: Model) -> dict[str, int]:
    """What Hudi must find in a table with these rows."""
    return {name: count for name, (_, count) in selections(model).items()}


def found_by_hudi(judge: HudiJudge, table: RuleTable) -> dict[str, int]:
    """Numbers of rows that Hudi finds with the metadata table and data skipping, by name of the selection."""
    name = judge.new_table_name()
    counts = ", ".join(
        f"(select count(*) from (select {KEY}, text from {name} where {condition})) as `{label}`"
        for label, (condition, _) in selections(table.model).items()
    )
    (row,) = judge.sql(
        f"create table {name} using hudi location '{table.base_path}'", f"select {counts}", settings=_SKIPPING
    )
    return {label: int(count) for label, count in row.items()}


def lost(found: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, int]:
    """Name of a selection → number of rows that are missing; negative if there are too many rows."""
    return {name: count - found[name] for name, count in wanted.items() if found[name] != count}


def rows_of_hudi_rs(table: RuleTable) -> int:
    return hudi_rs.read_snapshot(table.base_path).num_rows


def findings(table: RuleTable) -> set[str]:
    """Measures of the engine's health report that are above their limits."""
    report = table_health(HealthRequest(base_path=str(table.base_path))).report_as(HealthReport)
    assert report is not None
    return {each.measure for each in report.findings if each.measure.startswith("metadata_")}
