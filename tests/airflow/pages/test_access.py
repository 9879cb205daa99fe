"""Access to every route by every role, on a real API server."""

import re

import pytest
from page_server import Server

USERS = ("vera", "uma", "olga", "admin")
PUBLIC = ("errors.html", "hudi.css", "icon.svg", "js/theme.js")
"""The page about errors, to which logs link, and its files. They contain no data of the deployment."""


def addresses(server: Server) -> list[str]:
    from airflow_hudi_provider.pages.app import STATIC, build_app
    from airflow_hudi_provider.pages.views import VIEWS

    orders = server.table_id("orders")
    known = {
        **{f"/static/{name}": [f"/static/{name}"] for name in PUBLIC},
        "/": ["/"],
        "/static/{name:path}": [
            f"/static/{path.relative_to(STATIC).as_posix()}"
            for path in STATIC.rglob("*")
            if path.is_file() and path.suffix
        ],
        "/api/tables": ["/api/tables"],
        "/api/tables/{table_id}/{view}": [f"/api/tables/{orders}/{view}" for view in VIEWS],
        "/api/dags/{dag_id}/runs/{run_id:path}": [f"/api/dags/shown/runs/{server.run_of('shown')}"],
    }
    routes = {route.path for route in build_app().routes}
    assert routes == known.keys(), "every route needs a test of its permissions"
    return [f"/hudi{path}" for paths in known.values() for path in paths]


def test_every_route_requires_a_role(server: Server) -> None:
    public = [f"/hudi/static/{name}" for name in PUBLIC]
    for address in addresses(server):
        assert server.request(address)[0] == (200 if address in public else 401), address
        for user in USERS:
            assert server.request(address, user)[0] == 200, (address, user)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_no_route_accepts_an_http_method_that_changes_data(server: Server, method: str) -> None:
    for address in addresses(server):
        assert server.request(address, "admin", method)[0] == 405, address


def test_an_asset_without_permission_is_reported_as_missing(server: Server) -> None:
    secret = server.table_id("secret")
    for user in ("vera", "uma", "olga"):
        names = [table["name"] for table in server.request("/hudi/api/tables", user)[1]]
        assert "secret" not in names
        assert "orders" in names
        status, body, _ = server.request(f"/hudi/api/tables/{secret}/health", user)
        assert (status, body) == server.request("/hudi/api/tables/nothing/health", user)[:2]
        assert status == 404
    assert server.request(f"/hudi/api/tables/{secret}/health", "admin")[0] == 200


def test_runs_of_a_dag_without_permission_are_not_shown(server: Server) -> None:
    run, shown = server.run_of("hidden"), server.run_of("shown")
    addresses = [f"/hudi/api/dags/hidden/runs/{run}", f"/hudi/api/dags/hidden/runs/{run}?task_id=health"]
    for address in addresses:
        for user in ("vera", "uma", "olga"):
            status, body, _ = server.request(address, user)
            assert status == 403
            assert body.keys() == {"detail"}
        tasks = server.request(address, "admin")[1]["tasks"]
        assert "health" in [each["task_id"] for each in tasks]
    for user in USERS:
        shown_tasks = server.request(f"/hudi/api/dags/shown/runs/{shown}?task_id=health", user)[1]["tasks"]
        assert [each["operation"] for each in shown_tasks] == ["table_health"]


def test_a_table_does_not_reveal_the_hidden_run_that_wrote_it(server: Server) -> None:
    address = f"/hudi/api/tables/{server.table_id('orders')}/history"
    # The administrator sends the first request, because the server caches a view for all users.
    for user in USERS:
        server.request(address, "admin")
        _, history, _ = server.request(address, user)
        writers = [each["by"] and each["by"]["dag_id"] for each in history["instants"][:4]]
        assert writers == ["hidden" if user == "admin" else None, "load", "load", "load"]
        assert ("hidden" in str(history)) == (user == "admin")


@pytest.mark.parametrize(
    "path",
    [
        "/hudi/static/../app.py",
        "/hudi/static/..%2fapp.py",
        "/hudi/static/%2e%2e/app.py",
        "/hudi/static//etc/passwd",
        "/hudi/api/tables/..%2f..%2fetc/health",
        "/hudi/openapi.json",
        "/hudi/docs",
    ],
)
def test_the_server_returns_no_other_files_and_no_other_tables(server: Server, path: str) -> None:
    assert server.request(path, "admin")[0] == 404


def test_the_page_about_errors_loads_only_files_that_need_no_login(server: Server) -> None:
    _, page, headers = server.request("/hudi/static/errors.html")
    assert {"errors.html", *re.findall(r'(?:src|href)="([^#"]+)"', page)} == set(PUBLIC)
    assert headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in headers["content-security-policy"]


def test_responses_have_security_headers(server: Server) -> None:
    for user in ("", "admin"):
        headers = server.request("/hudi/", user)[2]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
