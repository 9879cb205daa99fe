"""Build the FastAPI application of the pages. The plugin mounts the application at ``/hudi``.

Routes only read, and every route checks permissions.
"""

from collections.abc import Awaitable, Callable, Container, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.pages.access import (
    MAY_SEE_PLUGINS,
    MAY_SEE_TASK_INSTANCES,
    MAY_SEE_XCOMS,
    User,
    may_see,
    may_see_runs,
)
from airflow_hudi_provider.pages.content_views import Wanted
from airflow_hudi_provider.pages.last_failures import last_failures
from airflow_hudi_provider.pages.registered_tables import registered_tables
from airflow_hudi_provider.pages.run_views import run_view
from airflow_hudi_provider.pages.source_views import without_hidden_sources
from airflow_hudi_provider.pages.table_users import TableUsers, users_of_tables
from airflow_hudi_provider.pages.views import VIEWS
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.errors import HudiTableServiceError, StorageError, TableNotFoundError

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_PUBLIC = ("errors.html", "hudi.css", "icon.svg", "js/theme.js")
"""The page about the errors and the files that it loads. They contain only documentation, and need no login.

Logs of tasks link to the page. After a login, a browser would not find the section that the link names.
"""

_NO_TABLE = (
    "There is no such table, or no DAG names it as an asset. A mapped task, or a task whose table comes from a "
    "template, does not declare its table: list its HudiAsset in the outlets of a task."
)

# Browsers load content from this server only and run no inline code, so a table's name cannot run as a script.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_ASSETS = {
    path.relative_to(STATIC).as_posix(): path
    for path in sorted(STATIC.rglob("*"))
    if path.suffix in MEDIA_TYPES
}


def build_app() -> FastAPI:
    """Build a new application."""
    app = FastAPI(
        title="Hudi tables", dependencies=[MAY_SEE_PLUGINS], docs_url=None, redoc_url=None, openapi_url=None
    )
    app.middleware("http")(_with_headers)
    app.exception_handler(HudiTableServiceError)(_error_response)
    app.exception_handler(HudiTaskRefusedError)(_error_response)
    app.get("/")(index)
    for name in _PUBLIC:
        # The permission of the application covers only routes of `app.get`.
        app.add_route(f"/static/{name}", _public(name))
    app.get("/static/{name:path}")(static)
    app.get("/api/tables")(tables)
    app.get("/api/tables/{table_id}/{view}", response_model=None)(table)
    app.get("/api/dags/{dag_id}/runs/{run_id:path}", dependencies=[MAY_SEE_XCOMS, MAY_SEE_TASK_INSTANCES])(
        run
    )
    return app


def index() -> FileResponse:
    """Return the only HTML page. A script in the page shows the content that the URL of the page selects."""
    return static("index.html")


def static(name: str) -> FileResponse:
    """Return a static file. The name is a key of a fixed dictionary, so a request cannot read any other file."""
    if name not in _ASSETS:
        raise HTTPException(404, "There is no such file.")
    path = _ASSETS[name]
    return FileResponse(path, media_type=MEDIA_TYPES[path.suffix])


def _public(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def respond(_: Request) -> Response:
        return static(name)

    return respond


def tables(user: User) -> list[dict[str, Any]]:
    """Return the tables that the user may see, sorted by name, with the DAGs that write them."""
    users, may_see_tasks = users_of_tables(), _may_see_tasks(user)
    return [
        {
            "id": each.table_id,
            "name": each.name,
            "base_path": each.base_path,
            "asset_id": each.asset_id,
            **users.get(each.table_id, TableUsers()).shown(may_see_tasks),
        }
        for each in registered_tables()
        if may_see(user, each)
    ]


def table(
    table_id: str, view: str, user: User, wanted: Annotated[Wanted, Depends()]
) -> dict[str, Any] | JSONResponse:
    """Return a view of one table. If the user may not see the table, respond as if the table did not exist.

    If the table cannot be read, the response is the error, with what Airflow knows about the table.
    """
    if view not in VIEWS:
        raise HTTPException(404, f"There is no such view. Views of a table: {', '.join(VIEWS)}.")
    found = next((each for each in registered_tables() if each.table_id == table_id), None)
    if found is None or not may_see(user, found):
        raise HTTPException(404, _NO_TABLE)
    may_see_tasks = _may_see_tasks(user)
    known: dict[str, Any] = {"name": found.name, "base_path": found.base_path, "asset_id": found.asset_id}
    is_overview = view in ("overview", "summary")
    if is_overview:
        known |= _tasks_of(table_id, may_see_tasks, fresh=wanted.fresh)
    try:
        shown = {**VIEWS[view](found, wanted), **known}
    except (HudiTableServiceError, HudiTaskRefusedError) as error:
        return _unreadable(error, known)
    if is_overview and shown.get("last_commit"):
        shown["last_commit"] = _without_hidden_run(shown["last_commit"], may_see_tasks)
    if "sources" in shown:
        visible = {each.table_id for each in registered_tables() if may_see(user, each)}
        shown["sources"] = without_hidden_sources(shown["sources"], visible)
    if "instants" in shown:
        shown["instants"] = [_without_hidden_run(each, may_see_tasks) for each in shown["instants"]]
    return shown


def _tasks_of(table_id: str, may_see_tasks: Callable[[str], bool], *, fresh: bool) -> dict[str, Any]:
    """Return the tasks and DAGs of a table, and the last failed run of each task without a later success."""
    users = users_of_tables().get(table_id, TableUsers())
    failures = last_failures(table_id, users, may_see_tasks, fresh=fresh)
    last = failures[0] if failures else None
    return {**users.shown(may_see_tasks), "last_failure": last, "earlier_failures": failures[1:]}


def _may_see_tasks(user: User) -> Callable[[str], bool]:
    """Return a function that returns whether the user may see the runs of a DAG. Each DAG is checked once."""
    return cache(lambda dag_id: may_see_runs(user, dag_id))


def _without_hidden_run(written: dict[str, Any], may_see_tasks: Callable[[str], bool]) -> dict[str, Any]:
    """Remove the name of a task whose runs the user may not see. The function does not change the cached view."""
    by = written.get("by")
    return {**written, "by": None} if by and not may_see_tasks(by["dag_id"]) else written


def run(
    user: User, dag_id: str, run_id: str, task_id: str = "", map_index: int | None = None
) -> dict[str, Any]:
    """Return the results of the Hudi tasks of a run, with the ids of their tables if the user may see the tables."""
    found = run_view(dag_id, run_id, task_id, map_index)
    if found is None:
        raise HTTPException(404, "There is no such run.")
    visible = {each.table_id: each.name for each in registered_tables() if may_see(user, each)}
    ids = [_table_id_of(each, visible) for each in found["tasks"]]
    pages = [{"table_id": each, "page_name": visible.get(each or "")} for each in ids]
    return {**found, "tasks": [{**task, **page} for task, page in zip(found["tasks"], pages, strict=True)]}


def _table_id_of(task: dict[str, Any], visible: Container[str]) -> str | None:
    path = task.get("base_path") or (task.get("failure") or {}).get("table") or ""
    table_id = RegisteredTable.of("", path, None, None).table_id if path else ""
    return table_id if table_id in visible else None


async def _with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call_next(request)
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    is_vendored = "/static/vendor/" in request.url.path
    response.headers["Cache-Control"] = "private, max-age=86400" if is_vendored else "no-cache"
    return response


async def _error_response(request: Request, error: Exception) -> JSONResponse:
    return _unreadable(error, {})


def _unreadable(error: Exception, known: Mapping[str, Any]) -> JSONResponse:
    """Return an error of this package with the facts that are known without a read of the table."""
    if isinstance(error, HudiTableServiceError):
        status = (
            404 if isinstance(error, TableNotFoundError) else 502 if isinstance(error, StorageError) else 422
        )
        answer = {"kind": error.kind, "detail": error.message, "hint": error.hint}
    else:
        status, answer = 422, {"kind": type(error).__name__, "detail": str(error), "hint": ""}
    return JSONResponse({**answer, **known}, status)
