"""Views of tables. A view reads the storage and needs no Spark."""

import io
import json
from dataclasses import asdict
from uuid import uuid4

import pytest
from rich.console import Console

from hudi_table_services.command.rendering import print_summary
from hudi_table_services.command.view_summaries import SUMMARIES
from hudi_table_services.commits.undo import rollback_instant
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest
from hudi_table_services.errors import InvalidRequestError, TableNotFoundError
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import UndoNote, UndoReason
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_SIZES_KEY, REQUEST_ID_KEY
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.clustering_history import GAVE_WAY_KEY
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.views.commit_details import read_commit
from hudi_table_services.tables.views.current_schema import read_schema
from hudi_table_services.tables.views.documents import TableView
from hudi_table_services.tables.views.live_files import read_files, read_partitions
from hudi_table_services.tables.views.table_state import read_table_state
from hudi_table_services.tables.views.timeline_listing import read_timeline
from support.archived_tables import History
from support.metadata_table.whole_metadata_golden import NAMES, whole_table
from support.metadata_table.whole_metadata_golden import VERSIONS as GOLDEN_VERSIONS
from support.small_tables import SmallTable

A, B, C = FileGroupId("city=a", "fa"), FileGroupId("city=a", "fb"), FileGroupId("city=c", "fc")
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "city", "type": ["null", "string"], "doc": "where"},
        ],
    }
)
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=str)


def shown(view: object) -> str:
    """Return the view as a terminal shows it. Also check that the view can be converted to JSON."""
    assert json.loads(json.dumps(asdict(view)))  # type: ignore[call-overload]
    stream = io.StringIO()
    console = Console(file=stream, width=150, highlight=False, markup=False)
    print_summary(console, SUMMARIES[type(view)](view))
    return stream.getvalue()


class Table(SmallTable):
    """A table with two commits; the second replaced no file."""

    first: Instant
    second: Instant

    def __post_init__(self) -> None:
        super().__post_init__()
        self.first = self.commit(A, schema=SCHEMA)
        self.second = self.commit(B, C, schema=SCHEMA, extra={REQUEST_ID_KEY: "dag/run/load", "note": "n"})


def new_table(version: TableVersion) -> Table:
    return Table(MemoryStorage(f"lake/{uuid4().hex}"), version)


@VERSIONS
def test_the_table_has_names_keys_files_and_last_write(version: TableVersion) -> None:
    table = new_table(version)
    view = read_table_state(table.storage)
    assert (view.table_name, view.table_version, view.record_key) == ("trips", int(version), ("id",))
    assert (view.partition_count, view.file_count, view.size_bytes, view.row_count) == (2, 3, 12, 0)
    assert view.last_write is not None
    assert (view.last_write.instant_time, view.last_write.operation) == (
        table.second.requested_time,
        "upsert",
    )
    assert view.last_write.request_id == "dag/run/load"
    assert view.pending == ()
    text = shown(view)
    for part in ("trips (copy-on-write", table.storage.uri, "2 partitions by city", "3 files, 12 B, 0 rows"):
        assert part in text


def test_the_table_lists_pending_instants_with_the_next_step() -> None:
    table = new_table(TableVersion.V9)
    pending = table.begin()
    text = shown(read_table_state(table.storage))
    assert pending.requested_time in text
    assert "Run the request again" in text
    assert "hudi-services rollback" in text


def test_the_number_of_rows_is_unknown_if_a_live_file_is_older_than_the_active_timeline() -> None:
    history = History(TableVersion.V9)
    for number in range(8):
        history.commits(1, FileGroupId("p", f"f{number}"))
    history.archive()
    assert len(history.archived()) > 1
    view = read_table_state(history.storage)
    assert (view.file_count, view.row_count) == (8, None)
    assert "rows" not in shown(view)
    assert {each.row_count for each in read_files(history.storage).files} == {0, None}


@VERSIONS
def test_the_timeline_lists_the_newest_instants_first(version: TableVersion) -> None:
    table = new_table(version)
    pending = table.begin()
    view = read_timeline(table.storage, 2)
    assert [each.instant_time for each in view.instants] == [
        pending.requested_time,
        table.second.requested_time,
    ]
    assert (view.instant_count, view.has_archive) == (3, False)
    assert (view.instants[1].files_written, view.instants[1].partition_count) == (2, 2)
    assert bool(view.instants[1].completed_at) is (version is TableVersion.V9)
    text = shown(view)
    assert "3 active instants" in text
    assert "… and 1 older active instant" in text
    assert "archived" not in text


def test_the_timeline_says_that_older_instants_are_archived() -> None:
    history = History(TableVersion.V6)
    history.commits(8, A)
    history.archive()
    assert "Older instants are archived." in shown(read_timeline(history.storage, 20))


@VERSIONS
def test_files_are_ordered_by_partition_and_size(version: TableVersion) -> None:
    table = new_table(version)
    table.add_file("city=a", f"big_0-1-0_{table.second.requested_time}.parquet", b"PAR1" * 9)
    view = read_files(table.storage)
    assert [(each.partition_path, each.size_bytes) for each in view.files] == [
        ("city=a", 36),
        ("city=a", 4),
        ("city=a", 4),
        ("city=c", 4),
    ]
    only = read_files(table.storage, ("city=c",))
    assert [each.file_id for each in only.files] == ["fc"]
    assert "1 file, 4 B" in shown(only)


@pytest.mark.parametrize(
    ("path", "hint"), [("city=b", "Did you mean city="), ("2026", "`hudi-services show partitions` lists")]
)
def test_files_of_an_unknown_partition_are_refused(path: str, hint: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"no partition '{path}'") as refused:
        read_files(new_table(TableVersion.V9).storage, ("city=a", path))
    assert refused.value.hint.startswith(hint)


def test_the_table_shows_the_pattern_of_its_time_partitions() -> None:
    view = TableView(
        table_name="t",
        base_path="/t",
        table_type="COPY_ON_WRITE",
        table_version=9,
        partition_by=("seen_at",),
        partition_time_format="yyyy-MM-dd",
        partition_count=3,
    )
    assert "3 partitions by seen_at (yyyy-MM-dd)" in shown(view)


def test_a_long_list_of_files_is_shortened_on_a_terminal_but_not_in_json() -> None:
    table = SmallTable(MemoryStorage(f"lake/{uuid4().hex}"))
    table.commit(*(FileGroupId("p", f"f{number:03}") for number in range(50)))
    view = read_files(table.storage)
    text = shown(view)
    assert "… and 30 more files" in text
    assert "f020" not in text
    assert len(view.files) == 50


@VERSIONS
def test_partitions_have_files_sizes_and_their_last_write(version: TableVersion) -> None:
    table = new_table(version)
    view = read_partitions(table.storage)
    assert [(each.partition_path, each.file_count, each.small_file_count) for each in view.partitions] == [
        ("city=a", 2, 2),
        ("city=c", 1, 0),
    ]
    assert {each.last_write for each in view.partitions} == {table.second.requested_time}
    assert "Partitions of trips: 2 partitions" in shown(view)


def test_the_schema_has_types_and_roles() -> None:
    view = read_schema(new_table(TableVersion.V9).storage)
    assert [(each.name, each.type, each.nullable, each.roles, each.doc) for each in view.columns] == [
        ("id", "long", False, ("record key",), ""),
        ("city", "string", True, ("partition",), "where"),
    ]
    assert "record key" in shown(view)


def test_a_table_without_commits_has_empty_views() -> None:
    storage = SmallTable(MemoryStorage(f"lake/{uuid4().hex}")).storage
    assert read_table_state(storage).last_write is None
    for view in (
        read_table_state(storage),
        read_files(storage),
        read_partitions(storage),
        read_schema(storage),
    ):
        assert "trips" in shown(view)
    assert read_timeline(storage, 5).instants == ()


@VERSIONS
def test_a_commit_has_rows_and_files_of_each_partition(version: TableVersion) -> None:
    table = new_table(version)
    view = read_commit(table.storage, table.second.requested_time)
    assert [(each.partition_path, each.files_written) for each in view.partitions] == [
        ("city=a", 1),
        ("city=c", 1),
    ]
    assert view.extra_metadata == {REQUEST_ID_KEY: "dag/run/load", "note": "n"}
    text = shown(view)
    assert text.count("dag/run/load") == 1
    assert "note" in text


def test_a_commit_shows_the_file_sizes_of_its_writer_in_words() -> None:
    table = new_table(TableVersion.V9)
    limits = {"hoodie.parquet.max.file.size": 120 << 20, "hoodie.parquet.small.file.limit": 100 << 20}
    made = table.commit(A, schema=SCHEMA, extra={FILE_SIZES_KEY: json.dumps(limits), GAVE_WAY_KEY: "2026"})
    text = " ".join(shown(read_commit(table.storage, made.requested_time)).split())
    assert "File sizes target 120.0 MiB, small-file limit 100.0 MiB" in text
    assert "Released plans 2026" in text
    assert "airflow." not in text


@VERSIONS
def test_an_archived_commit_is_found(version: TableVersion) -> None:
    history = History(version)
    first, *_ = history.commits(8, A)
    history.archive()
    assert first.requested_time in history.archived()
    view = read_commit(history.storage, first.requested_time)
    assert view.is_archived
    assert "completed, archived" in shown(view)


def test_a_pending_instant_has_its_meaning_and_next_step() -> None:
    table = new_table(TableVersion.V9)
    pending = table.begin(Action.COMMIT)
    text = shown(read_commit(table.storage, pending.requested_time))
    assert "inflight" in text
    assert "Next step" in text


def as_job_access(table: Table) -> TableAccess:
    return TableAccess(storage=table.storage, clock=table.clock, config=table.config)


@VERSIONS
def test_the_timeline_shows_what_a_rollback_undid_and_why(version: TableVersion) -> None:
    table = new_table(version)
    dead = table.begin()
    note = UndoNote(reason=UndoReason.DEAD_WRITER, request_id="dag/run/later")
    done = rollback_instant(as_job_access(table), dead, note)
    assert done is not None
    view = read_timeline(table.storage, 1)
    assert view.instants[0].undone == (dead.requested_time,)
    assert view.instants[0].request_id == "dag/run/later"
    line = f"{done.requested_time} rollback {dead.requested_time} the writer died"
    assert line in " ".join(shown(view).split())
    commit = " ".join(shown(read_commit(table.storage, done.requested_time)).split())
    assert f"Request dag/run/later Undoes {dead.requested_time} Reason the writer died" in commit
    with pytest.raises(InvalidRequestError, match=f"was undone by {done.requested_time}: the writer died."):
        read_commit(table.storage, dead.requested_time)


@VERSIONS
def test_a_pending_rollback_without_a_note_shows_that_its_reason_is_not_recorded(
    version: TableVersion,
) -> None:
    table = new_table(version)
    dead = table.begin()
    plan = plan_rollback(dead, (), table.storage.base_path)
    rollback = table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    text = " ".join(shown(read_timeline(table.storage, 9)).split())
    assert f"{rollback.requested_time} rollback {dead.requested_time} not recorded" in text


@VERSIONS
def test_the_timeline_names_the_savepoint_of_a_restore(version: TableVersion) -> None:
    table = new_table(version)
    saved = CreateSavepointRequest(
        base_path="/t", request_id="dag/run/keep", instant=table.first.requested_time
    )
    create_savepoint(saved, storage=table.storage, clock=table.clock)
    request = RestoreRequest(base_path="/t", request_id="dag/run/back", savepoint=table.first.requested_time)
    restore(request, storage=table.storage, clock=table.clock)
    newest, savepoint, *_ = read_timeline(table.storage, 9).instants
    assert (newest.action, newest.request_id, newest.undone) == (
        "restore",
        "dag/run/back",
        (table.second.requested_time,),
    )
    assert newest.undo_reason == f"the table was restored to savepoint {table.first.requested_time}"
    assert (savepoint.action, savepoint.request_id) == ("savepoint", "dag/run/keep")


def test_an_unknown_instant_is_refused_with_the_newest_writes() -> None:
    table = new_table(TableVersion.V9)
    with pytest.raises(InvalidRequestError, match="has no instant 20200101000000000") as refused:
        read_commit(table.storage, "20200101000000000")
    assert table.second.requested_time in refused.value.hint


@pytest.mark.parametrize("read", [read_table_state, read_files, read_partitions, read_schema])
def test_a_missing_table_is_refused(read: object) -> None:
    with pytest.raises(TableNotFoundError):
        read(MemoryStorage(f"lake/{uuid4().hex}"))  # type: ignore[operator]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", GOLDEN_VERSIONS, ids=str)
def test_tables_of_hudi_have_all_views(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    table.put_data_files()
    overview, files = read_table_state(table.storage), read_files(table.storage)
    stored = {file for sizes in table.files.values() for file in sizes}
    assert files.files
    assert {each.name for each in files.files if each.name} <= stored
    assert (overview.file_count, overview.size_bytes) == (
        len(files.files),
        sum(each.size_bytes for each in files.files),
    )
    if name == "copy_on_write":
        assert overview.row_count == len(table.expected["rows"])
    timeline = read_timeline(table.storage, 100)
    assert {each.instant_time for each in timeline.instants} == {
        each.requested_time for each in table.timeline
    }
    for each in timeline.instants:
        assert each.instant_time in shown(read_commit(table.storage, each.instant_time))
    for view in (overview, files, timeline, read_partitions(table.storage), read_schema(table.storage)):
        assert view.table_name in shown(view)
