"""Fixtures of this folder: the server of the pages, a browser that is logged in, and a page."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_server import (
    HEALTHY,
    NASTY,
    PICTURES,
    REPOSITORY,
    SIZED,
    STUCK,
    Server,
    aged_table,
    healthy_table,
    indexed_table,
    logged_table,
    register,
    run_dags,
    run_dags_of_pictures,
    run_failing_dag,
    secret_table,
    stuck_table,
)

from support.airflow.browser import logged_in

sys.path.insert(0, str(REPOSITORY / "scripts"))

from airflow_stack.stack import AirflowStack

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = Path("/tmp/lake") if PICTURES else tmp_path_factory.mktemp("pages")
    (folder / "dags").mkdir(parents=True)
    healthy_table(folder / "orders")
    stuck_table(folder / STUCK)
    secret_table(folder / HEALTHY)
    configured = {}
    if not PICTURES:
        aged_table(folder / "aged")
        indexed_table(folder / "indexed")
        logged_table(folder / "logged")
        names = (STUCK, NASTY, "aged", "indexed", "logged")
        configured = {name: {"base_path": f"{folder}/{name}"} for name in names}
        configured[SIZED] = {"base_path": f"{folder}/{SIZED}"}
        configured["missing"] = {"base_path": f"{folder}/nowhere"}
    variables = {
        "AIRFLOW__CORE__AUTH_MANAGER": "strict_auth_manager.StrictAuthManager",
        "AIRFLOW__HUDI__TABLES": json.dumps(configured),
        # The server must import the packages of this checkout, even if the environment was made for another checkout.
        "PYTHONPATH": os.pathsep.join(
            map(str, (Path(__file__).parent, REPOSITORY, REPOSITORY / "spark_jobs"))
        ),
    }
    stack = AirflowStack(folder / "airflow", folder / "dags", variables, components=["api-server"])
    with stack:
        dags = folder / "dags"
        if PICTURES:
            run_dags_of_pictures(stack, dags, folder)
        else:
            register(stack, {name: f"hudi://file{folder}/{name}" for name in ("orders", HEALTHY)})
            run_dags(stack, dags, folder / "orders", folder / HEALTHY)
        run_failing_dag(stack, dags, folder)
        yield Server(stack)


@pytest.fixture(scope="module")
def browser_context(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Chromium in which an administrator has logged in through the form.

    The fixture has the scope of a module, because no other event loop can run while Playwright runs.
    """
    with logged_in(server.url, server.password, tmp_path_factory.mktemp("browser")) as context:
        yield context


@pytest.fixture
def page(browser_context: Any) -> Iterator["Page"]:
    """A new page. The test fails if the console of the page contains an error other than a failed response."""
    page = browser_context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    yield page
    page.close()
    assert [text for text in errors if "Failed to load resource" not in text] == []
