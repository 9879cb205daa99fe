"""The engine never leaves a table with an outdated metadata table.

If a commit does not update an active metadata table, every release of Hudi (0.15.0 and 1.2.0, table versions 6, 8, 9)
loses the rows of the commit. Therefore the engine updates the metadata table, or switches it off before a commit if the
request says so. Like Hudi's own writers, the engine removes first the property, then the folder.
"""

from pathlib import Path

import pytest

from hudi_table_services.errors import HudiTableServiceError
from judges.engine import Engine
from judges.interruption import just_after_start, just_before_completion
from judges.oracle import EDGES, ORACLES, V6_OLD, Oracle
from judges.rows import PLAIN, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import copy_table, instant_names, properties
from support.depth import cases

PARTITIONS_PROPERTY = "hoodie.table.metadata.partitions"
SWITCH_OFF = {"hoodie.metadata.enable": "false"}


def _with_metadata_table(oracle: Oracle) -> dict[str, str]:
    return {**oracle.options("t"), "hoodie.metadata.enable": "true"}


@pytest.mark.parametrize("oracle", cases(ORACLES, [V6_OLD]))
@pytest.mark.thorough
def test_an_option_switches_the_metadata_table_off_and_hudi_rebuilds_it_with_our_commits(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model = {}
    for version, first in enumerate((0, 4), start=1):
        rows = some_rows(range(first, first + 8), version, PLAIN)
        judge.write(base_path, as_table(rows, PLAIN), _with_metadata_table(oracle))
        model = merged(model, rows)

    rows = some_rows(range(6, 16), 3, PLAIN)
    engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=SWITCH_OFF)
    model = merged(model, rows)
    assert not properties(base_path).get(PARTITIONS_PROPERTY)
    assert not (base_path / ".hoodie" / "metadata").exists()
    _assert_right_with_and_without(judge, base_path, model, oracle)

    rows = some_rows(range(14, 20), 4, PLAIN)
    judge.write(base_path, as_table(rows, PLAIN), _with_metadata_table(oracle))
    assert properties(base_path)[PARTITIONS_PROPERTY], "Hudi did not build the metadata table again"
    _assert_right_with_and_without(judge, base_path, merged(model, rows), oracle)


@pytest.mark.parametrize("oracle", cases(EDGES, [V6_OLD]))
def test_the_metadata_table_is_removed_before_our_commit_is_visible(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    rows = some_rows(range(6), 1, PLAIN)
    judge.write(base_path, as_table(rows, PLAIN), _with_metadata_table(oracle))
    dead = tmp_path / "dead"
    with just_before_completion(lambda: _copy(base_path, dead)):
        more = as_table(some_rows(range(4, 9), 2, PLAIN), PLAIN)
        engine.write(base_path, more, version=oracle.table_version, options=SWITCH_OFF)
    assert not properties(dead).get(PARTITIONS_PROPERTY)
    assert not (dead / ".hoodie" / "metadata").exists()
    _assert_right_with_and_without(judge, dead, merged({}, rows), oracle)


@pytest.mark.parametrize("oracle", EDGES, ids=str)
def test_our_write_does_not_commit_if_another_writer_lists_a_metadata_table_that_does_not_exist(
    engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    base_path = tmp_path / "t"
    rows = as_table(some_rows(range(6), 1, PLAIN), PLAIN)
    engine.write(base_path, rows, version=oracle.table_version)
    before = instant_names(base_path, ".commit")
    meanwhile = just_after_start(lambda: _list_metadata_table(base_path))
    with meanwhile, pytest.raises(HudiTableServiceError, match=r"(?i)metadata"):
        engine.write(base_path, rows, version=oracle.table_version)
    assert instant_names(base_path, ".commit") == before


def _copy(base_path: Path, target: Path) -> None:
    copy_table(base_path, target)


def _list_metadata_table(base_path: Path) -> None:
    """Add the metadata table to the properties, as a writer with Hudi's default options may do at any time."""
    path = base_path / ".hoodie" / "hoodie.properties"
    path.write_text(path.read_text() + f"{PARTITIONS_PROPERTY}=files\n")


def _assert_right_with_and_without(judge, base_path: Path, model, oracle: Oracle) -> None:
    for is_enabled in ("true", "false"):
        judged = judge.read(base_path, {"hoodie.metadata.enable": is_enabled})
        assert_rows_equal(judged, model, f"{oracle} with hoodie.metadata.enable={is_enabled}")
