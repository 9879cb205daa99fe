"""Views of tables over HTTP."""

from urllib.parse import unquote

from page_server import NASTY, Server


def ask(server: Server, name: str, view: str):
    return server.ask(f"/hudi/api/tables/{server.table_id(name)}/{view}", "vera")


def test_tables_are_those_of_assets_and_of_the_configuration(server: Server) -> None:
    names = [table["name"] for table in server.ask("/hudi/api/tables", "admin")[1]]
    assert names == [NASTY, "aged", "missing", "orders", "secret", "stuck"]


def test_health(server: Server) -> None:
    status, stuck, _ = ask(server, "stuck", "health")
    assert status == 200
    assert stuck["measures"]["dead_instants"] == 1
    assert stuck["pending"][0]["next_step"]
    assert stuck["times_ms"]["last_commit"] > 1_700_000_000_000


def test_history(server: Server) -> None:
    _, history, _ = ask(server, "orders", "history")
    assert history["instant_count"] == len(history["instants"]) == 20
    assert [point["files"] for point in history["sizes"]] == [1, 2, 3] + [4] * 17
    assert history["instants"][3]["by"] == {
        "dag_id": "load",
        "run_id": "run 3",
        "task_id": "write",
        "map_index": "",
    }


def test_history_of_what_is_archived(server: Server) -> None:
    _, history, _ = ask(server, "aged", "history")
    assert history["archived_count"] == 10
    assert history["instant_count"] == len(history["instants"]) == 12
    assert all(each["files_written"] == 1 for each in history["instants"])
    assert [point["files"] for point in history["sizes"]] == list(range(1, 13))
    assert history["end"].startswith("No older writes are known")
    _, short, _ = ask(server, "orders", "history")
    assert (short["archived_count"], short["end"]) == (0, history["end"])


def test_links_of_tasks_lead_to_the_page_of_their_table(server: Server) -> None:
    address = f"/api/v2/dags/shown/dagRuns/{server.run_of('shown')}/taskInstances"
    status, told, _ = server.ask(f"{address}/health/links", "vera")
    page = f"plugin/hudi-tables?table={server.table_id('orders')}"
    assert (status, told["extra_links"]) == (200, {"Hudi table": page, "Spark UI": None})
    _, told, _ = server.ask(f"{address}/elsewhere/links", "vera")
    assert told["extra_links"] == {"Hudi table": None, "Spark UI": None}


def test_plan(server: Server) -> None:
    _, plan, _ = ask(server, "orders", "plan")
    assert [group["input_files"] for group in plan["groups"]] == [2, 2]
    assert "20 commits" in plan["commits"]
    _, none, _ = ask(server, "stuck", "plan")
    assert none["groups"] == []
    assert none["reason"]


def test_a_table_that_is_not_there(server: Server) -> None:
    status, body, _ = ask(server, "missing", "health")
    assert status == 404
    assert "There is no Hudi table" in body["detail"]


def test_a_run_without_hudi_tasks_that_began(server: Server) -> None:
    run_id = server.run_of("shown")
    status, run, _ = server.ask(f"/hudi/api/dags/shown/runs/{run_id}?task_id=t&map_index=3", "vera")
    assert status == 200
    assert run == {"dag_id": "shown", "run_id": unquote(run_id), "task_id": "t", "tasks": []}


def test_a_run_that_there_is_not(server: Server) -> None:
    status, body, _ = server.ask("/hudi/api/dags/shown/runs/a/b", "vera")
    assert (status, body) == (404, {"detail": "There is no such run."})


def test_a_task_that_failed_before_it_returned_anything(server: Server) -> None:
    run = server.ask(f"/hudi/api/dags/broken/runs/{server.run_of('broken')}", "vera")[1]
    assert run["tasks"] == [  # and not the sensor, which has returned its answer
        {"task_id": "refused", "map_index": -1, "operator": "HudiTableHealthOperator", "state": "failed"}
    ]


def test_a_view_that_there_is_not(server: Server) -> None:
    status, body, _ = server.ask(f"/hudi/api/tables/{server.table_id('orders')}/rows", "vera")
    assert (status, body) == (
        404,
        {"detail": "There is no such view. Views of a table: health, history, plan."},
    )
