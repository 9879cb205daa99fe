"""Real Hudi and the engine write to one table with a bucket index alternately, and agree on the bucket of each key.

Oracles: Hudi 0.15.0 on table version 6; Hudi 1.2.0 on versions 8 and 9. After each write, Hudi and hudi-rs read the
expected rows, each row is in the file group of its bucket, and no bucket has a second file group.
"""

import itertools
from pathlib import Path

import pyarrow.compute as pc
import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.bucket_hash import BucketHash
from hudi_table_services.hudi_format.bucket_ids import bucket_number
from hudi_table_services.hudi_format.key_parts import KeyParser
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges import hudi_rs
from judges.merge_on_read.shared_log_tables import SharedTable, without
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import KEY, PARTITION, PLAIN, Row, as_table, assert_rows_equal, merged, some_rows
from support.compaction.jobs_here import execute, schedule
from support.depth import cases
from support.spark.in_driver import DriverSession

BUCKETS = 5
ORACLES = (V6_OLD, V8, V9)
SAMPLED = (V9,)
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
RULE = BucketHash(bucket_count=BUCKETS, hash_fields=(KEY,))
_numbers = itertools.count(1)


def _name(case: tuple[Oracle, str]) -> str:
    return f"{case[0]}-{case[1]}"


class BucketTable(SharedTable):
    """A table of the type `kind`. All its writers set the same options of the bucket index."""

    kind = KINDS[0]

    def hudi_writes(self, rows: list[Row], operation: str = "upsert", **more: str) -> None:  # type: ignore[override]
        index = {"index__type": "BUCKET", "bucket__index__num__buckets": str(BUCKETS)}
        super().hudi_writes(rows, operation, datasource__write__table__type=self.kind, **index, **more)

    def check_buckets(self, rule: BucketHash = RULE) -> None:
        found = hudi_rs.read_records(self.base_path).to_pylist()
        stored = {row["_hoodie_record_key"]: bucket_number(row["_hoodie_file_name"]) for row in found}
        assert stored == {key: rule.bucket_of(key) for key in stored}
        slices = load_snapshot(LocalStorage(str(self.base_path))).all_slices
        groups = [(s.file_group_id.partition_path, bucket_number(s.file_group_id.file_id)) for s in slices]
        assert len(set(groups)) == len(groups)

    @property
    def has_logs(self) -> bool:
        return bool(self.log_paths())


def made(tmp_path: Path, oracle: Oracle, hudi, kind: str) -> BucketTable:
    options = {
        "hoodie.table.type": kind,
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": str(BUCKETS),
    }
    table = BucketTable(tmp_path / "t", oracle, hudi(oracle.release), PLAIN, options)
    table.kind = kind
    return table


@pytest.fixture(
    params=cases(list(itertools.product(ORACLES, KINDS)), list(itertools.product(SAMPLED, KINDS)), _name)
)
def table(request: pytest.FixtureRequest, hudi, tmp_path: Path) -> BucketTable:
    oracle, kind = request.param
    return made(tmp_path, oracle, hudi, kind)


def rows(numbers: range, version: int) -> list[Row]:
    return some_rows(numbers, version, PLAIN)


@pytest.mark.parametrize("creator", cases(["hudi", "engine"], ["hudi"]))
def test_hudi_and_the_engine_place_new_rows_and_find_each_others_rows(
    table: BucketTable, creator: str
) -> None:
    first = rows(range(20), 1)
    if creator == "hudi":
        table.hudi_writes(first)
    else:
        table.write(first)
    model = merged({}, first)
    table.check(model, f"first rows of {creator}")
    table.check_buckets()

    ours = rows(range(10, 40), 2)
    result = table.write(ours)
    assert result.rows is not None
    assert (result.rows.inserted, result.rows.updated) == (20, 10)
    model = merged(model, ours)
    table.check(model, "our new rows and updates")
    table.check_buckets()
    assert table.has_logs is (table.kind == "MERGE_ON_READ")

    theirs = rows(range(30, 60), 3)
    table.hudi_writes(theirs)
    model = merged(model, theirs)
    table.check(model, "new rows and updates of Hudi")
    table.check_buckets()

    gone = [model[key] for key in sorted(model)[:6]]
    table.write(gone[:3], "delete")
    table.hudi_writes(gone[3:], "delete")
    model = without(model, [row[KEY] for row in gone])
    table.check(model, "deletes of both")
    table.write(rows(range(55, 65), 4), "insert")
    model = merged(model, rows(range(55, 65), 4))
    table.check(model, "our insert")
    table.hudi_writes(
        rows(range(70, 80), 5), "insert"
    )  # only new keys: in copy-on-write tables, Hudi would insert an existing key again
    model = merged(model, rows(range(70, 80), 5))
    table.check(model, "an insert of Hudi")
    table.check_buckets()


@pytest.mark.parametrize("oracle", cases(ORACLES, SAMPLED))
def test_compactions_of_hudi_and_of_the_engine_merge_new_rows_of_log_files(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    table = made(tmp_path, oracle, hudi, "MERGE_ON_READ")
    table.hudi_writes(rows(range(15), 1))
    table.write(rows(range(5, 30), 2))
    model = merged(merged({}, rows(range(15), 1)), rows(range(5, 30), 2))
    table.hudi_compacts()
    table.check(model, "compaction of Hudi")
    table.check_read_optimized(model, "compaction of Hudi")
    table.hudi_writes(rows(range(20, 40), 3))
    table.write(rows(range(35, 45), 4))
    model = merged(merged(model, rows(range(20, 40), 3)), rows(range(35, 45), 4))
    storage = LocalStorage(str(table.base_path))
    schedule(storage, SystemClock())
    execute(storage, SystemClock())
    table.check(model, "our compaction")
    table.check_read_optimized(model, "our compaction")
    table.hudi_writes(rows(range(50), 5))
    table.check(merged(model, rows(range(50), 5)), "Hudi after our compaction")
    table.check_buckets()


@pytest.mark.thorough
def test_hudi_and_the_engine_write_after_overwrites_by_each_other(table: BucketTable) -> None:
    table.hudi_writes(rows(range(20), 1))
    ours = [row for row in rows(range(30, 40), 2) if row[PARTITION] == "a"]
    table.write(ours, "insert_overwrite")
    kept = [row for row in rows(range(20), 1) if row[PARTITION] == "b"]
    model = merged(merged({}, kept), ours)
    table.check(model, "our overwrite of a partition")
    table.hudi_writes(rows(range(35, 50), 3))
    model = merged(model, rows(range(35, 50), 3))
    table.check(model, "Hudi after our overwrite")
    theirs = [row for row in rows(range(60, 70), 4) if row[PARTITION] == "b"]
    table.hudi_writes(theirs, "insert_overwrite")
    model = merged({key: row for key, row in model.items() if row[PARTITION] == "a"}, theirs)
    table.check(model, "an overwrite of Hudi")
    table.write(rows(range(60, 80), 5))
    model = merged(model, rows(range(60, 80), 5))
    table.check(model, "our write after the overwrite of Hudi")
    table.check_buckets()
    table.write(rows(range(10), 6), "insert_overwrite_table")
    table.hudi_writes(rows(range(5, 15), 7))
    table.check(merged(merged({}, rows(range(10), 6)), rows(range(5, 15), 7)), "Hudi after the whole table")
    table.check_buckets()


@pytest.mark.parametrize("oracle", cases(ORACLES, SAMPLED))
def test_we_add_rows_after_a_bulk_insert_of_hudi(hudi, tmp_path: Path, oracle: Oracle) -> None:
    table = made(tmp_path, oracle, hudi, "COPY_ON_WRITE")
    table.hudi_writes(rows(range(20), 1), "bulk_insert")
    table.check_buckets()
    table.write(rows(range(15, 40), 2), "bulk_insert")
    model = merged(merged({}, rows(range(20), 1)), rows(range(15, 40), 2))
    table.check(model, "our bulk insert after that of Hudi")
    table.check_buckets()


def test_options_that_contradict_a_table_of_hudi_are_refused(table: BucketTable) -> None:
    table.hudi_writes(rows(range(40), 1))
    for count in ("3", "10", "256"):
        with pytest.raises(InvalidRequestError, match="fit the table"):
            table.write(rows(range(3), 2), options={"hoodie.bucket.index.num.buckets": count})
    with pytest.raises(UnsupportedTableError, match="has a bucket index"):
        table.write(rows(range(100, 103), 2), options={"hoodie.index.type": "SIMPLE"})
    table.check(merged({}, rows(range(40), 1)), "refused writes")


@pytest.mark.parametrize("oracle", cases(ORACLES, SAMPLED))
@pytest.mark.parametrize("hashed", ["key", "text", "key,text"])
@pytest.mark.thorough
def test_hudi_and_the_engine_hash_the_same_fields_of_composite_keys(
    hudi, tmp_path: Path, oracle: Oracle, hashed: str
) -> None:
    """Every fifth row has no text, so its key has a placeholder for null."""
    table = made(tmp_path, oracle, hudi, "MERGE_ON_READ")
    key_options = {
        "datasource__write__recordkey__field": "key,text",
        "datasource__write__keygenerator__class": "org.apache.hudi.keygen.ComplexKeyGenerator",
        "bucket__index__hash__field": hashed,
    }
    plain = [{**row, "text": row["text"] and f"t{row['ts']}"} for row in rows(range(20), 1)]
    table.hudi_writes(plain, **key_options)
    added = [{**row, "ts": 2} for row in plain[:7]]
    added += [{**row, "text": row["text"] and "new"} for row in rows(range(20, 40), 2)]
    session = DriverSession()
    request = UpsertRequest(
        request_id=f"composite-{next(_numbers)}",
        base_path=str(table.base_path),
        table_name="t",
        record_key=(KEY, "text"),
        partition_by=(PARTITION,),
        ordering_field="ts",
        options={**table.options, "hoodie.bucket.index.hash.field": hashed},
    )
    result = upsert(session, request, session.frame(as_table(added, PLAIN)))  # type: ignore[arg-type]
    assert result.rows is not None
    assert (result.rows.inserted, result.rows.updated) == (20, 7)
    model = merged(merged({}, plain), added)
    assert_rows_equal(table.judge.read(table.base_path), model, "our rows with a composite key")
    later = [{**row, "ts": 3} for row in added]
    table.hudi_writes(later, **key_options)
    assert_rows_equal(table.judge.read(table.base_path), merged(model, later), "updates of Hudi")
    rule = BucketHash(bucket_count=BUCKETS, hash_fields=tuple(hashed.split(",")), key_fields=(KEY, "text"))
    table.check_buckets(rule)


@pytest.mark.parametrize(
    ("oracle", "parser"), [(V6_OLD, KeyParser.HUDI_0_15), (V9, KeyParser.HUDI_1_2)], ids=["0.15.0", "1.2.0"]
)
def test_each_release_hashes_keys_with_colons_by_its_own_rule(
    hudi, tmp_path: Path, oracle: Oracle, parser: KeyParser
) -> None:
    table = made(tmp_path, oracle, hudi, "COPY_ON_WRITE")
    keys = [
        "10:30",
        "11:45",
        "id:7",
        "key:7",
        "a,b",
        "a,b:c",
        "key:1,x:2",
        "x:1,key:2",
        "http://é/世",
        "x,key:5,y",
    ]
    given = [{**rows(range(1), 1)[0], KEY: key} for key in keys]
    table.hudi_writes(given)
    table.check_buckets(BucketHash(bucket_count=BUCKETS, hash_fields=(KEY,), parsers=(parser,)))
    assert pc.count_distinct(hudi_rs.read_records(table.base_path)[KEY]).as_py() == len(keys)
