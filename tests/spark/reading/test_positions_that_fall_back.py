"""The changes after an earlier point in time are loaded again: by `begin`, or because the target was rolled back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.reading.change_positions import change_position
from hudi_table_services.tables.table import TableAccess
from support.reading.counted_loads import CountedChain
from support.spark.log_tables import LogTable, new_log_table

VERSIONS = pytest.mark.parametrize(
    ("source_version", "target_version"),
    [
        (9, 6),
        pytest.param(6, 9, marks=pytest.mark.thorough),
        pytest.param(6, 6, marks=pytest.mark.thorough),
        pytest.param(8, 8, marks=pytest.mark.thorough),
        pytest.param(9, 9, marks=pytest.mark.thorough),
    ],
)
TABLE_TYPES = {6: "COPY_ON_WRITE", 8: "MERGE_ON_READ", 9: "MERGE_ON_READ"}
MODES = pytest.mark.parametrize(
    "is_grouped", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["rows", "groups"]
)


@pytest.fixture
def is_grouped() -> bool:
    """Whether the loads compute changed groups. Tests replace this value by a parameter."""
    return False


@pytest.fixture
def chain(
    spark: SparkSession, tmp_path: Path, source_version: int, target_version: int, is_grouped: bool
) -> CountedChain:
    """A chain that has loaded the first of four commits."""
    source = new_log_table(tmp_path / "s", source_version, hoodie__table__type="COPY_ON_WRITE")
    target_type = TABLE_TYPES[target_version]
    target = new_log_table(tmp_path / "t", target_version, hoodie__table__type=target_type)
    target.ordering_field = ""
    source.write([("a", 1, "p0", "x"), ("b", 1, "p0", "y"), ("c", 1, "p1", "z")])
    chain = CountedChain(spark, source, target, is_grouped)
    chain.load("run 1")
    return chain.after_load()


def change(chain: CountedChain) -> None:
    """Write three commits to the source: an update, a delete and a new row."""
    chain.source.write([("a", 2, "p0", "y")])
    chain.source.write([("b", 2, "p0", "")], "delete")
    chain.source.write([("d", 2, "p1", "z")])


def position(chain: CountedChain) -> str:
    storage = chain.target.storage
    table = TableAccess(storage=storage, clock=SystemClock(), config=read_table_config(storage))
    return change_position(table, chain.chain)


def newest(table: LogTable) -> str:
    return table.newest()[0].visible_from


@VERSIONS
def test_a_load_with_a_begin_reads_the_changes_after_this_time_again(chain: CountedChain) -> None:
    change(chain)
    chain.load("run 2")
    chain.after_load().check_complete()
    begin = newest(chain.source)
    chain.source.write([("e", 3, "p0", "x")])
    chain.load("run 3")
    lost = [("c", 1, "p1", ""), ("e", 3, "p0", "")]
    chain.target.write(lost, "delete")
    chain.source.write([("f", 4, "p1", "x")])

    result = chain.load("run 4", begin=begin)
    assert (result.rows.inserted, result.rows.updated, result.rows.deleted) == (2, 0, 0)
    assert [row[:2] for row in chain.rows()] == [("a", 2), ("d", 2), ("e", 3), ("f", 4)]
    assert position(chain) == newest(chain.source)
    assert chain.load("run 5").outcome is Outcome.NOTHING_TO_DO
    chain.load("run 6", begin="earliest")
    assert [row[:4] for row in chain.rows()] == [(k, ts, p, v.upper()) for k, ts, p, v in chain.source.rows()]
    assert position(chain) == newest(chain.source)


def restore_to_first_load(chain: CountedChain) -> Callable[[], object]:
    base_path, saved = str(chain.base_path), chain.target.newest()[0].requested_time
    create_savepoint(CreateSavepointRequest(base_path=base_path, instant=saved))
    return lambda: restore(RestoreRequest(base_path=base_path, savepoint=saved))


def roll_back_newest_loads(chain: CountedChain) -> Callable[[], object]:
    first = chain.target.newest()[0]

    def undo() -> None:
        while (last := chain.target.newest()[0]) != first:
            instants = (last.requested_time,)
            rollback(RollbackRequest(base_path=str(chain.base_path), instants=instants))

    return undo


@MODES
@VERSIONS
@pytest.mark.parametrize("prepare", [restore_to_first_load, roll_back_newest_loads])
def test_the_changes_of_undone_loads_are_loaded_again(
    chain: CountedChain, prepare: Callable[[CountedChain], Callable[[], object]]
) -> None:
    undo, first = prepare(chain), position(chain)
    change(chain)
    chain.load("run 2")
    done = chain.after_load()
    chain.source.write([("c", 3, "p1", "w")])
    chain.load("run 3")
    done.after_load().check_complete()

    undo()
    assert chain.rows() == chain.expected()
    assert position(chain) == first
    again = chain.load("run 2")  # the task of an undone load is cleared
    assert (again.outcome, again.reused) == (Outcome.COMPLETED, False)
    done = chain.after_load()
    done.check_complete()
    chain.source.write([("d", 4, "p1", "w")])
    chain.load("run 3")
    done.after_load().check_complete()
