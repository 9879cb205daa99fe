"""The acceptance rules about data files, footers, names and partitions; ``test_acceptance_rules`` lists all rules.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9.
"""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from acceptance_rules import BLOOM, OURS, SIMPLE, TOUCHING, every_version, oldest_and_newest

from judges.engine import Engine
from judges.hudi_judge import HudiRefusedError
from judges.oracle import ONLY_NEWEST_SAMPLED, V9, Oracle
from judges.rows import (
    PARTITION,
    PLAIN,
    a_row,
    as_table,
    assert_rows_equal,
    count_of_keys_seen_twice,
    merged,
    some_rows,
)
from judges.table_files import (
    AVRO_SCHEMA,
    BLOOM_FILTER,
    BLOOM_TYPE,
    MAX_KEY,
    MIN_KEY,
    data_files,
    footer,
    forget_checksum,
    instant_names,
    new_file_name,
    rewrite,
    timeline_folder,
)

# ---------------------------------------------------------------- rule 10


@every_version
def test_rule_10_every_parquet_file_that_we_write_is_part_of_its_commit(
    ours, engine: Engine, version: int
) -> None:
    base_path = ours(version)
    result = engine.write(base_path, as_table(some_rows(range(30, 50), 2)), version=version)
    written = {
        path.relative_to(base_path) for path in data_files(base_path) if result.instant_time in path.name
    }
    assert written == {Path(stat.path) for stat in _write_stats(base_path)}


@pytest.mark.thorough
@oldest_and_newest
def test_rule_10_control_hudi_reads_a_file_that_is_not_part_of_its_commit(hudi, ours, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    path = data_files(base_path)[0]
    path.with_name(new_file_name(path)).write_bytes(path.read_bytes())
    assert count_of_keys_seen_twice(judge.read(base_path)) == 20


def _write_stats(base_path: Path):
    from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata

    commit = timeline_folder(base_path) / instant_names(base_path, ".commit")[-1]
    return decode_commit_metadata(commit.read_bytes()).write_stats


# ---------------------------------------------------------------- rule 12


@every_version
def test_rule_12_each_footer_contains_filter_type_code_key_range_and_schema(ours, version: int) -> None:
    files = data_files(ours(version))
    assert len(files) == 2
    for path in files:
        values = footer(path)
        keys = sorted(
            pq.read_table(path, columns=["_hoodie_record_key"], partitioning=None)[0].to_pylist(), key=_utf16
        )
        assert values[BLOOM_TYPE] in (b"SIMPLE", b"DYNAMIC_V0")
        assert 0 < len(values[BLOOM_FILTER]) < 2000, "the filter has the wrong size for the rows of the file"
        assert (values[MIN_KEY].decode(), values[MAX_KEY].decode()) == (keys[0], keys[-1])
        assert json.loads(values[AVRO_SCHEMA])["type"] == "record"


@pytest.mark.thorough
@oldest_and_newest
def test_rule_12_control_without_a_filter_the_bloom_index_fails_but_the_simple_index_works(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    for path in data_files(base_path):
        rewrite(path, footer_changes={BLOOM_FILTER: None, BLOOM_TYPE: None})
    with pytest.raises(HudiRefusedError, match="NullPointer"):
        judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **SIMPLE))
    assert_rows_equal(judge.read(base_path), merged(OURS, TOUCHING), str(oracle))


def _utf16(key: str) -> bytes:
    """The key as bytes that sort like Java strings."""
    return key.encode("utf-16-be")


# ---------------------------------------------------------------- rules 15, 18


@every_version
def test_rule_15_every_partition_folder_has_its_metafile(ours, version: int) -> None:
    base_path = ours(version)
    assert {path.parent.name for path in data_files(base_path)} == {"a", "b"}
    for partition in ("a", "b"):
        assert (base_path / partition / ".hoodie_partition_metadata").read_text().count(
            "partitionDepth=1"
        ) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V9], ids=str)
def test_rule_15_control_hudi_reads_no_rows_from_a_partition_without_a_metafile(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    metafile = base_path / "a" / ".hoodie_partition_metadata"
    metafile.unlink()
    forget_checksum(metafile)
    assert set(judge.read(base_path).column(PARTITION).to_pylist()) == {"b"}


@every_version
def test_rule_18_the_name_of_a_base_file_contains_a_uuid_a_write_token_and_the_instant(
    ours, version: int
) -> None:
    name = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+_\d+-\d+-\d+_\d{17}\.parquet")
    for path in data_files(ours(version)):
        assert name.fullmatch(path.name), path.name


# ---------------------------------------------------------------- rule 19

HARD_VALUES = ("a b", "10:30", "a%20b", "50%", "ü世", "x=y/z", ".x", "+ &#?[*]'\"")
ENCODED = {
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.partitionpath.urlencode": "true",
}


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_rule_19_hudi_reads_and_updates_rows_in_partitions_with_encoded_values(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "base path, ü=50%"
    rows = [a_row(number, 1, PLAIN, HARD_VALUES) for number in range(len(HARD_VALUES))]
    engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=ENCODED)
    model = merged({}, rows)
    assert_rows_equal(judge.read(base_path), model, str(oracle))
    newer = [{**row, "ts": 2, "text": "newer"} for row in rows]
    judge.write(base_path, as_table(newer, PLAIN), {**oracle.options("t", **BLOOM), **ENCODED})
    assert_rows_equal(judge.read(base_path), merged(model, newer), str(oracle))
    newest = [{**row, "ts": 3, "text": "newest"} for row in rows]
    engine.write(base_path, as_table(newest, PLAIN), version=oracle.table_version, options=ENCODED)
    assert_rows_equal(judge.read(base_path), merged(model, newest), str(oracle))
