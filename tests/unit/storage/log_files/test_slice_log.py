"""The valid blocks of a slice: visible instants, damage, and blocks that cannot be merged."""

from uuid import uuid4

import pytest

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey, LogBlock, encode_block
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.log_files import located_blocks, slice_log
from hudi_table_services.storage.log_files.located_blocks import read_content
from hudi_table_services.storage.log_files.slice_log import SliceLog, read_slice_log
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.log_golden import ARCHIVES, LogTable, log_table

BASE, FIRST, SECOND, THIRD = (f"2026010100000000{n}" for n in range(4))
GROUP = FileGroupId("p=1", "f-0")
EACH_VERSION = pytest.mark.parametrize("version", ARCHIVES, ids=lambda version: f"v{version.value}")


def block(instant: str, kind: int = BlockType.AVRO_DATA, content: bytes = b"rows", **headers: str) -> bytes:
    named: dict[int, str] = {HeaderKey[name]: text for name, text in headers.items()}
    if instant:
        named[HeaderKey.INSTANT_TIME] = instant
    return encode_block(LogBlock(block_type=kind, headers=named, content=content))


def rollback(instant: str, target: str) -> bytes:
    return block(instant, BlockType.COMMAND, b"", TARGET_INSTANT_TIME=target, COMMAND_BLOCK_TYPE="0")


class Slice:
    """A slice whose log files the tests write."""

    def __init__(self, *completed: str, has_own_log_instants: bool = False) -> None:
        self.storage = MemoryStorage(uuid4().hex)
        self.visibility = Visibility(
            completed={time: time for time in (BASE, *completed)},
            first_write_time=BASE,
            pending_compactions=frozenset(),
            has_own_log_instants=has_own_log_instants,
        )
        self.logs: list[LogFile] = []

    def add(self, *blocks: bytes, instant: str = BASE) -> str:
        data = b"".join(blocks)
        version = len(self.logs) + 1
        log = LogFile(
            file_id="f-0", instant_time=instant, version=version, write_token="0-1-0", size_bytes=len(data)
        )
        self.logs.append(log)
        self.storage.write(f"p=1/{log.file_name}", data)
        return f"p=1/{log.file_name}"

    @property
    def file_slice(self) -> FileSlice:
        return FileSlice(file_group_id=GROUP, base_instant_time=BASE, log_files=tuple(self.logs))

    def read(self, as_of: str | None = None) -> SliceLog:
        return read_slice_log(self.storage, self.file_slice, self.visibility, as_of=as_of)

    def instants(self, as_of: str | None = None) -> list[str]:
        return [found.instant_time for found in self.read(as_of).blocks]


def test_blocks_of_instants_that_are_not_completed_are_ignored_in_version_6() -> None:
    table = Slice(FIRST, THIRD)
    table.add(block(FIRST), block(SECOND))
    table.add(block(THIRD))
    assert table.instants() == [FIRST, THIRD]


def test_the_instant_in_the_file_name_decides_from_version_8_on() -> None:
    table = Slice(FIRST, THIRD, has_own_log_instants=True)
    table.add(block(FIRST), instant=FIRST)
    table.add(block(SECOND), instant=SECOND)
    table.add(block(THIRD), instant=THIRD)
    assert table.instants() == [FIRST, THIRD]


@pytest.mark.parametrize("has_own_log_instants", [False, True])
def test_later_instants_are_ignored_but_do_not_end_the_reading(has_own_log_instants: bool) -> None:
    table = Slice(FIRST, SECOND, THIRD, has_own_log_instants=has_own_log_instants)
    for instant in (FIRST, THIRD, SECOND):
        table.add(block(instant), instant=instant if has_own_log_instants else BASE)
    assert table.instants(as_of=SECOND) == [FIRST, SECOND]


def test_blocks_older_than_the_timeline_are_visible() -> None:
    table = Slice()
    table.add(block("20250101000000000"))
    assert table.instants() == ["20250101000000000"]


def test_a_rollback_in_a_later_file_removes_blocks_of_its_target() -> None:
    """The blocks are removed even if the target is completed, and even before the rollback itself completes."""
    table = Slice(FIRST, SECOND)
    table.add(block(FIRST))
    table.add(block(SECOND))
    table.add(rollback(THIRD, FIRST))
    assert table.instants() == [SECOND]


def test_contents_of_small_and_of_large_files_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Slice(FIRST, SECOND)
    table.add(block(FIRST, content=b"one"), block(SECOND, content=b"two"))
    small = table.read().blocks
    assert [found.content for found in small] == [b"one", b"two"]
    monkeypatch.setattr(slice_log, "_KEPT_BYTES", 10)
    dropped = table.read().blocks
    monkeypatch.setattr(located_blocks, "_AT_ONCE_BYTES", 10)
    large = table.read().blocks
    assert small == dropped == large
    assert [found.content for found in (*dropped, *large)] == [None] * 4
    for blocks in (small, dropped, large):
        assert [read_content(table.storage, found) for found in blocks] == [b"one", b"two"]


def test_a_file_that_became_shorter_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(located_blocks, "_AT_ONCE_BYTES", 10)
    table = Slice(FIRST)
    path = table.add(block(FIRST, content=b"one"))
    (found,) = table.read().blocks
    table.storage.write(path, b"")
    with pytest.raises(MalformedMetadataError, match="the file has 0 bytes, but its listing") as caught:
        read_content(table.storage, found)
    assert caught.value.path == path


def test_bytes_that_are_appended_after_the_listing_are_not_read() -> None:
    table = Slice(FIRST)
    path = table.add(block(FIRST))
    table.storage.write(path, table.storage.read(path) + block(FIRST) + b"#HUDI#")
    assert table.instants() == [FIRST]
    table.logs[0] = table.logs[0]._replace(size_bytes=-1)
    assert table.instants() == [FIRST, FIRST]


@pytest.mark.parametrize("at_once_bytes", [1 << 20, 10])
def test_a_log_file_that_is_shorter_than_listed_is_an_error(
    at_once_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(located_blocks, "_AT_ONCE_BYTES", at_once_bytes)
    found = Slice(FIRST, SECOND)
    path = found.add(block(FIRST), block(SECOND))
    found.storage.write(path, block(FIRST))
    with pytest.raises(MalformedMetadataError, match=rf"{path}: the file has \d+ bytes, but its listing"):
        found.read()


def test_an_incomplete_last_block_is_skipped_and_reported() -> None:
    table = Slice(FIRST, SECOND)
    path = table.add(block(FIRST), block(SECOND)[:-9])
    table.add(block(SECOND))
    found = table.read()
    assert [b.instant_time for b in found.blocks] == [FIRST, SECOND]
    assert found.incomplete == ((path, len(block(FIRST))),)


def test_damage_before_the_end_names_file_and_position() -> None:
    table = Slice(FIRST, SECOND)
    first = block(FIRST)
    path = table.add(first, block(SECOND)[:-9], block(SECOND))
    with pytest.raises(MalformedMetadataError, match=f"at position {len(first)} ") as caught:
        table.read()
    assert caught.value.path == path
    assert path in caught.value.message
    assert "Restore the file" in caught.value.hint


def test_a_block_without_instant_is_an_error() -> None:
    table = Slice(FIRST)
    path = table.add(block(FIRST), block(""))
    with pytest.raises(MalformedMetadataError, match="has no header INSTANT_TIME") as caught:
        table.read()
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (block(FIRST, IS_PARTIAL="true"), "IS_PARTIAL.*partial.updates=false"),
        (block(FIRST, BlockType.DELETE, IS_PARTIAL="TRUE"), "IS_PARTIAL"),
        (block(FIRST, BlockType.HFILE_DATA), "is an HFile"),
        (block(FIRST, BlockType.CDC_DATA), r"change data \(CDC\)"),
        (block(FIRST, BlockType.CORRUPT), "unknown type 2"),
        (block(FIRST, 99), "unknown type 99"),
    ],
)
def test_the_error_about_a_block_that_cannot_be_merged_names_file_and_position(
    refused: bytes, reason: str
) -> None:
    table = Slice(FIRST, SECOND)
    path = table.add(block(FIRST), refused)
    with pytest.raises(
        UnsupportedTableError, match=f"{path}: block at position {len(block(FIRST))} .*{reason}"
    ) as caught:
        table.read()
    assert "Compact the table" in caught.value.hint
    # After a rollback of their instant, the same blocks are ignored, so they cause no error.
    table.add(rollback(THIRD, FIRST))
    assert table.instants() == []


def test_a_block_with_all_columns_is_not_partial() -> None:
    table = Slice(FIRST)
    table.add(block(FIRST, IS_PARTIAL="false"))
    assert table.instants() == [FIRST]


def valid_instants(table: LogTable, as_of: str | None = None) -> list[str]:
    found = read_slice_log(table.storage, table.file_slice, table.visibility, as_of=as_of)
    assert found.incomplete == ()
    return [b.instant_time for b in found.blocks]


@EACH_VERSION
def test_the_rollback_of_real_hudi_removes_its_target(version: TableVersion) -> None:
    table = log_table(version, "updates")
    rolled_back = [i for i, write in table.writes.items() if write["operation"] == "rolled back"]
    assert len(rolled_back) == 1
    _, *later = table.writes
    expected = [i for i in later if i not in rolled_back]
    assert list(dict.fromkeys(valid_instants(table))) == expected
    for number, instant in enumerate(expected, start=1):
        assert list(dict.fromkeys(valid_instants(table, as_of=instant))) == expected[:number]


@EACH_VERSION
def test_log_compactions_of_real_hudi_replace_their_inputs(version: TableVersion) -> None:
    table = log_table(version, "compacted_logs")
    *_, last = table.writes
    instants = valid_instants(table)
    compaction = instants[0]
    assert compaction not in table.writes
    assert instants == [compaction, compaction, last]
    # Before the log compactions, the blocks that they replace are valid.
    _, first, second, *_ = table.writes
    assert valid_instants(table, as_of=second) == [first, second, second]
