"""The views of tables that the server returns over HTTP."""

import time
from urllib.parse import unquote

import pytest
from page_server import NASTY, Server

from airflow_hudi_provider.pages.views import VIEWS
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.stores.local import LocalStorage


def get_view(server: Server, name: str, view: str, query: str = ""):
    return server.request(f"/hudi/api/tables/{server.table_id(name)}/{view}{query}", "vera")


def test_the_list_has_the_tables_of_assets_and_of_the_configuration(server: Server) -> None:
    names = [table["name"] for table in server.request("/hudi/api/tables", "admin")[1]]
    assert names == [
        *(NASTY, "aged", "indexed", "landing", "logged", "missing"),
        *("orders", "refunds", "secret", "sized", "stuck"),
    ]


def test_the_health_view_describes_the_table(server: Server) -> None:
    status, stuck, _ = get_view(server, "stuck", "health")
    assert status == 200
    assert stuck["measures"]["dead_instants"] == 1
    assert stuck["pending"][0]["next_step"]
    assert stuck["times_ms"]["last_commit"] > 1_700_000_000_000


def test_the_history_view_lists_instants(server: Server) -> None:
    _, history, _ = get_view(server, "orders", "history")
    assert history["instant_count"] == len(history["instants"]) == 20
    assert [point["files"] for point in history["sizes"]] == [1, 2, 3] + [4] * 17
    assert history["sizes"][-1]["counts"] == [4, 0, 0, 0]
    assert [each["is_small"] for each in history["size_classes"]] == [True, True, False, False]
    assert history["instants"][3]["by"] == {
        "dag_id": "load",
        "run_id": "run 3",
        "task_id": "write",
        "map_index": "",
    }


def test_the_history_view_shows_a_savepoint_and_its_commit_as_different_instants(server: Server) -> None:
    _, history, _ = get_view(server, "stuck", "history")
    written, saved = (
        each for each in history["instants"] if each["instant"] == history["sizes"][0]["instant"]
    )
    assert (written["action"], written["files_written"], written["by"]["task_id"]) == ("commit", 1, "write")
    assert saved["action"] == "savepoint"
    assert saved["by"]["task_id"] == "keep"
    assert not saved.keys() & {"operation", "rows", "files_written"}


def test_the_history_view_names_the_instants_that_a_rollback_undid(server: Server) -> None:
    _, history, _ = get_view(server, "stuck", "history")
    undone = {each["action"]: each.get("undone") for each in history["instants"]}
    assert [name for name, times in undone.items() if times] == ["rollback"]
    assert len(undone["rollback"]) == 1
    assert undone["rollback"][0] not in [each["instant"] for each in history["instants"]]
    tasks = {
        each["action"]: (each["by"] or {}).get("task_id") for each in history["instants"] if "by" in each
    }
    assert (tasks["rollback"], tasks["savepoint"]) == ("undo", "keep")
    reasons = {each["action"]: each.get("undo_reason") for each in history["instants"]}
    assert reasons["rollback"] == "a user requested the rollback"


def test_the_history_view_includes_archived_instants(server: Server) -> None:
    _, history, _ = get_view(server, "aged", "history")
    assert history["archived_count"] == 10
    assert history["instant_count"] == len(history["instants"]) == 12
    assert all(each["files_written"] == 1 for each in history["instants"])
    assert [point["files"] for point in history["sizes"]] == list(range(1, 13))
    assert history["end"].startswith("No older writes are known")
    _, short, _ = get_view(server, "orders", "history")
    assert (short["archived_count"], short["end"]) == (0, history["end"])


def test_the_link_of_a_task_leads_to_the_page_of_its_table(server: Server) -> None:
    address = f"/api/v2/dags/shown/dagRuns/{server.run_of('shown')}/taskInstances"
    status, body, _ = server.request(f"{address}/health/links", "vera")
    page = f"plugin/hudi-tables?table={server.table_id('orders')}"
    assert (status, body["extra_links"]) == (200, {"Hudi table": page, "Spark UI": None})
    _, body, _ = server.request(f"{address}/elsewhere/links", "vera")
    assert body["extra_links"] == {"Hudi table": None, "Spark UI": None}


def test_the_plan_view_shows_a_clustering_plan(server: Server) -> None:
    _, plan, _ = get_view(server, "orders", "plan")
    assert [group["input_files"] for group in plan["groups"]] == [2, 2]
    assert "20 commits" in plan["commits"]
    _, none, _ = get_view(server, "stuck", "plan")
    assert none["groups"] == []
    assert none["reason"]


def test_the_views_show_log_files_and_compactions(server: Server) -> None:
    _, overview, _ = get_view(server, "logged", "overview")
    assert (overview["table_type"], overview["files"], overview["log_files"]) == ("MERGE_ON_READ", 2, 2)
    _, body, _ = get_view(server, "logged", "partitions", "?sort=log_files")
    assert [(each["path"], each["log_files"]) for each in body["rows"]] == [("north", 1), ("south", 1)]
    _, history, _ = get_view(server, "logged", "history")
    compactions = [
        (each["action"], each["state"], (each["by"] or {}).get("task_id"))
        for each in history["instants"]
        if each.get("operation") == "compact"
    ]
    assert compactions == [("commit", "completed", "compact")]
    pending = [each["action"] for each in history["instants"] if each["state"] != "completed"]
    assert pending == ["compaction"]
    _, health, _ = get_view(server, "logged", "health")
    assert [(each["action"], each["file_groups"]) for each in health["pending"]] == [("compaction", 1)]


def test_the_sources_view_counts_commits_only_of_tables_that_the_user_may_see(server: Server) -> None:
    _, body, _ = get_view(server, "stuck", "sources")
    orders, secret, unknown = body["sources"]
    assert (orders["chain"], orders["name"], orders["table_id"]) == ("a", "orders", server.table_id("orders"))
    assert (orders["commits"], orders["is_exact"], orders["position"]) == (20, True, "20200101000000000")
    assert orders["since_ms"] > orders["position_ms"] > 1_500_000_000_000
    assert secret == {"table_id": None, "is_hidden": True}
    assert (unknown["base_path"], unknown["table_id"]) == (f"{server.folder}/unknown", None)
    assert "commits" not in unknown
    _, body, _ = server.request(f"/hudi/api/tables/{server.table_id('stuck')}/sources", "admin")
    assert [each["is_hidden"] for each in body["sources"]] == [False, False, False]
    _, none, _ = get_view(server, "orders", "sources")
    assert none["sources"] == []


def test_the_compaction_view_shows_the_log_files_that_no_plan_contains(server: Server) -> None:
    _, plan, _ = get_view(server, "logged", "compaction")
    assert [(each["partition_path"], each["log_files"]) for each in plan["partitions"]] == [("north", 1)]
    assert plan["log_bytes"] > 0
    assert any("pending compaction" in reason for reason in plan["skipped"])
    assert "hoodie.compact.inline.max.delta.commits" in plan["trigger"]
    _, none, _ = get_view(server, "orders", "compaction")
    assert none["is_merge_on_read"] is False


def test_a_missing_table_is_reported(server: Server) -> None:
    status, body, _ = get_view(server, "missing", "health")
    assert status == 404
    assert "There is no Hudi table" in body["detail"]


def test_a_table_that_does_not_exist_yet_is_no_error(server: Server) -> None:
    for view in ("overview", "summary"):
        status, body, _ = get_view(server, NASTY, view)
        assert (status, body["exists"], body["last_failure"], body["writers"]) == (200, False, None, [])


@pytest.mark.parametrize("view", ["overview", "summary"])
def test_an_unreadable_table_is_reported_with_its_users_and_failed_runs(server: Server, view: str) -> None:
    status, body, _ = get_view(server, "landing", view)
    assert (status, body["kind"]) == (404, "TableNotFoundError")
    assert "the folder contains 'orders.csv'" in body["detail"]
    assert body["hint"].startswith("Check the base path: it is the folder that contains .hoodie.")
    assert (body["name"], body["base_path"]) == ("landing", f"{server.folder}/landing")
    users = [(each["dag_id"], each["task_id"]) for each in (*body["writers"], *body["others"])]
    failed = [(each["dag_id"], each["task_id"]) for each in (body["last_failure"], *body["earlier_failures"])]
    assert sorted(users) == sorted(failed) == [("astray", "check"), ("astray", "clean")]
    assert body["last_failure"]["ended_ms"] >= body["earlier_failures"][0]["ended_ms"]


@pytest.mark.parametrize("view", ["overview", "summary"])
def test_the_overview_has_totals_and_users(server: Server, view: str) -> None:
    status, body, _ = get_view(server, "orders", view)
    assert (status, body["exists"]) == (200, True)
    assert (body["files"], body["partition_count"], body["size_bytes"], body["rows"]) == (4, 2, 16, 0)
    assert (body["record_key"], body["partition_fields"], body["table_version"]) == (["id"], ["city"], 9)
    assert (body["last_commit"]["operation"], body["lock"]) == ("upsert", None)
    assert body["limits"]["small_file_limit_bytes"] == 100 << 20
    assert {"dag_id": "shown", "task_id": "health"} in body["writers"]
    assert "hidden" not in str(body["writers"])
    assert body["as_of_ms"] > 1_700_000_000_000


def test_the_overview_names_the_task_that_holds_the_lock(server: Server) -> None:
    storage = LocalStorage(str(server.folder / "aged"))
    with FileSystemLock(storage, request_id="load/manual__1/upsert/3"):
        _, body, _ = get_view(server, "aged", "overview", "?fresh=true")
    assert body["lock"]["by"] == {
        "dag_id": "load",
        "run_id": "manual__1",
        "task_id": "upsert",
        "map_index": "3",
    }


def test_partitions_are_searched_sorted_and_paged(server: Server) -> None:
    def paths(query: str) -> list[str]:
        _, body, _ = get_view(server, "orders", "partitions", query)
        return [each["path"] for each in body["rows"]]

    assert paths("") == ["2026-01", NASTY]
    assert paths("?descending=true") == [NASTY, "2026-01"]
    assert paths("?sort=last_write_ms&descending=true") == [NASTY, "2026-01"]
    assert paths("?search=IMG") == [NASTY]
    assert paths("?offset=1") == [NASTY]
    assert paths("?offset=-5") == ["2026-01", NASTY]
    assert paths("?sort=nothing&search=nothing") == []


def test_the_files_of_a_partition_are_listed(server: Server) -> None:
    _, body, _ = get_view(server, "orders", "files", "?partition=2026-01&sort=written_ms&descending=true")
    assert (body["count"], [each["file_id"] for each in body["rows"]]) == (2, ["f2", "f0"])
    assert all(each["is_small"] and each["size_bytes"] == 4 for each in body["rows"])
    _, none, _ = get_view(server, "orders", "files", "?partition=nothing")
    assert (none["count"], none["rows"]) == (0, [])


def test_the_schema_view_names_keys_and_versions(server: Server) -> None:
    _, body, _ = get_view(server, "orders", "schema")
    assert (body["columns"], body["keys"]["record key"], len(body["versions"])) == ([], ["id"], 1)
    assert body["is_whole"] is True


def test_the_settings_view_has_the_properties(server: Server) -> None:
    _, body, _ = get_view(server, "orders", "settings")
    assert body["properties"]["hoodie.table.recordkey.fields"] == "id"


def test_a_table_with_a_dead_write_needs_attention(server: Server) -> None:
    _, body, _ = get_view(server, "stuck", "summary")
    assert (body["status"], body["measures"]["dead_instants"]) == ("warning", 1)


def test_a_request_for_a_fresh_view_reads_the_table_again_after_two_seconds(server: Server) -> None:
    first = get_view(server, "aged", "settings")[1]["as_of_ms"]
    assert get_view(server, "aged", "settings")[1]["as_of_ms"] == first
    time.sleep(2.1)
    assert get_view(server, "aged", "settings", "?fresh=true")[1]["as_of_ms"] > first


def test_the_view_of_a_run_without_started_hudi_tasks_lists_no_tasks(server: Server) -> None:
    run_id = server.run_of("shown")
    status, run, _ = server.request(f"/hudi/api/dags/shown/runs/{run_id}?task_id=t&map_index=3", "vera")
    assert status == 200
    assert run == {"dag_id": "shown", "run_id": unquote(run_id), "task_id": "t", "tasks": []}


def test_an_unknown_run_is_reported(server: Server) -> None:
    status, body, _ = server.request("/hudi/api/dags/shown/runs/a/b", "vera")
    assert (status, body) == (404, {"detail": "There is no such run."})


def test_a_task_that_failed_without_a_result_is_listed(server: Server) -> None:
    run = server.request(f"/hudi/api/dags/broken/runs/{server.run_of('broken')}", "vera")[1]
    tasks = {task["task_id"]: task for task in run["tasks"]}
    assert tasks.keys() == {"early", "unconnected", "refused", "after"}  # the sensor returned a value
    after, refused = tasks["after"], tasks["refused"]
    assert (after["task_id"], after["state"]) == ("after", "upstream_failed")
    assert refused == {
        "task_id": "refused",
        "map_index": -1,
        "operator": "HudiTableHealthOperator",
        "state": "failed",
        "failure": refused["failure"],
        "table_id": server.table_id("orders"),
        "page_name": "orders",
    }
    failure = refused["failure"]
    assert failure["kind"] == "InvalidRequestError"
    assert failure["table_now"] == "The job wrote nothing."


def test_a_skipped_task_is_listed_with_the_reason_that_it_stored(server: Server) -> None:
    run = server.request(f"/hudi/api/dags/idle/runs/{server.run_of('idle')}", "vera")[1]
    (task,) = run["tasks"]
    assert (task["task_id"], task["outcome"]) == ("cluster", "nothing_to_do")
    assert task["reason"] == "a clustering is due after 2 commits; the table has 1"
    assert task["page_name"] == "orders"


def test_the_view_of_a_run_has_the_durations_of_a_service(server: Server) -> None:
    run = server.request(f"/hudi/api/dags/shown/runs/{server.run_of('shown')}?task_id=health", "vera")[1]
    assert run["tasks"][0]["timings_s"].keys() == {"read table"}


def test_tasks_are_listed_in_the_order_of_their_start(server: Server) -> None:
    run = server.request(f"/hudi/api/dags/broken/runs/{server.run_of('broken')}", "vera")[1]
    order = [task["task_id"] for task in run["tasks"]]
    assert order.index("refused") < order.index("after")
    assert order.index("early") < order.index("unconnected")


def test_an_unknown_view_is_reported(server: Server) -> None:
    status, body, _ = server.request(f"/hudi/api/tables/{server.table_id('orders')}/rows", "vera")
    assert (status, body) == (
        404,
        {"detail": "There is no such view. Views of a table: " + ", ".join(VIEWS) + "."},
    )
