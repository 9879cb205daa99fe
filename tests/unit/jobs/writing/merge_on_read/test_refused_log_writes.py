"""Tables, options and batches that a write refuses because of the table type, before it writes anything."""

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_table_services.errors import (
    HudiTableServiceError,
    InvalidDataError,
    InvalidRequestError,
    UnsupportedTableError,
)
from support.spark.log_tables import FLAG, LogTable, Row, new_log_table

OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], "old") for i in range(4)]
GLOBAL = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}


def refused(
    table: LogTable, error: type[HudiTableServiceError], match: str, *rows: Row, **arguments: object
) -> None:
    before = table.files()
    with pytest.raises(error, match=match):
        table.write(rows or OLD, **arguments)  # type: ignore[arg-type]
    assert table.files() == before


@pytest.mark.parametrize("existing", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_table_keeps_its_type(tmp_path: Path, existing: str) -> None:
    table = new_log_table(tmp_path / "t", hoodie__table__type=existing)
    table.write(OLD)
    other = "COPY_ON_WRITE" if existing == "MERGE_ON_READ" else "MERGE_ON_READ"
    refused(table, InvalidRequestError, existing, options={"hoodie.table.type": other})
    table.options = {}
    table.write(OLD)


def test_moves_of_rows_between_partitions_are_refused_in_event_time_order(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t")
    table.write(OLD)
    refused(table, InvalidRequestError, "is moved", options=GLOBAL)
    table.write(OLD, options={**GLOBAL, "hoodie.simple.index.update.partition.path": "false"})


def test_an_ordering_column_that_would_get_another_type_is_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t")
    table.types = {"ts": pa.int32()}
    table.write(OLD)
    table.types = {}
    refused(table, InvalidRequestError, "'ts' would change from int to long")


def test_deletes_with_ordering_values_that_no_release_of_hudi_stores_are_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t")
    table.types = {"ts": pa.binary()}
    table.write([("k0", b"1", "a", "old")])
    table.write([("k0", b"2", "a", "new")])
    refused(
        table,
        UnsupportedTableError,
        "ordering column 'ts'",
        ("k0", b"3", "a", None, True),
        options={"hoodie.write.set.null.for.missing.columns": "true"},
    )
    assert FLAG not in table.newest()[1].extra_metadata["schema"]


def test_a_first_batch_whose_deletes_hudi_cannot_store_creates_no_table(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9)
    table.types = {"ts": pa.date32()}
    day = datetime.date(2026, 1, 1)
    refused(table, UnsupportedTableError, "ordering column 'ts'", ("k0", day, "a", "new", False))
    assert table.files() == set()
    table.write([("k0", day, "a", "new")])


def test_an_index_that_no_job_updates_is_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", hoodie__metadata__enable="true")
    table.write(OLD)
    properties = table.base_path / ".hoodie" / "hoodie.properties"
    text = properties.read_text()
    properties.write_text(text.replace("files,", "files,expr_index_x,"))
    refused(table, UnsupportedTableError, "expr_index_x")


def test_unsupported_merge_properties_of_the_table_are_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t")
    table.write(OLD)
    properties = table.base_path / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.table.partial.update.mode=IGNORE_DEFAULTS\n")
    refused(table, UnsupportedTableError, "partial updates")


def test_hfile_blocks_in_log_files_are_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t")
    table.write(OLD)
    options = {"hoodie.logfile.data.block.format": "hfile"}
    refused(table, InvalidRequestError, "avro, parquet", options=options)


def test_updates_without_ordering_value_are_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t")
    table.write([(*row, False) for row in OLD])
    with pytest.raises(InvalidDataError, match="'ts' is null in 1 update"):
        table.write([("k0", None, "a", "new", False), ("k1", None, "b", None, True)])
    assert table.rows() == OLD
    assert table.leftovers() == set()
    # A new row goes to a base file, and a delete without ordering value is unconditional.
    table.write([("n", None, "a", "new", False), ("k1", None, "b", None, True)])
    assert table.rows() == [OLD[0], *OLD[2:], ("n", None, "a", "new")]
