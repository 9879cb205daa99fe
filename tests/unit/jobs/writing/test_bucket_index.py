"""Writes to tables of Hudi's bucket index: new rows are refused, and rows of the table can be changed."""

import itertools
from pathlib import Path

import pytest

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.execution.file_groups import new_file_id
from hudi_table_services.hudi_format.bucket_ids import has_bucket_ids
from support.spark.log_tables import LogTable, Row, new_log_table

OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], "old") for i in range(4)]


@pytest.fixture(params=["MERGE_ON_READ", "COPY_ON_WRITE"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LogTable:
    """A table of version 6 whose file ids begin with numbers of buckets, as the bucket index of Hudi names them."""
    made = new_log_table(tmp_path / "t", 6, hoodie__table__type=request.param)
    made.write(OLD)
    with_bucket_ids(made, *made.slices())
    return made


def with_bucket_ids(table: LogTable, *slices: object) -> None:
    prefixes = [each.file_group_id.file_id[:8] for each in slices]  # type: ignore[attr-defined]
    for number, prefix in enumerate(prefixes):
        for path in sorted(table.base_path.rglob("*")):
            if path.is_file() and path.name.startswith(prefix):
                path.rename(path.with_name(path.name.replace(prefix, f"{number:08d}", 1)))
            elif path.is_file() and path.parent.name == ".hoodie":
                path.write_bytes(path.read_bytes().replace(prefix.encode(), b"%08d" % number))


@pytest.mark.parametrize(
    ("rows", "operation"),
    [
        ([("n", 2, "a", "new")], "upsert"),
        ([("k0", 2, "a", "new"), ("n", 2, "b", "new")], "upsert"),
        ([("n", 2, "new partition", "new")], "upsert"),
        ([("n", 2, "a", "new")], "insert"),
        ([("n", 2, "a", "new")], "bulk_insert"),
        ([("n", 2, "a", "new")], "insert_overwrite"),
    ],
)
def test_new_rows_are_refused(table: LogTable, rows: list[Row], operation: str) -> None:
    before = table.files()
    with pytest.raises(UnsupportedTableError, match="begin with numbers of buckets, for example 00000000-"):
        table.write(rows, operation)
    assert table.files() == before


def test_rows_of_the_table_are_updated_and_deleted(table: LogTable) -> None:
    table.write([("k0", 2, "a", "new")])
    table.write([("k1", 2, "b", None)], "delete")
    assert table.rows() == [("k0", 2, "a", "new"), *OLD[2:]]
    assert len(table.slices()) == 2


def test_a_file_id_that_begins_like_a_bucket_is_no_bucket_index_if_others_do_not(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 6)
    table.write(OLD)
    with_bucket_ids(table, table.slice_of("a"))
    table.write([("n", 2, "a", "new")])
    assert table.rows() == sorted([("n", 2, "a", "new"), *OLD])


def test_consistent_hashing_is_refused(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 6)
    table.write(OLD)
    folder = table.base_path / ".hoodie/.bucket_index/consistent_hashing_metadata/a"
    folder.mkdir(parents=True)
    (folder / "00000000000000.hashing_meta").write_text("{}")
    with pytest.raises(UnsupportedTableError, match="consistent hashing"):
        table.write([("n", 2, "a", "new")])
    table.write([("k0", 2, "a", "new")])


def test_new_file_ids_do_not_look_like_buckets() -> None:
    assert has_bucket_ids(
        ["00000000-1111-2222-3333-444444444444-0", "00099999-1111-2222-3333-444444444444-0"]
    )
    assert not has_bucket_ids([])
    assert not has_bucket_ids(["00100000-1111-2222-3333-444444444444-0"])
    assert not any(has_bucket_ids([new_file_id()]) for _ in itertools.repeat(None, 100))
