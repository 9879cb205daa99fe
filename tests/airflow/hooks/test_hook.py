"""The hook reads real tables without Spark."""

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import InstantQuery
from hudi_table_services.errors import InvalidRequestError, TableNotFoundError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.airflow_versions import LOOKS_UP_CONNECTIONS_ANYWHERE
from support.compaction import jobs_here
from support.compaction.written_table import NORTH, SOUTH, Deleted, WrittenTable, a_row
from support.jobs_on_tables import later
from support.small_tables import SmallTable

needs_connection_lookup = pytest.mark.skipif(
    not LOOKS_UP_CONNECTIONS_ANYWHERE, reason="test_in_dags covers missing connections on Airflow 3.1"
)


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    return SmallTable(LocalStorage(str(tmp_path / "trips")), TableVersion.V9)


def test_the_hook_reads_a_table(table: SmallTable) -> None:
    first = table.commit(FileGroupId("city=a", "a-0"), extra={REQUEST_ID_KEY: "r1"})
    table.commit(FileGroupId("city=b", "b-0"))
    pending = table.begin()
    hook = HudiHook(table.storage.base_path)
    assert hook.table_config().table_name == "trips"
    assert hook.timeline().pending == (pending,)
    assert hook.snapshot("city=a").partitions == ("city=a",)
    assert hook.snapshot().partitions == ("city=a", "city=b")
    assert hook.instants(InstantQuery(after=first.visible_from)).count == 1
    found = hook.find_request("r1")
    assert found is not None
    assert found[0].requested_time == first.requested_time
    assert hook.find_request("r2") is None
    picture = hook.table_picture()
    assert "trips: 2 files" in picture
    assert f"{pending.requested_time}  commit  INFLIGHT" in picture


def test_a_wrong_list_of_partitions_is_refused(table: SmallTable) -> None:
    table.commit(FileGroupId("city=a", "a-0"))
    hook = HudiHook(table.storage.base_path)
    with pytest.raises(InvalidRequestError, match=r"no partition 'city=b' with files. Did you mean city=a\?"):
        hook.snapshot("city=b")
    with pytest.raises(InvalidRequestError, match=r"The partition path \['city=a'\] is a list"):
        hook.snapshot(["city=a"])  # type: ignore[arg-type]
    for read in (
        lambda: hook.read_rows("city=a"),
        lambda: hook.held_plans("clustering", partitions="city=a"),
        lambda: hook.instants(InstantQuery(partitions="city=a")),  # type: ignore[arg-type]
    ):
        with pytest.raises(
            InvalidRequestError, match="partitions is the string 'city=a', but it must be a list"
        ):
            read()


def test_the_hook_finds_no_table_in_a_missing_folder(tmp_path: Path) -> None:
    hook = HudiHook(str(tmp_path / "none"))
    assert hook.find_table_config() is None
    assert hook.find_request("r") is None
    assert hook.pending_of_request("r") == ()
    with pytest.raises(TableNotFoundError):
        hook.timeline()


def test_the_base_path_combines_argument_and_connection(connections: Callable[..., None]) -> None:
    connections(
        "lake", conn_type="hudi", host="/data/lake/", extra={"spark_conn_id": "big", "result_base_path": "/r"}
    )
    location = HudiHook(hudi_conn_id="lake").location
    assert (location.base_path, location.spark_conn_id, location.result_base_path) == (
        "/data/lake",
        "big",
        "/r",
    )
    assert HudiHook("trips", hudi_conn_id="lake").location.base_path == "/data/lake/trips"
    assert HudiHook("s3://other/t", hudi_conn_id="lake").location.base_path == "s3://other/t"


@pytest.mark.parametrize(
    ("base_path", "conn_id", "message"),
    [
        (None, None, "There is no base path"),
        ("  ", None, "empty after Airflow rendered its template"),
        ("trips", None, "is relative"),
        ("trips", "rootless", "is relative"),
        (None, "rootless", "There is no base path"),
        pytest.param(
            "/t",
            "nowhere",
            "There is no connection .nowhere. .*--conn-type hudi.* AIRFLOW_CONN_NOWHERE=",
            marks=needs_connection_lookup,
        ),
        ("/t", "mistyped", "is of type 'http', not hudi"),
    ],
)
def test_the_error_describes_the_invalid_base_path_or_connection(
    base_path: str | None,
    conn_id: str | None,
    message: str,
    connections: Callable[..., None],
    airflow_db: None,
) -> None:
    connections("rootless", conn_type="hudi")
    connections("mistyped", conn_type="http", host="h")
    with pytest.raises(HudiTaskRefusedError, match=message):
        _ = HudiHook(base_path, hudi_conn_id=conn_id).location


def test_the_string_form_of_a_location_contains_no_secret_of_the_storage(
    connections: Callable[..., None],
) -> None:
    connections("minio", conn_type="aws", login="key", password="secret")
    location = HudiHook("s3://b/t", storage_conn_id="minio").location
    assert location.storage_options["aws_secret_access_key"] == "secret"
    assert "secret" not in repr(location)


def test_errors_about_moments_and_operations_name_the_argument_and_a_similar_name(table: SmallTable) -> None:
    hook = HudiHook(table.storage.base_path)
    with pytest.raises(InvalidRequestError, match="moment='yesterday' is neither an instant time"):
        hook.instant_time_of("yesterday")
    with pytest.raises(InvalidRequestError, match="no operation 'upsrt'") as refused:
        hook.commit_count(["upsrt"])
    assert refused.value.hint.startswith("Did you mean upsert? Valid operations: ")
    with pytest.raises(InvalidRequestError, match="no operation 'upsrt'") as refused:
        InstantQuery(operations=("upsrt",))
    assert refused.value.hint.startswith("Did you mean upsert? Valid names: ")


def test_the_connection_test_describes_the_table(table: SmallTable, tmp_path: Path) -> None:
    assert HudiHook(table.storage.base_path).test_connection() == (True, "Table trips, version 9.")
    assert HudiHook(str(tmp_path / "new")).test_connection()[0]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    assert not HudiHook(str(tmp_path / "other")).test_connection()[0]


def test_the_hook_reads_rows_with_and_without_log_files(tmp_path: Path) -> None:
    table = WrittenTable(LocalStorage(str(tmp_path / "logged")))
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)], SOUTH: [a_row("c", 1)]})
    table.log({NORTH: [a_row("a", 2), Deleted("b")]})
    hook = HudiHook(table.storage.base_path)
    columns = ["id", "ts"]
    assert hook.read_rows(columns=columns).to_pylist() == [{"id": "a", "ts": 2}, {"id": "c", "ts": 1}]
    stale = hook.read_rows(["north"], query_type="read_optimized", columns=columns)
    assert stale.to_pylist() == [{"id": "a", "ts": 1}, {"id": "b", "ts": 1}]


def test_the_hook_shows_log_files_and_previews_their_compaction(tmp_path: Path) -> None:
    table = WrittenTable(LocalStorage(str(tmp_path / "table")), clock=later(-1))
    group = FileGroupId("city=a", "a-0")
    table.insert({group: [a_row("k", 1)]})
    table.log({group: [a_row("k", 2)]})
    hook = HudiHook(table.storage.base_path)
    assert "1 file with 1 log file" in hook.table_picture()
    preview = hook.preview_compaction()
    assert (preview.is_preview, jobs_here.report_of(preview).plans[0].partitions[0].log_files) == (True, 1)
    history = hook.compactions()
    assert history is not None
    assert history.compactions == (), "a preview writes no plan"
    jobs_here.schedule(table.storage, later(0))
    jobs_here.execute(table.storage, later(0))
    assert "log file" not in hook.table_picture()
    assert HudiHook(str(tmp_path / "none")).compactions() is None
