"""Reads return the same rows as real Hudi, on tables that Hudi and this project wrote."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.reading.planned_reads import plan_read, rows_of_scan
from judges import hudi_rs
from judges.merge_on_read.shared_log_tables import READ_OPTIMIZED, SharedTable
from judges.oracle import ORACLES, V6, V6_OLD, V8, V9, Oracle
from judges.reading.reads_compared import ComparingJudge, our_rows
from judges.rows import KEY, PLAIN, Row, as_table, assert_rows_equal, some_rows
from judges.table_files import instant_names
from support.depth import cases
from support.reading.read_here import AS_OF, window

pytestmark = pytest.mark.oracles(V6_OLD, V8, V9)

COMPLETED = (".commit", ".deltacommit", ".replacecommit")
every_oracle = pytest.mark.parametrize("oracle", cases(ORACLES, [V9]))
LAYOUTS = {True: "partitioned", False: "not-partitioned"}
# `make test` runs these tests with one release of Hudi.
oldest = pytest.mark.parametrize("oracle", cases(ORACLES, [V6_OLD]))
newest = pytest.mark.parametrize("oracle", cases(ORACLES, [V9]))


def model_of(rows: pa.Table, *, without: tuple[str, ...] = ("_hoodie_file_name",)) -> dict[str, Row]:
    names = [name for name in rows.column_names if name not in without]
    found = rows.select(names).to_pylist(maps_as_pydicts="strict")
    assert len({row[KEY] for row in found}) == len(found)
    return {row[KEY]: row for row in found}


def times_of(base_path: Path) -> list[tuple[str, str]]:
    """Requested time and visible time of each completed write, ordered by visible times."""
    names = [name for name in instant_names(base_path) if name.endswith(COMPLETED)]
    pairs = [name.partition(".")[0].partition("_") for name in names]
    return sorted(((first, second or first) for first, _, second in pairs), key=lambda pair: pair[1])


def compare_everything(judge: ComparingJudge, base_path: Path) -> None:
    """Compare all kinds of reads, at all instants and for all windows."""
    judge.compare(base_path, {})
    judge.compare(base_path, READ_OPTIMIZED)
    times = times_of(base_path)
    for requested, _ in times:
        judge.compare(base_path, {AS_OF: requested})
    bounds = ["000", *(visible for _, visible in times)]
    for place, begin in enumerate(bounds[:-1]):
        for end in bounds[place + 1 :]:
            judge.compare(base_path, window(begin, end))
        judge.compare(base_path, window(begin))


def compare_with_hudi_rs(base_path: Path, what: str) -> None:
    """Compare the snapshot, the state as of each instant and the changes of each window with the rows of hudi-rs."""
    reads: list[tuple[Mapping[str, str], pa.Table]] = [({}, hudi_rs.read_records(base_path))]
    times = times_of(base_path)
    reads += [({AS_OF: time}, hudi_rs.read_records_as_of(base_path, time)) for time, _ in times]
    bounds = ["000", *(visible for _, visible in times)]
    for place, begin in enumerate(bounds[:-1]):
        for end in (*bounds[place + 1 :], ""):
            theirs = hudi_rs.read_changed_records(base_path, begin, end or None)
            reads.append((window(begin, end), theirs))
    for options, theirs in reads:
        wanted = model_of(theirs) if theirs.num_rows else {}
        assert_rows_equal(our_rows(base_path, options), wanted, f"hudi-rs, {what}, {options}")


@oldest
@pytest.mark.parametrize("is_partitioned", cases([True, False], [True], name=LAYOUTS.__getitem__))
def test_reads_of_copy_on_write_tables_return_the_rows_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle, is_partitioned: bool
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    for number, first in enumerate((0, 4, 8), start=1):
        rows = as_table(some_rows(range(first, first + 8), number))
        judge.write(base_path, rows, oracle.options("t", is_partitioned=is_partitioned))
    gone = as_table(some_rows(range(3), 4))
    options = oracle.options("t", is_partitioned=is_partitioned, datasource__write__operation="delete")
    judge.write(base_path, gone, options)
    compare_everything(judge, base_path)
    compare_with_hudi_rs(base_path, str(oracle))


@every_oracle
def test_reads_of_merge_on_read_tables_return_the_rows_of_hudi(hudi, tmp_path: Path, oracle: Oracle) -> None:
    table = SharedTable(tmp_path / "t", oracle, hudi(oracle.release), PLAIN)
    table.hudi_writes(some_rows(range(8), 5, PLAIN))
    table.hudi_writes(some_rows(range(3), 6, PLAIN))
    table.write(some_rows(range(2, 5), 7, PLAIN))
    table.write(some_rows([7], 7, PLAIN), "delete")
    compare_everything(table.judge, table.base_path)
    compare_with_hudi_rs(table.base_path, f"before the compaction, {oracle}")
    table.hudi_compacts()
    table.hudi_writes(some_rows(range(4, 10), 8, PLAIN))
    # hudi-rs merges a late row with a base row outside of the window, and then returns neither.
    compare_with_hudi_rs(table.base_path, f"after the compaction, {oracle}")
    if oracle != V6:
        # In version 6, Hudi 0.15 merges this late row with the base row, which the window does not contain, and Hudi
        # 1.2 does not. This project does the same as Hudi 0.15 (docs/differences.md).
        table.write(some_rows([0], 3, PLAIN))
    compare_everything(table.judge, table.base_path)


@oldest
def test_reads_beside_a_pending_compaction_return_the_rows_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    table = SharedTable(tmp_path / "t", oracle, hudi(oracle.release), PLAIN)
    table.write(some_rows(range(8), 5, PLAIN))
    table.write(some_rows(range(3), 6, PLAIN))
    table.hudi_compacts("schedule")
    table.write(some_rows(range(2, 5), 7, PLAIN))
    compare_everything(table.judge, table.base_path)


@newest
@pytest.mark.thorough
def test_reads_of_overwritten_partitions_return_the_rows_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    judge.write(base_path, as_table(some_rows(range(8), 1)), oracle.options("t"))
    options = oracle.options("t", datasource__write__operation="insert_overwrite")
    judge.write(base_path, as_table(some_rows([20, 22], 2)), options)
    compare_everything(judge, base_path)


@oldest
def test_reads_of_added_and_widened_columns_return_the_rows_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    narrow = pa.schema([*(PLAIN.field(name) for name in (KEY, "part", "ts")), pa.field("number", pa.int32())])
    wide = pa.schema([*(field for field in narrow if field.name != "number"), pa.field("number", pa.int64())])
    wide = wide.append(pa.field("added", pa.string()))
    for schema, numbers, version in ((narrow, range(6), 1), (wide, range(4, 8), 2)):
        rows = [
            {KEY: f"k{n}", "part": "ab"[n % 2], "ts": version, "number": n, "added": f"a{n}"} for n in numbers
        ]
        table = pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema)
        judge.write(base_path, table, oracle.options("t"))
    judge.compare(base_path, {})
    first = times_of(base_path)[0][0]
    ours = our_rows(base_path, {AS_OF: first})
    assert ours.schema.field("number").type == pa.int32()
    judge.compare(base_path, {AS_OF: first})


@pytest.mark.parametrize("oracle", cases([V8, V9], [V9]))
@pytest.mark.thorough
def test_filters_find_the_same_rows_with_and_without_indexes_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = oracle.options(
        "t",
        metadata__enable="true",
        metadata__index__column__stats__enable="true",
        metadata__index__partition__stats__enable="true",
        metadata__record__index__enable="true",
    )
    for number, first in enumerate((0, 6), start=1):
        judge.write(base_path, as_table(some_rows(range(first, first + 8), number)), options)
    storage = LocalStorage(str(base_path))
    rows = model_of(judge.read_with_meta_columns(base_path))
    for filters in (
        [("ts", "=", 2)],
        [("text", ">", "v1 of 3")],
        [("small_decimal", "<", rows[min(rows)]["small_decimal"])],
        [("date", ">=", rows[min(rows)]["date"])],
        [(KEY, "in", sorted(rows)[:2])],
        [("part", "=", "a"), ("int", "is not null")],
    ):
        found = filtered_keys(storage, filters)
        assert found == filtered_keys(storage, filters, {"hoodie.enable.data.skipping": "false"}), filters
        assert rows.keys() >= set(found)


def filtered_keys(
    storage: LocalStorage, filters: Sequence[object], options: Mapping[str, str] | None = None
) -> list[str]:
    scan = plan_read(storage, options or {}, filters=filters)
    return sorted(key for table in rows_of_scan(storage, scan) for key in table[KEY].to_pylist())


@pytest.mark.parametrize("oracle", cases([V6_OLD, V9], [V9]))
def test_filters_on_all_key_columns_find_the_rows_in_hudis_record_index(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = oracle.options(
        "t",
        datasource__write__recordkey__field=f"{KEY},int,ts",
        metadata__enable="true",
        metadata__index__column__stats__enable="false",
        metadata__index__partition__stats__enable="false",
        metadata__record__index__enable="true",
    )
    rows = some_rows(range(8), 1)
    rows[0] = {**rows[0], KEY: ""}
    judge.write(base_path, as_table(rows), options)
    storage = LocalStorage(str(base_path))
    for row in rows:
        if row["int"] is None:
            continue
        filters = [(KEY, "=", row[KEY]), ("ts", "in", [row["ts"], 10**9]), ("int", "=", row["int"])]
        plan = plan_read(storage, {}, filters=filters).explain()
        assert "Skips 1 file slice" in plan, plan
        assert "the record index has no wanted key there" in plan
        assert filtered_keys(storage, filters) == [row[KEY]]
    assert filtered_keys(storage, [(KEY, "=", rows[1][KEY]), ("ts", "=", 10**9), ("int", "=", 1)]) == []
