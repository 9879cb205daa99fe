"""All tabs of small and large tables on a narrow screen, in both themes, with the load time of each tab."""

import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_server import PICTURES, REPOSITORY, SIZED, Server

from airflow_hudi_provider.pages.views import VIEWS
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.skipif(PICTURES, reason="no picture shows these tables")
_LOG = logging.getLogger(__name__)
WIDTH = 390
TABS = {
    "overview": "About this table",
    "partitions": "Last write",
    "files": "Partition p=0",
    "schema": "History",
    "timeline": "Services that ran",
    "settings": "Properties of the table",
}
"""Maps a tab to a text that the tab shows when its data is loaded."""
_ARE_INSIDE = "cells => cells.every((each) => each.getBoundingClientRect().right <= window.innerWidth)"
_LEGEND = (
    "e => { const o = echarts.getInstanceByDom(e).getOption(); return [o.legend[0].type, o.grid[0].top]; }"
)
_MANY = (
    "import sys; from pathlib import Path; from metadata import make_table; make_table(Path(sys.argv[1]), 10)"
)


def table_of(files: int) -> Callable[[Path], None]:
    def create(folder: Path) -> None:
        table = SmallTable(LocalStorage(str(folder)), TableVersion.V6)
        groups = [FileGroupId(f"p={number % 4}", f"f{number}") for number in range(files)]
        schema = '{"type":"record","name":"r","fields":[{"name":"id","type":"string"}]}'
        table.commit(*groups, schema=schema)

    return create


def large_table(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", _MANY, folder], cwd=REPOSITORY / "benchmarks", check=True)


def measured(page: "Page", address: str, text: str) -> float:
    """Open a page. Return the seconds until the page shows the text and no part of the page is still being loaded."""
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(address)
    page.locator(f"text={text}").first.wait_for(timeout=120_000)
    page.locator("text=/[Rr]eading /").first.wait_for(state="detached", timeout=120_000)
    return time.perf_counter() - started


@pytest.mark.parametrize(
    ("files", "create"),
    [
        (1, table_of(1)),
        (20, table_of(20)),
        pytest.param(10_000, large_table, marks=pytest.mark.thorough),
    ],
)
def test_all_tabs_fit_on_a_narrow_screen(
    browser_context: Any, page: "Page", server: Server, files: int, create: Callable[[Path], None]
) -> None:
    """The fixture `page` fails this test if a script has an error.

    The tables of all sizes have the same registered path, one after another.
    """
    folder = server.folder / SIZED
    if folder.exists():
        folder.rename(server.folder / f"before-{files}")
    create(folder)
    table_id = server.table_id(SIZED)
    for view in VIEWS:  # the server caches the views of the previous table for some seconds
        server.request(f"/hudi/api/tables/{table_id}/{view}?fresh=true", "admin")
    page.set_viewport_size({"width": WIDTH, "height": 800})
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        for tab, text in TABS.items():
            part = "/p%3D0" if tab == "files" else ""
            seconds = measured(page, f"{server.url}/hudi/?table={table_id}#{tab}{part}", text)
            _LOG.info("%s files, %s, %s: %.2f s", files, theme, tab, seconds)
            assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH, (theme, tab)
            assert page.locator(".notice[role=alert]").count() == 0, (theme, tab)
            if tab == "settings":
                assert page.locator("td").evaluate_all(_ARE_INSIDE), theme
            if tab == "timeline":
                assert page.locator(".chart.tall").evaluate(_LEGEND) == ["plain", 100], theme
