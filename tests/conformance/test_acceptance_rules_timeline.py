"""The acceptance rules about instants, properties and plans; ``test_acceptance_rules`` lists all rules.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9.
"""

import io
import json
import re
from pathlib import Path

import fastavro
import pytest
from acceptance_rules import OURS, TOUCHING, every_oracle, every_version

from hudi_table_services.errors import InstantVanishedError, PendingPlanError
from judges import hudi_rs
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.interruption import just_before_completion
from judges.oracle import (
    ONLY_NEWEST_SAMPLED,
    ONLY_OLDEST_SAMPLED,
    V6,
    V6_OLD,
    V8,
    V9,
    Oracle,
)
from judges.rows import OUR_ROWS, Model, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import (
    copy_table,
    data_files,
    file_id_of,
    forget_checksum,
    incremental_bounds,
    instant_names,
    instant_of,
    latest_data_files,
    markers,
    properties,
    timeline_folder,
)

SECOND = some_rows(range(30, 50), 3)


def _assert_all_read(judge: HudiJudge, base_path: Path, model: Model, oracle: Oracle) -> None:
    assert_rows_equal(judge.read(base_path), model, str(oracle))
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")


# ---------------------------------------------------------------- rule 3


def test_rule_03_rewriting_the_properties_removes_their_old_checksum_file(
    hudi, engine: Engine, tmp_path: Path
) -> None:
    judge, base_path = hudi(V9.release), tmp_path / "t"
    judge.write(base_path, as_table(OUR_ROWS), {**V9.options("t"), "hoodie.metadata.enable": "true"})
    sidecar = base_path / ".hoodie" / ".hoodie.properties.crc"
    stale = sidecar.read_bytes()
    engine.write(base_path, as_table(SECOND), version=9, options={"hoodie.metadata.enable": "false"})
    _assert_all_read(judge, base_path, merged(OURS, SECOND), V9)
    # Negative control: if the old checksum file still exists, Hudi cannot read the table.
    sidecar.write_bytes(stale)
    with pytest.raises(HudiRefusedError, match="(?i)hoodie properties|hoodie.properties"):
        judge.read(base_path)


# ---------------------------------------------------------------- rule 8


@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_rule_08_hudi_rolls_back_a_dead_commit_and_removes_all_its_files(
    hudi, ours, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge = hudi(oracle.release)
    dead = _killed_before_completion(engine, ours(oracle.table_version), tmp_path / "dead", oracle)
    assert _orphans(dead)
    assert {path.name for path in _orphans(dead)} == _marked_files(dead)
    judge.write(dead, as_table(TOUCHING), oracle.options("t"))
    assert _orphans(dead) == []
    _assert_all_read(judge, dead, merged(OURS, TOUCHING), oracle)


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_rule_08_control_without_markers_hudi_does_not_remove_the_files(
    hudi, ours, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    dead = _killed_before_completion(engine, ours(oracle.table_version), tmp_path / "dead", oracle)
    for path in markers(dead):
        path.unlink()
    orphans = _orphans(dead)
    hudi(oracle.release).write(dead, as_table(TOUCHING), oracle.options("t"))
    assert [path for path in orphans if path.exists()] == orphans


@every_version
def test_rule_08_a_commit_removes_its_markers(ours, version: int) -> None:
    assert markers(ours(version)) == []


def _killed_before_completion(engine: Engine, base_path: Path, dead: Path, oracle: Oracle) -> Path:
    """Return a copy of the table that was made just before a write completed its commit."""

    def copy() -> None:
        copy_table(base_path, dead)

    with just_before_completion(copy):
        engine.write(base_path, as_table(SECOND), version=oracle.table_version)
    return dead


def _orphans(base_path: Path) -> list[Path]:
    """Data files whose instant is not a completed commit."""
    completed = {name[:17] for name in instant_names(base_path, "commit")}
    return [path for path in data_files(base_path) if instant_of(path) not in completed]


def _marked_files(base_path: Path) -> set[str]:
    return {path.name.partition(".marker.")[0] for path in markers(base_path)}


# ---------------------------------------------------------------- rule 9


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_rule_09_a_write_does_not_complete_a_commit_that_hudi_has_rolled_back(
    hudi, ours, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)

    def hudi_writes() -> None:
        judge.write(base_path, as_table(TOUCHING), oracle.options("t"))

    with just_before_completion(hudi_writes), pytest.raises(InstantVanishedError):
        engine.write(base_path, as_table(SECOND), version=oracle.table_version)
    model = merged(OURS, TOUCHING)
    _assert_all_read(judge, base_path, model, oracle)
    engine.write(base_path, as_table(SECOND), version=oracle.table_version)
    _assert_all_read(judge, base_path, merged(model, SECOND), oracle)


# ---------------------------------------------------------------- rule 14


@every_oracle
def test_rule_14_incremental_queries_and_time_travel_of_hudi_read_our_commits(
    hudi, ours, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    engine.write(base_path, as_table(SECOND), version=oracle.table_version)
    begin, end = incremental_bounds(base_path)
    assert_rows_equal(judge.read_incremental(base_path, "000"), merged(OURS, SECOND), str(oracle))
    assert_rows_equal(judge.read_incremental(base_path, begin, end), merged({}, SECOND), str(oracle))
    first_time = instant_names(base_path, "commit")[0][:17]
    assert_rows_equal(judge.read_as_of(base_path, first_time), OURS, str(oracle))


@pytest.mark.thorough
def test_rule_14_control_without_file_sizes_an_incremental_query_finds_nothing(hudi, ours) -> None:
    base_path = ours(9)
    _forget_file_sizes(timeline_folder(base_path) / instant_names(base_path, ".commit")[0])
    judge = hudi(V9.release)
    assert_rows_equal(judge.read(base_path), OURS, str(V9))
    assert judge.read_incremental(base_path, "000").num_rows == 0


def _forget_file_sizes(commit: Path) -> None:
    reader = fastavro.reader(io.BytesIO(commit.read_bytes()))
    (metadata,) = reader
    for stats in metadata["partitionToWriteStats"].values():
        for stat in stats:
            stat["fileSizeInBytes"] = 0
    with commit.open("wb") as file:
        fastavro.writer(file, reader.writer_schema, [metadata])
    forget_checksum(commit)


# ---------------------------------------------------------------- rule 16


@every_version
def test_rule_16_instants_have_the_name_and_the_content_that_their_layout_requires(
    ours, version: int
) -> None:
    base_path = ours(version)
    (name,) = instant_names(base_path, ".commit")
    content = (timeline_folder(base_path) / name).read_bytes()
    if version == 6:
        assert re.fullmatch(r"\d{17}\.commit", name)
        assert json.loads(content)["operationType"] == "UPSERT"
    else:
        requested, completed = re.fullmatch(r"(\d{17})_(\d{17})\.commit", name).groups()
        assert requested < completed
        assert content.startswith(b"Obj\x01")
        assert properties(base_path)["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"


@pytest.mark.thorough
def test_rule_16_control_without_a_merge_mode_hudi_refuses_upserts_on_version_9(hudi, ours) -> None:
    base_path = ours(9)
    _set_property(base_path, "hoodie.record.merge.mode", None)
    with pytest.raises(HudiRefusedError):
        hudi(V9.release).write(base_path, as_table(TOUCHING), V9.options("t"))


# ---------------------------------------------------------------- rule 17


@every_version
def test_rule_17_the_properties_contain_a_checksum(ours, version: int) -> None:
    """All other tests prove that the checksum is correct, because Hudi refuses a wrong one (see the control)."""
    assert properties(ours(version))["hoodie.table.checksum"].isdigit()


@pytest.mark.thorough
def test_rule_17_control_hudi_refuses_a_table_with_a_wrong_checksum(hudi, ours) -> None:
    base_path = ours(6)
    _set_property(base_path, "hoodie.table.checksum", "1234567890")
    with pytest.raises(HudiRefusedError, match="(?i)invalid|could not load"):
        hudi(V6_OLD.release).read(base_path)


def _set_property(base_path: Path, key: str, value: str | None) -> None:
    path = base_path / ".hoodie" / "hoodie.properties"
    lines = [line for line in path.read_text().splitlines() if not line.startswith(f"{key}=")]
    path.write_text("\n".join([*lines, *([] if value is None else [f"{key}={value}"])]) + "\n")
    forget_checksum(path)


# ---------------------------------------------------------------- rule 20


@pytest.mark.parametrize("oracle", [V6, V8], ids=str)
def test_rule_20_after_hudi_upgraded_the_table_we_write_the_new_version(
    hudi, ours, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    options = {key: value for key, value in oracle.options("t").items() if key not in oracle.pins}
    judge.write(base_path, as_table(TOUCHING), options)
    assert properties(base_path)["hoodie.table.version"] == "9"
    model = merged(OURS, TOUCHING)
    _assert_all_read(judge, base_path, model, oracle)
    engine.write(base_path, as_table(SECOND), version=9)
    assert re.fullmatch(r"\d{17}_\d{17}\.commit", instant_names(base_path, "commit")[-1])
    _assert_all_read(judge, base_path, merged(model, SECOND), oracle)


# ---------------------------------------------------------------- rule 21

NO_METADATA_TABLE = {"hoodie.metadata.enable": "false"}


@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_rule_21_a_write_does_not_change_file_groups_that_hudi_plans_to_cluster(
    hudi, ours, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    _clustering(judge, base_path, "op => 'schedule', order => 'key'", oracle)
    planned = {file_id_of(path) for path in latest_data_files(base_path)}

    rejecting = {"hoodie.clustering.updates.strategy": "SparkRejectUpdateStrategy"}
    with pytest.raises(PendingPlanError, match="pending clustering"):
        engine.write(base_path, as_table(TOUCHING), version=oracle.table_version, options=rejecting)
    news = some_rows(range(100, 104), 2)
    engine.write(base_path, as_table(news), version=oracle.table_version, operation="insert")
    newest = instant_names(base_path, ".commit")[-1][:17]
    assert {file_id_of(path) for path in data_files(base_path) if instant_of(path) == newest}.isdisjoint(
        planned
    )
    model = merged(OURS, news)
    _assert_all_read(judge, base_path, model, oracle)

    _clustering(judge, base_path, "op => 'execute'", oracle)
    assert instant_names(base_path, ".replacecommit")
    _assert_all_read(judge, base_path, model, oracle)
    engine.write(base_path, as_table(TOUCHING), version=oracle.table_version)
    _assert_all_read(judge, base_path, merged(model, TOUCHING), oracle)


def _clustering(judge: HudiJudge, base_path: Path, arguments: str, oracle: Oracle) -> list[dict[str, object]]:
    return judge.call(base_path, "run_clustering", arguments, settings={**NO_METADATA_TABLE, **oracle.pins})
