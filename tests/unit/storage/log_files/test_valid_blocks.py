"""Rollbacks and log compactions determine which blocks of a slice are merged, and in which order."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock
from hudi_table_services.storage.log_files.valid_blocks import in_merge_order

Steps = list[tuple[str, str]]
"""Steps of a writer: (instant, what it writes): ``rows``, ``!<target>`` (rollback) or ``<a>,<b>`` (log compaction)."""


def blocks(steps: Iterable[tuple[str, str]]) -> list[LocatedBlock]:
    return [block(number, instant, what) for number, (instant, what) in enumerate(steps)]


def block(position: int, instant: str, what: str) -> LocatedBlock:
    headers: dict[int, str] = {HeaderKey.INSTANT_TIME: instant}
    kind = BlockType.AVRO_DATA
    if what.startswith("!"):
        kind = BlockType.COMMAND
        headers |= {HeaderKey.COMMAND_BLOCK_TYPE: "0", HeaderKey.TARGET_INSTANT_TIME: what[1:]}
    elif what != "rows":
        headers[HeaderKey.COMPACTED_BLOCK_TIMES] = what
    return LocatedBlock(
        path="p/.log",
        position=position,
        block_type=kind,
        headers=headers,
        instant_time=instant,
        content_position=0,
        content_bytes=0,
    )


def order(*steps: tuple[str, str]) -> list[tuple[str, int]]:
    return [(b.instant_time, b.position) for b in in_merge_order(blocks(steps))]


def test_blocks_are_merged_in_their_order() -> None:
    assert order(("1", "rows"), ("2", "rows"), ("3", "rows")) == [("1", 0), ("2", 1), ("3", 2)]


def test_all_blocks_of_an_instant_are_merged_at_the_position_of_its_first_block() -> None:
    assert order(("1", "rows"), ("2", "rows"), ("1", "rows")) == [("1", 0), ("1", 2), ("2", 1)]


def test_a_rollback_removes_the_earlier_blocks_of_its_target() -> None:
    steps = [("1", "rows"), ("2", "rows"), ("1", "rows"), ("9", "!1"), ("3", "rows")]
    assert order(*steps) == [("2", 1), ("3", 4)]
    # Blocks after the rollback are new, as if the instant had never written before.
    assert order(*steps, ("1", "rows")) == [("2", 1), ("3", 4), ("1", 5)]


def test_a_log_compaction_of_blocks_that_the_base_file_contains_is_skipped() -> None:
    steps = [("5", "1,2"), ("6", "rows")]
    with pytest.raises(CorruptTableError, match="the blocks that it replaces are missing"):
        order(*steps)
    found = in_merge_order(blocks(steps), lambda instant: instant < "3")
    assert [b.instant_time for b in found] == ["6"]


def test_a_log_compaction_of_a_block_that_the_base_file_does_not_contain_is_merged() -> None:
    steps = [("2", "rows"), ("5", "1,2"), ("6", "rows")]
    found = in_merge_order(blocks(steps), lambda instant: instant < "2")
    assert [b.instant_time for b in found] == ["5", "6"]


def test_a_rollback_without_blocks_of_its_target_changes_nothing() -> None:
    assert order(("9", "!7"), ("1", "rows")) == [("1", 1)]


def test_a_log_compaction_is_merged_at_the_position_of_its_newest_input() -> None:
    steps = [("1", "rows"), ("2", "rows"), ("3", "rows"), ("4", "1,2"), ("4", "1,2"), ("5", "rows")]
    assert order(*steps) == [("4", 3), ("4", 4), ("3", 2), ("5", 5)]


@pytest.mark.parametrize("listed", ["4,5", "5,4", " 4 , 5 "])
def test_a_log_compaction_can_replace_another_one(listed: str) -> None:
    steps = [("1", "rows"), ("2", "rows"), ("3", "rows"), ("4", "2,1"), ("5", "rows"), ("6", listed)]
    # The newest replaced block is that of instant 5, which comes after the block of instant 3.
    assert order(*steps, ("7", "rows")) == [("3", 2), ("6", 5), ("7", 6)]


def test_a_rolled_back_log_compaction_replaces_nothing() -> None:
    steps = [("1", "rows"), ("2", "rows"), ("3", "1,2"), ("9", "!3")]
    assert order(*steps) == [("1", 0), ("2", 1)]


def test_a_log_compaction_without_its_inputs_is_an_error() -> None:
    with pytest.raises(CorruptTableError, match="position 1 is the result of a log compaction"):
        order(("1", "rows"), ("3", "2"))


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({HeaderKey.COMMAND_BLOCK_TYPE: "1"}, UnsupportedTableError),
        ({}, UnsupportedTableError),
        ({HeaderKey.COMMAND_BLOCK_TYPE: "0"}, MalformedMetadataError),
    ],
)
def test_an_unknown_command_is_an_error(headers: dict[int, str], error: type[Exception]) -> None:
    command = LocatedBlock(
        path="p/.log",
        position=5,
        block_type=BlockType.COMMAND,
        headers=headers,
        instant_time="1",
        content_position=0,
        content_bytes=0,
    )
    with pytest.raises(error, match="p/.log: block at position 5"):
        in_merge_order([command])


@st.composite
def histories(draw: st.DrawFn) -> tuple[Steps, list[str]]:
    """Writes, log compactions of the newest live blocks, and rollbacks of the newest live block.

    Returns:
        The steps, and the instants of the live blocks in merge order.
    """
    steps: Steps = []
    live: list[str] = []
    replaced: dict[str, list[str]] = {}
    for number in range(draw(st.integers(1, 12))):
        instant = f"{number:02d}"
        kind = draw(st.sampled_from(["rows", "rows", "compact", "undo"]))
        if kind == "undo" and live:
            target = live.pop()
            steps.append((instant, f"!{target}"))
            live += replaced.pop(target, [])
        elif kind == "compact" and len(live) > 1:
            first = draw(st.integers(0, len(live) - 2))
            steps.append((instant, ",".join(live[first:])))
            replaced[instant] = live[first:]
            live[first:] = [instant]
        else:
            steps.append((instant, "rows"))
            live.append(instant)
    return steps, live


@given(history=histories())
def test_the_live_blocks_of_any_history_are_found_in_order(history: tuple[Steps, list[str]]) -> None:
    steps, live = history
    assert [instant for instant, _ in order(*steps)] == live
