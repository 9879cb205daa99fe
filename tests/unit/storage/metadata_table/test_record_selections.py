"""Which parts of a log block a selection of records decodes."""

from collections.abc import Iterator

import pytest

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile
from hudi_table_services.hudi_format.hfile.trailer import Flavour
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile
from hudi_table_services.storage.metadata_table.log_changes import (
    ALL_KEYS,
    Keys,
    NoKeys,
    Prefixes,
    Selection,
)

ENTRIES = [(f"key-{number:04}".encode(), b"value-%d" % number) for number in range(400)]
FIRST, LAST = ENTRIES[0], ENTRIES[-1]
OPTIONS = HFileOptions(schema='"string"', flavour=next(iter(Flavour)), is_base_file=False, block_bytes=1_000)
CONTENT = encode_hfile(ENTRIES, OPTIONS)


def damaged() -> HFileReader:
    """A block of many data blocks, of which the last is damaged."""
    content = bytearray(CONTENT)
    location = open_hfile(CONTENT, "block")._data_locations(list)[-1]
    content[location.offset + 40] ^= 0xFF
    return open_hfile(bytes(content), "block")


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Keys(frozenset([FIRST[0], LAST[0], b"missing"])), [FIRST, LAST]),
        (Keys(frozenset([*(key for key, _ in ENTRIES), *(b"missing-%d" % n for n in range(9))])), ENTRIES),
        (Keys(frozenset()), []),
        (Prefixes((b"key-000", b"none")), ENTRIES[:10]),
        (ALL_KEYS, ENTRIES),
        (NoKeys(), []),
    ],
    ids=["some keys", "more keys than entries", "no keys", "prefixes", "all", "none"],
)
def test_a_selection_returns_its_entries_in_the_order_of_their_keys(
    selection: Selection, expected: list[tuple[bytes, bytes]]
) -> None:
    assert list(selection.entries_of(open_hfile(CONTENT, "block"))) == expected
    assert [entry for entry in ENTRIES if entry[0] in selection] == expected


@pytest.mark.parametrize("selection", [Keys(frozenset([FIRST[0]])), Prefixes((FIRST[0],))], ids=str)
def test_a_look_up_decodes_only_the_data_blocks_that_can_have_its_keys(selection: Selection) -> None:
    assert list(selection.entries_of(damaged())) == [FIRST]


@pytest.mark.parametrize("selection", [ALL_KEYS, NoKeys(), Keys(frozenset([LAST[0]]))], ids=str)
def test_other_selections_notice_damage_of_any_data_block(selection: Selection) -> None:
    def found() -> Iterator[tuple[bytes, bytes]]:
        yield from selection.entries_of(damaged())

    with pytest.raises(MalformedMetadataError):
        list(found())
