"""The cases of ``tests/golden/merge_cases*.json``, as file slices that real Hudi would have written."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_table_services.execution.log_merging.batch_duplicates import combine_duplicates
from hudi_table_services.execution.log_merging.merged_rows import ColumnFill
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.merge_rules import DELETE_FIELD, DELETE_MARKER, merge_rule
from support.log_merging.slices import KEY_COLUMN, Delete, Row, Slice, table

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = ("merge_cases.json", "merge_cases_of_long_logs.json")
COMMIT_COLUMN = "_hoodie_commit_time"
SCHEMA = pa.schema(
    [
        (COMMIT_COLUMN, pa.string()),
        (KEY_COLUMN, pa.string()),
        ("ts", pa.int64()),
        ("ts2", pa.int64()),
        ("v", pa.float64()),
        ("s", pa.string()),
        ("op", pa.string()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
DELETE_OPERATION = "delete"
Answer = list[Any] | None
Step = None | str | Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class HudiTable:
    """One configuration of a table, and what real Hudi returned.

    Attributes:
        name: release, table version and configuration.
        cases: for each key, its versions in each commit.
        snapshot, compacted: for each key, the row before and after a compaction; None if there is no row. In the file
            of long logs, the last value is the number of the commit that wrote the row.
    """

    name: str
    cases: Mapping[str, Sequence[Step]]
    properties: Mapping[str, str]
    snapshot: Mapping[str, Answer]
    compacted: Mapping[str, Answer]

    @property
    def version(self) -> TableVersion:
        return TableVersion(int(self.name.split("/")[1].removeprefix("v")))

    @property
    def rule(self) -> MergeRule:
        config = TableConfig({**self.properties, "hoodie.table.version": str(int(self.version))})
        # Tables of version 6 do not store the marker.
        has_marker = self.name.endswith("_marker") and self.version is TableVersion.V6
        settings = {DELETE_FIELD: "op", DELETE_MARKER: "D"} if has_marker else {}
        return merge_rule(config, settings)


@cache
def hudi_tables(file: str) -> tuple[HudiTable, ...]:
    document = json.loads((GOLDEN / file).read_text(encoding="utf-8"))
    return tuple(
        HudiTable(name, document["cases"], each["properties"], each["snapshot"], each["compacted"])
        for name, each in document["results"].items()
    )


def every_table() -> list[HudiTable]:
    return [each for file in FILES for each in hudi_tables(file)]


def as_slice(each: HudiTable, *, deletes_in_data_blocks: bool = False) -> Slice:
    """The slice of one file group that contains all cases.

    Args:
        deletes_in_data_blocks: whether rows that are marked as deletes stay in data blocks. Hudi's writer moves them
            to delete blocks.
    """
    rule = each.rule
    commits = max(map(len, each.cases.values()))
    base = list(_rows(each, 0))
    blocks: list[list[Row] | list[Delete]] = []
    for number in range(1, commits):
        rows = table(SCHEMA, list(_rows(each, number)))
        combined = combine_duplicates(rule, rows, ColumnFill.of(rule)).to_pylist()
        moved = [] if deletes_in_data_blocks else [row for row in combined if _is_moved(each, row)]
        blocks.append([row for row in combined if row not in moved])
        blocks.append([Delete(row[KEY_COLUMN], tuple(row[f] for f in rule.ordering_fields)) for row in moved])
        deleted = [key for key, steps in each.cases.items() if steps[number] == DELETE_OPERATION]
        blocks.append([Delete(key) for key in deleted])
    return Slice(SCHEMA, [base], blocks)


def _is_moved(each: HudiTable, row: Row) -> bool:
    """Whether the row is a delete for Hudi's writer. In version 6, a delete marker replaces the soft-delete column."""
    marker = each.rule.delete_marker
    is_marked = marker is not None and row["op"] == marker.value
    if each.version is TableVersion.V6 and marker is not None:
        return is_marked
    return is_marked or bool(row["_hoodie_is_deleted"])


def _rows(each: HudiTable, number: int) -> Iterator[Row]:
    for key, steps in each.cases.items():
        step = steps[number]
        if step is None or step == DELETE_OPERATION:
            continue
        for version in step if isinstance(step, list) else [step]:
            assert isinstance(version, Mapping)
            yield {
                COMMIT_COLUMN: str(number + 1),
                KEY_COLUMN: key,
                "_hoodie_is_deleted": version["deleted"],
                **{name: version[name] for name in ("ts", "ts2", "v", "s", "op")},
            }
