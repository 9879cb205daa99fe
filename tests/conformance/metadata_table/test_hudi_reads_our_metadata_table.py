"""Real Hudi, with all of its default settings, and the engine write to one table in turns.

Both keep the metadata table up to date. After every action, readers that use the metadata table and data skipping
return the same rows as readers that list folders.
"""

from pathlib import Path

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.jobs.cleaning.clean import clean
from judges.engine import Engine
from judges.metadata_readers import assert_read, hudi_options
from judges.oracle import ORACLES, Oracle
from judges.rows import PLAIN, Model, as_table, merged, some_rows


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_hudi_and_the_engine_write_in_turns(hudi, engine: Engine, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model: Model = {}
    for turn in range(3):
        rows = some_rows(range(turn * 6, turn * 6 + 12), 2 * turn + 1, PLAIN)
        judge.write(base_path, as_table(rows, PLAIN), hudi_options(oracle))
        model = merged(model, rows)
        assert_read(judge, base_path, model, oracle)
        rows = some_rows(range(turn * 6 + 4, turn * 6 + 16), 2 * turn + 2, PLAIN)
        rows += some_rows(range(100 + 10 * turn, 106 + 10 * turn), 2 * turn + 2, PLAIN, (f"new-{turn}",))
        engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version)
        model = merged(model, rows)
        assert_read(judge, base_path, model, oracle)
    engine.schedule_clustering(base_path, sort_columns=("double",))
    engine.execute_clustering(base_path)
    assert_read(judge, base_path, model, oracle)
    clean(CleanRequest(request_id="clean", base_path=str(base_path), commits_retained=1))
    assert_read(judge, base_path, model, oracle)
    rows = some_rows(range(3, 9), 20, PLAIN)
    judge.write(base_path, as_table(rows, PLAIN), hudi_options(oracle))
    model = merged(model, rows)
    assert_read(judge, base_path, model, oracle)
