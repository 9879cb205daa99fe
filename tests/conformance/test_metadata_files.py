"""Real Hudi reads, looks up, updates and compacts a metadata table whose files this project's codecs wrote.

The files have many small data blocks, their own text of the Avro schema, CRC-32 checksums and no bloom filter.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path

import pytest

from hudi_table_services.hudi_format.hfile.blocks import Compression
from hudi_table_services.hudi_format.hfile.trailer import Flavour
from hudi_table_services.model.table_version import TableVersion
from judges import hudi_rs
from judges.hudi_judge import HudiJudge
from judges.metadata_files import MetadataFiles
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import KEY, PLAIN, Model, as_table, assert_rows_equal, merged, rows_by_key, some_rows
from support.depth import cases

PARTITIONS = tuple(f"part-{number:02d}" for number in range(12))
INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.embed.timeline.server": "true",
}
SKIPPING = {**INDEXES, "hoodie.enable.data.skipping": "true"}
NO_COMPACTION = {"hoodie.metadata.compact.max.delta.commits": "50"}
COMPACTION = {"hoodie.metadata.compact.max.delta.commits": "1"}
NUMBERS = itertools.count()
USUAL_FORMS = [(V6_OLD, Compression.GZIP, None), (V9, Compression.GZIP, None)]
OTHER_FORMS = [
    (V6_OLD, Compression.NONE, None),
    (V8, Compression.GZIP, None),
    (V9, Compression.NONE, None),
    (V9, Compression.GZIP, Flavour.HBASE),
]
Form = tuple[Oracle, Compression, Flavour | None]


def name_of(form: Form) -> str:
    oracle, compression, flavour = form
    return "-".join([str(oracle), compression.name, *([flavour.name] if flavour is not None else [])]).lower()


@pytest.mark.parametrize("form", cases([*USUAL_FORMS, *OTHER_FORMS], USUAL_FORMS, name_of))
def test_hudi_works_with_files_of_many_blocks(hudi, tmp_path: Path, form: Form) -> None:
    oracle, compression, flavour = form
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model: Model = {}
    for version, first, options in ((1, 0, NO_COMPACTION), (2, 40, COMPACTION), (3, 80, NO_COMPACTION)):
        model = merged(model, write(judge, base_path, oracle, range(first, first + 80), version, options))

    files = MetadataFiles(
        base_path, TableVersion(oracle.table_version), compression=compression, flavour=flavour
    )
    assert files.schema_version == (TableVersion.V6 if oracle.release == "0.15.0" else TableVersion.V9)
    assert files.write_anew() > 10
    assert files.most_blocks > 20
    assert_read(judge, base_path, model, oracle)

    model = merged(model, write(judge, base_path, oracle, range(20, 170), 4, NO_COMPACTION))
    assert_read(judge, base_path, model, oracle)
    model = merged(model, write(judge, base_path, oracle, range(60, 64), 5, COMPACTION))
    assert_read(judge, base_path, model, oracle)


def write(
    judge: HudiJudge, base_path: Path, oracle: Oracle, numbers: range, version: int, more: Mapping[str, str]
) -> list[dict[str, object]]:
    """An upsert that finds existing keys in the record index."""
    rows = some_rows(numbers, version, PLAIN, PARTITIONS)
    options = {**oracle.options("t"), **INDEXES, **more, "hoodie.index.type": "RECORD_INDEX"}
    judge.write(base_path, as_table(rows, PLAIN), options)
    return rows


def assert_read(judge: HudiJudge, base_path: Path, model: Model, oracle: Oracle) -> None:
    """All rows, and the rows that filters on indexed columns select."""
    for options in ({"hoodie.metadata.enable": "false"}, SKIPPING):
        assert_rows_equal(judge.read(base_path, options), model, f"{oracle} with {options}")
    if (
        oracle.table_version >= TableVersion.V8
    ):  # of earlier versions hudi-rs does not read the metadata table
        assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")
    keys = sorted(model)[::9]
    doubles = sorted(row["double"] for row in model.values() if row["double"] is not None)
    conditions = {
        f"{KEY} = '{keys[3]}'": lambda row: row[KEY] == keys[3],
        f"{KEY} in ({', '.join(repr(key) for key in keys)})": lambda row: row[KEY] in keys,
        f"double between {doubles[5]!r} and {doubles[9]!r}": lambda row: (
            row["double"] is not None and doubles[5] <= row["double"] <= doubles[9]
        ),
        "ts = 1": lambda row: row["ts"] == 1,
        f"part = '{PARTITIONS[4]}' and ts > 1": lambda row: row["part"] == PARTITIONS[4] and row["ts"] > 1,
        "text is null": lambda row: row["text"] is None,
    }
    # A name of its own per call: the session caches tables by name.
    name = f"filtered_{next(NUMBERS)}"
    judge.sql(f"create table {name} using hudi location '{base_path}'")
    for condition, selects in conditions.items():
        found = judge.sql(f"select * from {name} where {condition}", settings=SKIPPING)
        expected = rows_by_key([row for row in model.values() if selects(row)])
        assert expected, condition
        assert {row[KEY] for row in found} == set(expected), f"{oracle}: {condition}"
