"""Real Hudi reads, searches, updates and compacts a metadata table whose files this project's codecs wrote.

The files have many small data blocks, this project's text of the Avro schema, CRC-32 checksums and no bloom filter.
"""

from pathlib import Path

import pytest

from hudi_table_services.hudi_format.hfile.blocks import Compression
from hudi_table_services.hudi_format.hfile.trailer import Flavour
from hudi_table_services.model.table_version import TableVersion
from judges.indexed_tables import COMPACTION, NO_COMPACTION, assert_read, write
from judges.metadata_files import MetadataFiles
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import Model, merged
from support.depth import cases

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


@pytest.mark.parametrize("form", cases([*USUAL_FORMS, *OTHER_FORMS], [], name_of))
def test_hudi_reads_updates_and_compacts_files_of_many_blocks(hudi, tmp_path: Path, form: Form) -> None:
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
