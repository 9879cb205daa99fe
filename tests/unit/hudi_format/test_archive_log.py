"""The codec of the archive of table version 6 encodes golden instants as Hudi does, and detects damage."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.archive_log import (
    ArchivedState,
    archive_file_name,
    archive_file_number,
    archived_writes,
    decode_archive,
    encode_archive,
)
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.hudi_format.log_blocks import (
    BlockType,
    LogBlock,
    decode_blocks,
    decode_records,
    encode_block,
    encode_records,
)
from hudi_table_services.hudi_format.table_service_plans import decode_clean_plan
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_version import TimelineLayout

GOLDEN = Path(__file__).parents[2] / "golden" / "hudi-0.15.0" / "v6"
CONTENT_FIELDS = {
    (Action.COMMIT, InstantState.REQUESTED): {"hoodieCommitMetadata"},
    (Action.COMMIT, InstantState.INFLIGHT): {"hoodieCommitMetadata"},
    (Action.COMMIT, InstantState.COMPLETED): {"hoodieCommitMetadata"},
    (Action.CLEAN, InstantState.REQUESTED): {"hoodieCleanerPlan"},
    (Action.CLEAN, InstantState.INFLIGHT): {"hoodieCleanerPlan"},
    (Action.CLEAN, InstantState.COMPLETED): {"hoodieCleanMetadata"},
    (Action.ROLLBACK, InstantState.REQUESTED): set(),
    (Action.ROLLBACK, InstantState.INFLIGHT): set(),
    (Action.ROLLBACK, InstantState.COMPLETED): {"hoodieRollbackMetadata"},
    (Action.SAVEPOINT, InstantState.INFLIGHT): set(),
    (Action.SAVEPOINT, InstantState.COMPLETED): {"hoodieSavePointMetadata"},
    (Action.REPLACE_COMMIT, InstantState.REQUESTED): {"hoodieRequestedReplaceMetadata"},
    (Action.REPLACE_COMMIT, InstantState.COMPLETED): {"hoodieReplaceCommitMetadata"},
}
FIELDS_OF_EVERY_RECORD = {"commitTime", "actionType", "actionState", "stateTransitionTime"}


def golden_states(table: str) -> list[ArchivedState]:
    paths = sorted((GOLDEN / table / "timeline").iterdir())
    found = [(Instant.from_file_name(path.name, TimelineLayout.V1), path.read_bytes()) for path in paths]
    return [ArchivedState(instant=i, content=c, changed_at="20260102030405006") for i, c in sorted(found)]


@pytest.mark.parametrize("table", ["services", "commits"])
def test_every_state_of_golden_instants_is_archived_as_in_hudi(table: str) -> None:
    states = golden_states(table)
    records = list(decode_archive(encode_archive(states, 4)))
    assert [record.instant for record in records] == [state.instant for state in states]
    for state, record in zip(states, records, strict=True):
        present = {
            name for name, value in record.values.items() if value is not None
        } - FIELDS_OF_EVERY_RECORD
        is_overwrite = table == "commits" and state.instant.action is Action.REPLACE_COMMIT
        if is_overwrite and state.instant.state is InstantState.INFLIGHT:
            assert present == {"HoodieInflightReplaceMetadata"}
        else:
            assert present == CONTENT_FIELDS.get((state.instant.action, state.instant.state), set())
        assert record.values["stateTransitionTime"] == "20260102030405006"


def test_archived_writes_have_the_metadata_of_their_state_files() -> None:
    states = golden_states("services") + golden_states("commits")
    found = archived_writes(decode_archive(encode_archive(states, 10)))
    expected = {
        state.instant.identity: decode_commit_metadata(state.content)
        for state in states
        if state.instant.is_completed and state.instant.action.writes_data
    }
    assert {identity: write.metadata for identity, write in found.items()} == expected
    assert len(expected) > 5


def test_a_clean_plan_is_archived_completely() -> None:
    (state,) = [
        s
        for s in golden_states("services")
        if s.instant.file_name(TimelineLayout.V1).endswith("clean.requested")
    ]
    (record,) = decode_archive(encode_archive([state], 1))
    plan = decode_clean_plan(state.content)
    kept = record.values["hoodieCleanerPlan"]["filePathsToBeDeletedPerPartition"]
    assert {path: [each["filePath"] for each in files] for path, files in kept.items()} == {
        path: [each.path for each in files] for path, files in plan.files_to_delete.items()
    }


def test_an_incomplete_block_of_a_dead_writer_is_skipped_at_any_position() -> None:
    states = golden_states("services")
    first, second = encode_archive(states[:3], 3), encode_archive(states[3:6], 3)
    of_first, of_second = ([s.instant for s in part] for part in (states[:3], states[3:6]))
    for cut in (1, 7, 20, len(second) // 2, len(second) - 1):
        assert [r.instant for r in decode_archive(first + second[:cut])] == of_first
        # The next writer has appended to the file.
        assert [r.instant for r in decode_archive(second[:cut] + first)] == of_first
    assert [r.instant for r in decode_archive(first + second)] == of_first + of_second
    assert list(decode_archive(b"")) == []


def test_a_damaged_completed_file_prevents_archival_and_a_damaged_inflight_file_does_not() -> None:
    time = "20260102030405006"
    inflight = Instant(requested_time=time, action=Action.COMMIT, state=InstantState.INFLIGHT)
    damaged = ArchivedState(instant=inflight, content=b'{"partitionTo', changed_at=time)
    (record,) = decode_archive(encode_archive([damaged], 1))
    assert record.instant == inflight
    completed = Instant(requested_time=time, action=Action.COMMIT, state=InstantState.COMPLETED)
    with pytest.raises(MalformedMetadataError, match=f"commit {time}"):
        encode_archive([ArchivedState(instant=completed, content=b"", changed_at=time)], 1)


def test_names_of_archive_files_contain_their_number() -> None:
    assert archive_file_name(7) == ".commits_.archive.7_1-0-1"
    assert archive_file_number(archive_file_name(7)) == 7
    for other in ("mergeArchivePlan", "..commits_.archive.7_1-0-1.crc", ".commits_.archive.x_1-0-1"):
        assert archive_file_number(other) is None


headers = st.dictionaries(st.integers(0, 8), st.text(max_size=20), max_size=3)
blocks = st.builds(
    lambda kind, headers, content: LogBlock(block_type=kind, headers=headers, content=content),
    st.sampled_from([int(kind) for kind in BlockType]),
    headers,
    st.binary(max_size=60),
)


@given(st.lists(blocks, max_size=4))
def test_decoded_blocks_equal_the_encoded_blocks(written: list[LogBlock]) -> None:
    assert list(decode_blocks(b"".join(map(encode_block, written)))) == written


@given(st.lists(st.binary(max_size=30)))
def test_decoded_records_equal_the_encoded_records(written: list[bytes]) -> None:
    assert decode_records(encode_records(written)) == written


@given(st.binary(max_size=80), st.booleans())
def test_arbitrary_bytes_are_decoded_or_refused_as_malformed_metadata(data: bytes, is_framed: bool) -> None:
    if is_framed:  # the bytes become a block with correct sizes
        body = data + struct.pack(">q", len(data) + 14)
        data = b"#HUDI#" + struct.pack(">q", len(body)) + body
    try:
        list(decode_archive(data))
        decode_records(data)
    except MalformedMetadataError:
        pass
