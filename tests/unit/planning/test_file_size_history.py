"""File sizes after each of the latest writes, compared with a model that applies the writes forwards."""

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import (
    NEW_FILE_GROUP,
    CommitMetadata,
    WriteOperation,
    WriteStat,
)
from hudi_table_services.planning.file_size_history import table_history
from support.small_tables import table_properties

Sizes = dict[FileGroupId, tuple[str, int]]
Write = tuple[Instant, CommitMetadata]

STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 10**9), max_size=4),
        st.sets(st.sampled_from("abcdef"), max_size=2),
    ),
    max_size=12,
)


def instant(number: int) -> Instant:
    return Instant(
        requested_time=f"{20260101000000000 + number}",
        action=Action.REPLACE_COMMIT,
        state=InstantState.COMPLETED,
    )


def played(steps: list[tuple[dict[str, int], set[str]]]) -> tuple[list[Write], list[Sizes]]:
    """Writes for these steps (sizes of written files, names of replaced files), and the table after each step."""
    live: Sizes = {}
    generation: dict[str, int] = {}
    writes, tables = [], []
    for number, (written, replaced) in enumerate(steps):
        time = instant(number).requested_time
        ended = [g for g in live if g.file_id[0] in replaced and g.file_id[0] not in written]
        for group in ended:
            del live[group]
            generation[group.file_id[0]] = generation.get(group.file_id[0], 0) + 1
        stats = []
        for name, size in written.items():
            group = FileGroupId("p", f"{name}{generation.get(name, 0)}")
            before = live.get(group, (NEW_FILE_GROUP, 0))[0]
            file = BaseFile(file_id=group.file_id, write_token="0-0-0", instant_time=time, size_bytes=size)
            stats.append(
                WriteStat(
                    file_id=group.file_id,
                    partition_path="p",
                    path=f"p/{file.file_name}",
                    prev_commit=before,
                    file_size_bytes=size,
                    num_inserts=1,
                )
            )
            live[group] = (time, size)
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats={"p": tuple(stats)},
            partition_to_replace_file_ids={"p": tuple(g.file_id for g in ended)},
        )
        writes.append((instant(number), metadata))
        tables.append(dict(live))
    return writes, tables


def snapshot_of(live: Sizes) -> TableSnapshot:
    slices = tuple(
        FileSlice(
            file_group_id=group,
            base_instant_time=time,
            base_file=BaseFile(
                file_id=group.file_id, write_token="0-0-0", instant_time=time, size_bytes=size
            ),
        )
        for group, (time, size) in live.items()
    )
    return TableSnapshot(
        config=TableConfig(table_properties(TableVersion.V6)),
        timeline=Timeline(),
        file_slices={"p": slices},
    )


@given(STEPS)
def test_the_history_equals_a_model_that_applies_the_writes_forwards(
    steps: list[tuple[dict[str, int], set[str]]],
) -> None:
    writes, tables = played(steps)
    history = table_history(snapshot_of(tables[-1] if tables else {}), writes, {})
    assert [each.instant for each in history.sizes] == [i for i, _ in writes]
    assert [list(each.sizes_bytes) for each in history.sizes] == [
        sorted(size for _, size in table.values()) for table in tables
    ]
    assert not any(each.unknown_count for each in history.sizes)


@given(STEPS, st.integers(0, 12))
def test_a_history_of_the_latest_writes_has_correct_or_unknown_sizes(
    steps: list[tuple[dict[str, int], set[str]]], known: int
) -> None:
    """The sizes of older versions are known if these versions are on storage; otherwise the sizes are unknown."""
    writes, tables = played(steps)
    live = tables[-1] if tables else {}
    latest = writes[max(0, len(writes) - known) :]
    blind = table_history(snapshot_of(live), latest, {})
    stored: dict[FileGroupId, dict[str, int]] = {}
    for table in tables:
        for group, (time, size) in table.items():
            stored.setdefault(group, {})[time] = size
    seeing = table_history(snapshot_of(live), latest, stored)
    for one, other, table in zip(blind.sizes, seeing.sizes, tables[len(writes) - len(latest) :], strict=True):
        true = sorted(size for _, size in table.values())
        assert list(other.sizes_bytes) == true
        assert len(one.sizes_bytes) + one.unknown_count == len(true)
        assert all(true.count(size) >= one.sizes_bytes.count(size) for size in one.sizes_bytes)


def test_the_summary_of_a_write_counts_rows_files_and_bytes() -> None:
    writes, tables = played([({"a": 5, "b": 7}, set()), ({"c": 9}, {"a"})])
    last = table_history(snapshot_of(tables[-1]), writes, {}).writes[-1]
    assert (last.files_written, last.bytes_written, last.files_replaced) == (1, 9, 1)
    assert (last.rows_inserted, last.rows_updated, last.rows_deleted) == (1, 0, 0)
    assert last.partitions == ("p",)
    assert last.operation is WriteOperation.UPSERT
