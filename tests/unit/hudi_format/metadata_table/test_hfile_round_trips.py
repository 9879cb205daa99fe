"""A reader finds in an HFile what a writer wrote: all entries, the entries of keys, and the entries of prefixes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.hfile import blocks
from hudi_table_services.hudi_format.hfile.blocks import Compression
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.checksums import crc32c
from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile
from hudi_table_services.hudi_format.hfile.trailer import Flavour
from hudi_table_services.hudi_format.hfile.writer import (
    MAX_RECORD_KEY,
    MIN_RECORD_KEY,
    HFileOptions,
    encode_hfile,
)

FEW_BYTES = st.binary(max_size=3) | st.binary(max_size=40)
# Short keys from few letters: many keys share a prefix, and one key is a prefix of another.
KEYS = st.text("ab\0\x7fé世", max_size=6).map(str.encode) | FEW_BYTES | st.just(b"\xff\xff")
ENTRIES = st.dictionaries(KEYS, FEW_BYTES, max_size=40).map(lambda found: sorted(found.items()))
OPTIONS = st.builds(
    HFileOptions,
    schema=st.sampled_from(("{}", '{"type":"string"}')),
    flavour=st.sampled_from(Flavour),
    is_base_file=st.booleans(),
    compression=st.sampled_from(Compression),
    block_bytes=st.sampled_from((1, 60, 200, 1 << 20)),
)
PLAIN = HFileOptions(schema="{}", flavour=Flavour.NATIVE, is_base_file=True, block_bytes=200)


def numbered(count: int, width: int = 6) -> list[Entry]:
    return [(f"key-{n:0{width}d}".encode(), f"value {n}".encode() * (n % 5)) for n in range(count)]


class CountingFile:
    """A file that records which ranges are read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.ranges: list[tuple[int, int]] = []

    def read(self, offset: int, length: int) -> bytes:
        self.ranges.append((offset, length))
        return self._data[offset : offset + length]

    def open(self) -> HFileReader:
        return HFileReader(self.read, len(self._data), "counted")

    @property
    def bytes_read(self) -> int:
        return sum(length for _, length in self.ranges)


@given(entries=ENTRIES, options=OPTIONS)
def test_all_entries_are_read_as_written(entries: list[Entry], options: HFileOptions) -> None:
    data = encode_hfile(entries, options)
    reader = open_hfile(data, "file")
    assert list(reader.entries()) == entries
    assert reader.schema == options.schema
    assert reader.entry_count == len(entries)
    assert encode_hfile(entries, options) == data


@given(entries=ENTRIES, options=OPTIONS, others=st.lists(KEYS, max_size=5), data=st.data())
def test_look_ups_find_exactly_the_entries_of_the_keys(
    entries: list[Entry], options: HFileOptions, others: list[bytes], data: st.DataObject
) -> None:
    present = data.draw(st.lists(st.sampled_from(entries), max_size=5)) if entries else []
    wanted = [key for key, _ in present] + others
    found = list(open_hfile(encode_hfile(entries, options), "file").find(wanted))
    assert found == [entry for entry in entries if entry[0] in set(wanted)]


@given(entries=ENTRIES, options=OPTIONS, prefixes=st.lists(KEYS, max_size=4))
def test_look_ups_find_exactly_the_entries_of_the_prefixes(
    entries: list[Entry], options: HFileOptions, prefixes: list[bytes]
) -> None:
    found = list(open_hfile(encode_hfile(entries, options), "file").find_prefixes(prefixes))
    assert found == [entry for entry in entries if entry[0].startswith(tuple(prefixes))]


@given(entries=ENTRIES)
def test_base_files_name_their_smallest_and_greatest_key(entries: list[Entry]) -> None:
    base = open_hfile(encode_hfile(entries, PLAIN), "base").file_info
    log = HFileOptions(schema="{}", flavour=Flavour.NATIVE, is_base_file=False)
    expected = (entries[0][0], entries[-1][0]) if entries else (None, None)
    assert (base.get(MIN_RECORD_KEY), base.get(MAX_RECORD_KEY)) == expected
    assert MIN_RECORD_KEY not in open_hfile(encode_hfile(entries, log), "log").file_info


@pytest.mark.parametrize("keys", [[b"b", b"a"], [b"a", b"a"], ["é".encode(), b"z"], [b"a" * 32768]], ids=str)
def test_keys_that_readers_would_not_find_are_refused(keys: list[bytes]) -> None:
    with pytest.raises(MalformedMetadataError, match="key"):
        encode_hfile([(key, b"") for key in keys], PLAIN)


def test_an_entry_that_readers_would_refuse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_CONTENT_BYTES", 1000)
    with pytest.raises(MalformedMetadataError, match="too large"):
        encode_hfile([(b"key", bytes(1000))], PLAIN)


@pytest.mark.parametrize("flavour", Flavour)
def test_a_look_up_reads_only_the_index_the_needed_blocks_and_the_end_of_the_file(flavour: Flavour) -> None:
    entries = numbered(50_000)
    options = HFileOptions(
        schema="{}", flavour=flavour, is_base_file=True, compression=Compression.NONE, block_bytes=4096
    )
    data = encode_hfile(entries, options)
    file = CountingFile(data)
    assert list(file.open().find([b"key-000017", b"key-033333", b"absent"])) == [entries[17], entries[33333]]
    assert len(file.ranges) == 3, "one range for the end with the index, one for each block"
    assert file.bytes_read < 64 * 1024 + 3 * 4400
    assert len(data) > 2_000_000

    file = CountingFile(data)
    assert list(file.open().find_prefixes([b"key-0200"])) == entries[20_000:20_100]
    assert len(file.ranges) == 2
    assert file.bytes_read < 64 * 1024 + 4 * 4400

    file = CountingFile(data)
    assert list(file.open().find([])) == []
    assert len(file.ranges) == 1


def test_an_index_that_is_larger_than_the_first_range_is_read_with_a_second_one() -> None:
    entries = numbered(5000, width=60)
    file = CountingFile(encode_hfile(entries, HFileOptions(
        schema="{}", flavour=Flavour.HBASE, is_base_file=True, compression=Compression.NONE, block_bytes=1
    )))  # fmt: skip
    reader = file.open()
    assert len(file.ranges) == 2
    assert list(reader.find([entries[4321][0]])) == [entries[4321]]


def test_neighbouring_blocks_are_fetched_together() -> None:
    entries = [(f"{n:04d}".encode(), bytes(1 << 20)) for n in range(20)]
    options = HFileOptions(
        schema="{}", flavour=Flavour.NATIVE, is_base_file=True, compression=Compression.NONE
    )
    file = CountingFile(encode_hfile(entries, options))
    assert list(file.open().entries()) == entries
    assert len(file.ranges) == 1 + 3
    assert max(length for _, length in file.ranges) <= 8 << 20


def test_crc32c_has_the_check_value_of_its_definition() -> None:
    assert crc32c(b"123456789") == 0xE3069283
