"""Real Hudi and hudi-rs read a metadata table that this project compacted, cleaned and archived. Hudi updates it."""

from pathlib import Path

import pytest

from hudi_table_services.commits.metadata_table_services.run import (
    ServiceReport,
    finish_services,
    run_services,
)
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.options.metadata_settings_values import ServiceSettings
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.slice_history import slice_history
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess
from judges.indexed_tables import COMPACTION, NO_COMPACTION, assert_read, write
from judges.oracle import V6, V6_OLD, V8, V9, Oracle
from judges.rows import Model, merged
from support.depth import cases
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.growing_metadata_tables import eager

ORACLES = pytest.mark.parametrize("oracle", cases([V6_OLD, V6, V8, V9], []))
ONLY_COMPACTION = eager(kept=90, most=99)
HUDI_ARCHIVES = {
    **NO_COMPACTION,
    "hoodie.archive.automatic": "true",
    "hoodie.clean.automatic": "true",
    "hoodie.clean.commits.retained": "1",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}


def access(storage: Storage) -> TableAccess:
    return TableAccess(storage=storage, clock=SystemClock(), config=read_table_config(storage))


def services(base_path: Path, settings: ServiceSettings) -> ServiceReport:
    return run_services(access(LocalStorage(str(base_path))), None, settings=settings)


def opened(base_path: Path) -> MetadataTable:
    table = access(LocalStorage(str(base_path)))
    return open_metadata_table(table.storage, table.config, table.clock)


def last_compaction(base_path: Path) -> Instant:
    return [i for i in opened(base_path).timeline.completed if i.action is Action.COMMIT][-1]


def count_slices(base_path: Path) -> int:
    return sum(len(found) for found in slice_history(opened(base_path), "files").values())


@ORACLES
def test_hudi_continues_to_write_after_our_services(hudi, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model: Model = {}
    for version in range(1, 5):
        numbers = range(version * 20, version * 20 + 80)
        model = merged(model, write(judge, base_path, oracle, numbers, version, NO_COMPACTION))
        report = services(base_path, ONLY_COMPACTION)
        assert report.compacted_at, report
    assert_read(judge, base_path, model, oracle)

    for version in range(5, 8):
        numbers = range(version * 10, version * 10 + 4)
        model = merged(model, write(judge, base_path, oracle, numbers, version, HUDI_ARCHIVES))
    slices = count_slices(base_path)
    report = services(base_path, eager(every=90))
    assert report.cleaned_at, report
    assert report.deleted_files, report
    # We archive only instants that are earlier than the first active write of the table. Hudi has archived the earlier
    # writes of the table, and could do so because we had compacted the metadata table.
    assert report.archived_instants, report
    assert count_slices(base_path) < slices
    assert_read(judge, base_path, model, oracle)

    model = merged(model, write(judge, base_path, oracle, range(60, 200), 8, NO_COMPACTION))
    assert_read(judge, base_path, model, oracle)
    model = merged(model, write(judge, base_path, oracle, range(60, 64), 9, COMPACTION))
    assert last_compaction(base_path).requested_time > report.cleaned_at
    assert_read(judge, base_path, model, oracle)


@pytest.mark.thorough
@ORACLES
def test_we_finish_a_dead_compaction_of_hudi(hudi, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model = merged({}, write(judge, base_path, oracle, range(80), 1, NO_COMPACTION))
    model = merged(model, write(judge, base_path, oracle, range(40, 120), 2, COMPACTION))
    pending = undone_compaction(base_path)
    assert finish_services(access(LocalStorage(str(base_path))), None).finished == (pending.requested_time,)
    assert last_compaction(base_path).requested_time == pending.requested_time
    assert_read(judge, base_path, model, oracle)
    model = merged(model, write(judge, base_path, oracle, range(100, 160), 3, NO_COMPACTION))
    model = merged(model, write(judge, base_path, oracle, range(30, 50), 4, COMPACTION))
    assert_read(judge, base_path, model, oracle)


def undone_compaction(base_path: Path) -> Instant:
    """Make the last compaction pending, and delete all but one of its base files."""
    metadata, instant = opened(base_path), last_compaction(base_path)
    paths = [stat.path for stat in metadata.commit_metadata(instant).write_stats]
    for path in [metadata.timeline_store.path_of(instant), *paths[1:]]:
        folder, _, name = path.rpartition("/")
        for each in (name, f".{name}.crc"):
            (base_path / ".hoodie" / "metadata" / folder / each).unlink(missing_ok=each != name)
    return instant


@pytest.mark.thorough
@ORACLES
@pytest.mark.parametrize("changes", [1, 4])
def test_hudi_finishes_a_dead_compaction_of_ours(hudi, tmp_path: Path, oracle: Oracle, changes: int) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model = merged({}, write(judge, base_path, oracle, range(80), 1, NO_COMPACTION))
    model = merged(model, write(judge, base_path, oracle, range(20, 60), 2, NO_COMPACTION))
    faulty = FaultyStorage(LocalStorage(str(base_path)), changes, after=True)
    with pytest.raises(Crash):
        run_services(access(faulty), None, settings=ONLY_COMPACTION)
    [pending] = opened(base_path).timeline.pending
    assert_read(judge, base_path, model, oracle)
    model = merged(model, write(judge, base_path, oracle, range(40, 120), 3, NO_COMPACTION))
    model = merged(model, write(judge, base_path, oracle, range(100, 140), 4, NO_COMPACTION))
    assert opened(base_path).timeline.pending == ()
    assert last_compaction(base_path).requested_time == pending.requested_time
    assert_read(judge, base_path, model, oracle)
    services(base_path, ONLY_COMPACTION)
    assert_read(judge, base_path, model, oracle)
