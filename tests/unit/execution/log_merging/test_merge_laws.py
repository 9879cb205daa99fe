"""Laws of merges, for random slices: the same rows as a merge row by row, with and without spill files."""

import datetime
import decimal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.planning.table.merge_rules import (
    DELETE_FIELD,
    DELETE_MARKER,
    MERGE_PROPERTIES,
    merge_rule,
)
from support.depth import cases
from support.log_merging.row_by_row import COMMIT_COLUMN, RowByRow
from support.log_merging.slices import KEY_COLUMN, Delete, Row, Slice, merge

PAYLOADS = "org.apache.hudi.common.model."
EVENT_TIME, COMMIT_TIME = "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"
DAY = datetime.date(2024, 1, 1)
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [-1, 0, 1, 2]),
    "long": (pa.int64(), [-(1 << 62), 0, 1, 1 << 62]),
    "double": (pa.float64(), [float("-inf"), -1.5, 0.25, 2.0]),
    "float": (pa.float32(), [-1.5, 0.25, 2.0]),
    "string": (pa.string(), ["", "a", "ab", "é"]),
    "date": (pa.date32(), [DAY, DAY + datetime.timedelta(days=1)]),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        [datetime.datetime(2024, 1, 1, second=n, tzinfo=datetime.UTC) for n in range(3)],
    ),
    "decimal": (
        pa.decimal128(10, 2),
        [decimal.Decimal("-1.50"), decimal.Decimal("0.25"), decimal.Decimal("7")],
    ),
}


@dataclass(frozen=True)
class Table:
    """A kind of table: its properties, and the settings of the row-by-row merge."""

    properties: dict[str, str]
    kind: Any
    payload: str = ""
    ignores_defaults: bool = False
    marker: bool = False


def later_table(version: str, mode: str, *, ignores_defaults: bool = False, marker: bool = False) -> Table:
    properties = {"hoodie.table.version": version, "hoodie.record.merge.mode": mode}
    if ignores_defaults:
        properties["hoodie.table.partial.update.mode"] = "IGNORE_DEFAULTS"
    if marker:
        properties |= {f"{MERGE_PROPERTIES}{DELETE_FIELD}": "op", f"{MERGE_PROPERTIES}{DELETE_MARKER}": "D"}
    kind = "event_time" if mode == EVENT_TIME else "commit_time"
    return Table(properties, kind, ignores_defaults=ignores_defaults, marker=marker)


def payload_table(class_name: str, payload: str = "", *, marker: bool = False) -> Table:
    properties = {"hoodie.table.version": "6", "hoodie.compaction.payload.class": f"{PAYLOADS}{class_name}"}
    return Table(properties, "v6", payload or class_name.removesuffix("AvroPayload"), marker=marker)


TABLES = {
    "v6-default": payload_table("DefaultHoodieRecordPayload"),
    "v6-marker": payload_table("DefaultHoodieRecordPayload", marker=True),
    "v6-event-time": payload_table("EventTimeAvroPayload"),
    "v6-overwrite": payload_table("OverwriteWithLatestAvroPayload"),
    "v6-partial": payload_table("PartialUpdateAvroPayload"),
    "v6-non-defaults": payload_table("OverwriteNonDefaultsWithLatestAvroPayload"),
    "v8-event-time": later_table("8", EVENT_TIME),
    "v8-commit-time": later_table("8", COMMIT_TIME),
    "v9-event-time": later_table("9", EVENT_TIME),
    "v9-event-time-filled": later_table("9", EVENT_TIME, ignores_defaults=True),
    "v9-event-time-marker": later_table("9", EVENT_TIME, marker=True),
    "v9-commit-time": later_table("9", COMMIT_TIME),
    "v9-commit-time-filled": later_table("9", COMMIT_TIME, ignores_defaults=True),
}


def schema_of(types: list[str]) -> pa.Schema:
    ordering = [(f"o{number}", TYPES[name][0]) for number, name in enumerate(types)]
    return pa.schema(
        [
            (COMMIT_COLUMN, pa.string()),
            (KEY_COLUMN, pa.string()),
            *ordering,
            ("v", pa.int64()),
            ("s", pa.string()),
            ("tags", pa.list_(pa.string())),
            ("op", pa.string()),
            ("_hoodie_is_deleted", pa.bool_()),
        ]
    )


@st.composite
def slices(draw: st.DrawFn, types: list[str]) -> Slice:
    keys = st.sampled_from([f"key-{number}" for number in range(draw(st.sampled_from([1, 2, 3, 12])))])
    orderings = [st.none() | st.sampled_from(TYPES[name][1]) for name in types]

    def row(commit: int, key: str) -> Row:
        flags = st.sampled_from(["", "", "", "op", "flag"])
        flag = draw(flags) if commit else ""
        return {
            COMMIT_COLUMN: str(commit),
            KEY_COLUMN: key,
            **{f"o{number}": draw(values) for number, values in enumerate(orderings)},
            "v": draw(st.none() | st.integers(0, 3)),
            "s": draw(st.none() | st.sampled_from("abc")),
            "tags": draw(st.none() | st.just([]) | st.just(["t", None])),
            "op": "D" if flag == "op" else draw(st.sampled_from([None, "U"])),
            "_hoodie_is_deleted": flag == "flag" or draw(st.sampled_from([None, False])),
        }

    base = [row(0, key) for key in draw(st.lists(keys, unique=True))]
    cut = draw(st.integers(0, len(base)))
    blocks: list[list[Row] | list[Delete]] = []
    for commit in range(1, draw(st.sampled_from([0, 1, 3, 5, 8])) + 1):
        chosen = draw(st.lists(keys, min_size=1, max_size=5))
        if draw(st.sampled_from([True, True, False])):
            blocks.append([row(commit, key) for key in chosen])
        else:
            ordering = st.none() | st.tuples(*(st.sampled_from(TYPES[name][1]) for name in types))
            blocks.append([Delete(key, draw(ordering)) for key in chosen])
    return Slice(schema_of(types), [base[:cut], base[cut:]], blocks)


def check(name: str, types: list[str], each: Slice, folder: Path) -> None:
    made = TABLES[name]
    fields = tuple(f"o{number}" for number in range(len(types)))
    version = int(made.properties["hoodie.table.version"])
    key = "hoodie.table.ordering.fields" if version == 9 else "hoodie.table.precombine.field"
    marker = {DELETE_FIELD: "op", DELETE_MARKER: "D"} if made.marker and version == 6 else {}
    rule = merge_rule(TableConfig({**made.properties, key: ",".join(fields)}), marker)
    # Without ordering fields, both merge modes keep the later version.
    kind = made.kind if made.kind == "v6" or fields else "commit_time"
    model = RowByRow(
        kind=kind,
        payload=made.payload,
        ignores_defaults=made.ignores_defaults,
        fields=fields if kind != "commit_time" else (),
        default_is_zero=types == ["int"],
        marker="D" if made.marker else "",
    )
    expected = model.merge(each)
    merged = merge(rule, each)
    assert merged.rows == expected
    for before, after in zip(merged.base, merged.batches, strict=False):
        if before.equals(after) and merged.taken == 0:
            assert before is after
    spilled = merge(rule, each, budget=100, folder=folder)
    assert spilled.rows == expected
    assert spilled.counts == merged.counts
    counts, size = merged.counts, sum(map(len, each.base))
    assert len(expected) == size - counts.deleted + counts.appended


@pytest.mark.parametrize("name", cases(list(TABLES), ["v6-partial", "v9-event-time-filled"]))
@given(data=st.data())
def test_a_merge_gives_the_rows_of_a_merge_row_by_row(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    most = 2 if TABLES[name].properties["hoodie.table.version"] == "9" else 1
    types = data.draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=0, max_size=most))
    check(name, types, data.draw(slices(types)), tmp_path_factory.getbasetemp())
