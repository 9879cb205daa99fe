"""The metadata table that the first write of this project creates: Hudi uses it without building a partition again.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 8 and 9, with their own defaults; hudi-rs also reads
the tables of version 9.
"""

from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.result import JobResult
from hudi_table_services.storage.stores.factory import open_storage
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.indexed_tables import INDEXES
from judges.indexed_tables import write as write_through_index
from judges.metadata_check import assert_describes_the_table
from judges.metadata_readers import assert_read
from judges.oracle import EDGES, V6_OLD, V8, V9, Oracle
from judges.rows import PLAIN, Model, Row, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import files_below, properties
from support.depth import IS_ALL, by_depth, cases
from support.fail_points import tried
from support.faulty_storage import Crash, FaultyStorage

METADATA = Path(".hoodie/metadata")
STATISTICS = "column_stats,files,partition_stats"
DEFAULTS = {6: "files", 8: STATISTICS, 9: STATISTICS}
RECORD_INDEX = {name: value for name, value in INDEXES.items() if "record" in name}


def hudi_defaults(oracle: Oracle) -> dict[str, str]:
    """Options of a write of Hudi that leave the metadata table to Hudi's defaults."""
    options = oracle.options("t")
    del options["hoodie.metadata.enable"]
    return options


def we_write(engine: Engine, base_path: Path, rows: list[Row], oracle: Oracle, **more: Any) -> JobResult:
    table = as_table(rows, PLAIN)
    return engine.write(
        base_path, table, version=oracle.table_version, has_default_metadata_table=True, **more
    )


def contents(base_path: Path) -> dict[str, bytes]:
    """Content of the files of the metadata table, without `hoodie.properties` and Hadoop's checksum files."""
    return {
        str(path.relative_to(base_path)): path.read_bytes()
        for path in files_below(base_path / METADATA)
        if path.name != "hoodie.properties" and not path.name.endswith(".crc")
    }


def instants(base_path: Path) -> set[str]:
    """Requested times of the instants of the metadata table."""
    folder = base_path / METADATA / ".hoodie"
    names = [path.name for path in files_below(folder) if "deltacommit" in path.name]
    return {name.split(".")[0].split("_")[0] for name in names}


def assert_rows(judge: HudiJudge, base_path: Path, model: Model, oracle: Oracle) -> None:
    """All readers see the rows; in version 8, all except hudi-rs (`assert_read`)."""
    assert_read(judge, base_path, model, oracle, is_read_by_hudi_rs=oracle.table_version != 8)


def partitions(base_path: Path) -> str:
    return properties(base_path)["hoodie.table.metadata.partitions"]


def assert_not_built_again(base_path: Path, before: dict[str, bytes]) -> None:
    """Check that Hudi added one delta commit to the metadata table, and that all earlier files are unchanged."""
    now = contents(base_path)
    assert before.items() <= now.items()
    added = {
        time for time in instants(base_path) if not any(f"{time}." in n or f"{time}_" in n for n in before)
    }
    assert len(added) == 1, "Hudi's write adds one delta commit"
    assert all(time.startswith("2") for time in added), "Hudi initialised a partition again"


@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("oracle", cases([V6_OLD, V8, V9], [V6_OLD]))
def test_hudi_and_we_write_in_turns_to_a_table_that_our_first_write_created(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    rows = some_rows(range(20), 1, PLAIN)
    we_write(engine, base_path, rows, oracle)
    model = merged({}, rows)
    assert partitions(base_path) == DEFAULTS[oracle.table_version]
    assert_rows(judge, base_path, model, oracle)

    for turn in by_depth((2,), (2, 4)):
        before = contents(base_path)
        rows = some_rows(range(10, 24 + turn), turn, PLAIN)
        judge.write(base_path, as_table(rows, PLAIN), hudi_defaults(oracle))
        model = merged(model, rows)
        assert_not_built_again(base_path, before)
        assert partitions(base_path) == DEFAULTS[oracle.table_version]
        assert_rows(judge, base_path, model, oracle)

        rows = some_rows(range(15, 30 + turn), turn + 1, PLAIN)
        we_write(engine, base_path, rows, oracle)
        model = merged(model, rows)
        assert_rows(judge, base_path, model, oracle)


@pytest.mark.thorough
@pytest.mark.reads_differ(
    "for rows in their old partition, Hudi returns the partition value of the path (docs/differences.md)"
)
@pytest.mark.parametrize("oracle", cases(EDGES, [V6_OLD]))
def test_hudi_uses_an_empty_record_index_of_our_first_write(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    lookup = {"hoodie.index.type": "RECORD_INDEX"}
    model = {}
    for version, first in enumerate((0, 10), start=1):
        rows = some_rows(range(first, first + 15), version, PLAIN)
        result = we_write(engine, base_path, rows, oracle, options={**RECORD_INDEX, **lookup})
        assert result.warnings == ()
        model = merged(model, rows)
    assert "record_index" in partitions(base_path)
    before = contents(base_path)
    rows = write_through_index(judge, base_path, oracle, range(20, 40), 3, {})
    # If the batch of Hudi names another partition for a stored row, the row stays in its stored partition.
    stored = {key: row["part"] for key, row in model.items()}
    model = merged(model, [{**row, "part": stored.get(str(row["key"]), row["part"])} for row in rows])
    assert before.items() <= contents(base_path).items()
    assert_describes_the_table(base_path)
    for enable in ("true", "false"):
        assert_rows_equal(
            judge.read(base_path, {"hoodie.metadata.enable": enable}), model, f"{oracle} {enable}"
        )


def points(log: list[str]) -> list[int]:
    """Return the numbers of the storage changes at which the first write dies.

    With ``TEST_DEPTH=all``, these are every second change from the creation of the table to the inflight file of its
    first instant. Otherwise they are the last change in the partition `files`, the first change of the properties,
    and the change after it.
    """
    created = next(n for n, change in enumerate(log, start=1) if change == "create .hoodie/hoodie.properties")
    inflight = next(
        n
        for n, change in enumerate(log, start=1)
        if change.endswith(".inflight") and str(METADATA) not in change
    )
    if IS_ALL:
        return list(range(created + 1, inflight + 1, 2))
    listed = [n for n, change in enumerate(log, start=1) if change == "write .hoodie/hoodie.properties"]
    within = [n for n, change in enumerate(log, start=1) if "metadata/files/" in change][-1]
    return [within, listed[0], listed[0] + 1]


@pytest.mark.parametrize("oracle", cases(EDGES, []))
def test_hudi_completes_the_metadata_table_of_a_first_write_that_died(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, version = hudi(oracle.release), oracle.table_version
    rows, theirs = some_rows(range(8), 1, PLAIN), some_rows(range(4, 12), 2, PLAIN)
    trial = FaultyStorage(open_storage(str(tmp_path / "trial"), {}))
    we_write(engine, tmp_path / "trial", rows, oracle, storage=trial)
    for number in points(trial.log):
        base_path = tmp_path / f"t{number}"
        dying = FaultyStorage(open_storage(str(base_path), {}), number)
        with pytest.raises(Crash):
            we_write(engine, base_path, rows, oracle, request_id="same", storage=dying)
        (base_path / ".hoodie" / "lock").unlink(missing_ok=True)
        for heartbeat in files_below(base_path / ".hoodie" / ".heartbeat"):
            heartbeat.unlink()
        judge.write(base_path, as_table(theirs, PLAIN), hudi_defaults(oracle))
        assert partitions(base_path) == DEFAULTS[version], trial.log[number - 1]
        assert_read(judge, base_path, merged({}, theirs), oracle)

        we_write(engine, base_path, rows, oracle, request_id="same")
        model = merged(merged({}, rows), theirs)
        assert_describes_the_table(base_path)
        for enable in ("true", "false"):
            found = judge.read(base_path, {"hoodie.metadata.enable": enable})
            assert_rows_equal(found, model, f"{oracle} {enable} {trial.log[number - 1]}")
        tried(f"creation of a metadata table, then Hudi {oracle.release}")
