"""HFiles of many blocks that Hudi's own writers made, with an index of one to three levels, are read and searched.

HBase may write shorter keys into its index, which lie between two blocks and are not keys of entries.
"""

import tarfile
from functools import cache
from pathlib import Path

import pytest

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile

GOLDEN = Path(__file__).parents[3] / "golden"
LEVELS = {
    ("0.15.0", "one_level"): 1,
    ("0.15.0", "two_levels"): 2,
    ("0.15.0", "three_levels"): 3,
    ("1.2.0", "one_level"): 1,
}
EACH = pytest.mark.parametrize(("release", "name"), LEVELS, ids=["-".join(pair) for pair in LEVELS])
# As in the recipe, `make_hfile_golden.py`.
NUMBERED = ((n, f"{'abc'[n % 3] * (n % 5)}key-{n * 7919 % 100003:06d}") for n in range(300))
ENTRIES: list[Entry] = sorted((key.encode(), b"value %d" % n) for n, key in NUMBERED)


@cache
def content(release: str, name: str) -> bytes:
    with tarfile.open(GOLDEN / f"hudi-{release}" / "hfiles.tar.xz") as archive:
        file = archive.extractfile(f"{name}.hfile")
        assert file is not None
        return file.read()


def opened(release: str, name: str) -> HFileReader:
    return open_hfile(content(release, name), name)


@EACH
def test_all_entries_are_read(release: str, name: str) -> None:
    reader = opened(release, name)
    assert reader.trailer.data_index_levels == LEVELS[release, name]
    assert list(reader.entries()) == ENTRIES
    assert reader.schema == "{}"


@EACH
def test_each_key_is_found_and_keys_beside_it_are_not(release: str, name: str) -> None:
    reader = opened(release, name)
    for key, value in ENTRIES:
        assert list(reader.find([key])) == [(key, value)]
        assert list(reader.find([key + b"\0", key[:-1]])) == []
    assert list(reader.find([key for key, _ in ENTRIES])) == ENTRIES
    for absent in ([], [b""], [b"\xff"], [b"", b"\xff"]):
        assert list(reader.find(absent)) == []


@EACH
def test_prefixes_are_found(release: str, name: str) -> None:
    reader = opened(release, name)
    for prefix in (b"", b"a", b"aa", b"bkey-0", b"key", b"ckey-09", b"none", b"\0", b"\xff"):
        assert list(reader.find_prefixes([prefix])) == [e for e in ENTRIES if e[0].startswith(prefix)]


@EACH
def test_a_look_up_reads_one_block_of_each_level(release: str, name: str) -> None:
    data, ranges = content(release, name), list[tuple[int, int]]()

    def read(offset: int, length: int) -> bytes:
        ranges.append((offset, length))
        return data[offset : offset + length]

    assert list(HFileReader(read, len(data), name).find([ENTRIES[100][0]])) == [ENTRIES[100]]
    assert len(ranges) == 1 + LEVELS[release, name]
    assert all(length < 500 for _, length in ranges[1:])


@EACH
def test_no_flipped_byte_is_read_as_another_value(release: str, name: str) -> None:
    data, keys = content(release, name), [ENTRIES[7][0], ENTRIES[200][0], b"none"]
    some = [ENTRIES[7], ENTRIES[200]]
    end = len(data) - 4096 + 130
    for place in (*range(0, end, 61), *range(end - 130, end), *range(len(data) - 4, len(data))):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        for read, expected in ((lambda r: list(r.entries()), ENTRIES), (lambda r: list(r.find(keys)), some)):
            try:
                found = read(open_hfile(bytes(damaged), name))
            except (CorruptTableError, UnsupportedTableError):
                continue
            assert found == expected, place
