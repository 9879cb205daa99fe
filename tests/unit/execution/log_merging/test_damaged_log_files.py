"""A damaged log file is an error that names the file, or its readers get the rows that readers of Hudi get.

A merge skips a block only if the block is incomplete and at the end of its file, as a dying writer leaves it. Blocks
have no checksum, so no reader finds a changed byte inside a value. But no record disappears without an error or a
report.
"""

import functools
import json
import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.file_slices import visibility_of
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.depth import by_depth
from support.log_golden import ARCHIVES, log_table
from support.log_merging.damaged_slices import (
    LOGS,
    DamagedSlice,
    Merged,
    SliceReader,
    block_ends,
    expected_rows,
    heads_of,
    length_fields,
)

VERSIONS = (TableVersion.V6, TableVersion.V9)
SLICES = pytest.mark.parametrize(
    ("version", "as_parquet"),
    [(version, as_parquet) for version in VERSIONS for as_parquet in (False, True)],
    ids=lambda value: value.name if isinstance(value, TableVersion) else "parquet" if value else "avro",
)
EACH_FILE = pytest.mark.parametrize("number", range(len(LOGS)))
ALL_BLOCKS = [len(blocks) for blocks in LOGS]
RECORDS = sum(len(block) for blocks in LOGS for block in blocks)


@functools.cache
def a_slice(version: TableVersion, as_parquet: bool) -> DamagedSlice:
    return DamagedSlice(version, as_parquet=as_parquet)


def read_or_refuse(damaged: DamagedSlice, number: int, data: bytes) -> Merged | None:
    """The rows; None if a reader refuses the file with an error that names it."""
    path, _ = damaged.files[number]
    return merged_or_refused(lambda: damaged.read(number, data), path)


def merged_or_refused(read: Callable[[], Merged], path: str) -> Merged | None:
    try:
        return read()
    except HudiTableServiceError as error:
        refusal = error
    assert path in (refusal.path, *refusal.message.split(": ")), f"{refusal!r} does not name {path}"
    return None


@SLICES
def test_the_undamaged_slice_has_the_rows_of_the_model(version: TableVersion, as_parquet: bool) -> None:
    found = a_slice(version, as_parquet).read()
    assert found.rows == expected_rows(version, ALL_BLOCKS)
    assert (found.skipped, found.records) == ((), RECORDS)


@SLICES
@EACH_FILE
def test_a_file_that_ends_early_has_the_rows_of_its_complete_blocks(
    version: TableVersion, as_parquet: bool, number: int
) -> None:
    damaged = a_slice(version, as_parquet)
    path, size = damaged.files[number]
    data = damaged.data(number)
    ends = block_ends(data)
    step = by_depth(29, 1)
    near = {end + distance for end in (0, *ends) for distance in (-1, 0, 1)}
    for end in sorted({*range(0, size, step), *(place for place in near if 0 <= place < size)}):
        found = damaged.read(number, data[:end])
        complete = sum(block_end <= end for block_end in ends)
        present = [complete if file == number else count for file, count in enumerate(ALL_BLOCKS)]
        assert found.rows == expected_rows(version, present), end
        last = max((place for place in (0, *ends) if place <= end), default=0)
        # A file that ends between two blocks looks like a file of fewer blocks, for every reader.
        assert found.skipped == (((path, last),) if end not in ends else ()), end


def has_other_instants(data: bytes, changed: bytes) -> bool:
    """Whether a block has another instant now. In table version 6, readers ignore blocks of unknown instants."""
    return instants_of(data) != instants_of(changed)


def instants_of(data: bytes) -> list[str]:
    return [head.headers[HeaderKey.INSTANT_TIME] for head in heads_of(data)]


def has_other_columns(data: bytes, changed: bytes) -> bool:
    """Whether the schema of a data block names other columns now.

    Then its rows lack columns of the table, as if the rows were older than the columns.
    """
    return columns_of(data) != columns_of(changed)


def columns_of(data: bytes) -> list[set[str]]:
    blocks = (head for head in heads_of(data) if head.block_type != BlockType.DELETE)
    schemas = (json.loads(head.headers[HeaderKey.SCHEMA]) for head in blocks)
    return [{column["name"] for column in schema["fields"]} for schema in schemas]


def assert_nothing_is_lost(
    whole: Merged, found: Merged, what: object, *, has_separate_records: bool = True
) -> None:
    """All records were merged, and at most one of them has other values.

    Args:
        has_separate_records: whether each byte belongs to one record. In Parquet, a byte can belong to several rows,
            and a column name in the schema of a block belongs to all rows.
    """
    if found.skipped:
        return
    assert found.records == whole.records, what
    keys = {key for key in (*whole.rows, *found.rows) if whole.rows.get(key) != found.rows.get(key)}
    assert len(keys) <= 2 or not has_separate_records, what


@SLICES
@EACH_FILE
def test_a_changed_byte_is_refused_or_changes_one_record(
    version: TableVersion, as_parquet: bool, number: int
) -> None:
    damaged = a_slice(version, as_parquet)
    whole, data = damaged.read(), damaged.data(number)
    refused = 0
    for place in range(number, len(data), by_depth(19, 1)):
        for bits in by_depth((0x01 << place % 8,), (0x01 << place % 8, 0xFF)):
            changed = bytearray(data)
            changed[place] ^= bits
            found = read_or_refuse(damaged, number, bytes(changed))
            refused += found is None
            if found is None or (version is TableVersion.V6 and has_other_instants(data, bytes(changed))):
                continue
            has_separate = not as_parquet and not has_other_columns(data, bytes(changed))
            assert_nothing_is_lost(whole, found, (place, bits), has_separate_records=has_separate)
    assert refused > len(data) // 190


WRONG = (0, 1, -1, 2**31 - 1, -(2**31))


@SLICES
@EACH_FILE
def test_a_wrong_length_is_refused_or_reported(version: TableVersion, as_parquet: bool, number: int) -> None:
    damaged = a_slice(version, as_parquet)
    whole, data = damaged.read(), damaged.data(number)
    for name, place, layout in length_fields(data):
        (right,) = layout.unpack_from(data, place)
        for wrong in {*WRONG, right - 1, right + 1} - {right}:
            changed = data[:place] + layout.pack(wrong) + data[place + layout.size :]
            found = read_or_refuse(damaged, number, changed)
            if found is None:
                continue
            assert_nothing_is_lost(whole, found, (name, place, wrong), has_separate_records=not as_parquet)
            # Readers ignore footers. If the size of the last block is too large, the end of the block seems lost.
            assert name == "number of footers" or found.skipped, (name, place, wrong)


@SLICES
def test_any_bytes_after_the_blocks_are_refused_or_reported(version: TableVersion, as_parquet: bool) -> None:
    damaged = a_slice(version, as_parquet)
    whole, data = damaged.read(), damaged.data(0)
    for tail in (b"\0", b"#", b"#HUDI#", b"#HUDI#" + bytes(8), b"#HUDI#" + struct.pack(">q", 9), b"x" * 40):
        found = read_or_refuse(damaged, 0, data + tail)
        if found is not None:
            assert (found.rows, found.skipped) == (whole.rows, ((damaged.files[0][0], len(data)),)), tail


# ---------------------------------------------------------------- log files of real Hudi


@functools.cache
def golden_slice(version: TableVersion, name: str) -> tuple[SliceReader, dict[str, bytes], Merged]:
    table = log_table(version, name)
    snapshot = load_snapshot(table.storage)
    schema = from_avro_json(snapshot.schema_json or "")
    reader = SliceReader(
        table.storage, table.file_slice, merge_rule(snapshot.config), visibility_of(snapshot), schema
    )
    files = table.log_files()
    path = next(iter(files))
    assert arrow_schema(schema, with_meta_fields=False).names
    return reader, files, reader.read(path, files[path])


@pytest.mark.parametrize("version", ARCHIVES, ids=lambda version: version.name)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
@settings(max_examples=by_depth(20, 1000))
@given(drawn=st.data())
def test_a_changed_byte_in_a_log_file_of_hudi_is_refused_or_changes_one_record(
    version: TableVersion, name: str, drawn: st.DataObject
) -> None:
    reader, files, whole = golden_slice(version, name)
    path = drawn.draw(st.sampled_from(sorted(files)))
    place = drawn.draw(st.integers(0, len(files[path]) - 1))
    changed = bytearray(files[path])
    changed[place] ^= drawn.draw(st.integers(1, 255))
    found = merged_or_refused(lambda: reader.read(path, bytes(changed)), path)
    if found is not None and not is_in_a_header(files[path], place):
        assert_nothing_is_lost(whole, found, (path, place), has_separate_records=False)


@pytest.mark.parametrize("version", ARCHIVES, ids=lambda version: version.name)
def test_a_damaged_type_in_the_schema_of_a_block_is_an_error_that_names_the_file(
    version: TableVersion,
) -> None:
    """Without its logical type, a decimal is read as bytes, which are no decimal."""
    reader, files, _ = golden_slice(version, "updates")
    path = next(path for path, data in files.items() if b'"logicalType":"decimal"' in data)
    changed = files[path].replace(b'"logicalType":"decimal"', b'"logicalType":"decimam"')
    assert merged_or_refused(lambda: reader.read(path, changed), path) is None


def is_in_a_header(data: bytes, place: int) -> bool:
    """Whether the byte is part of the headers of a block. The headers of log compactions and rollbacks hide blocks."""
    return any(head.position + 22 <= place < head.content_position - 8 for head in heads_of(data))
