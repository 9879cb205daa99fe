"""Tests of the pages in a browser (Chromium)."""

import re
from typing import TYPE_CHECKING

import pytest
from page_server import LANDING, NASTY, PICTURES, STUCK, Server

from support.airflow import browser

if TYPE_CHECKING:
    from playwright.sync_api import Page


TITLES = {"overview": "About this table", "timeline": "Services that ran", "schema": "History"}
"""Maps a tab to a title that the tab shows when its data is loaded."""


def keep(page: "Page", name: str) -> None:
    """Save a picture for the docs if PICTURES=1 is set."""
    browser.keep(page, name, is_wanted=PICTURES)


def open_table(page: "Page", server: Server, name: str, tab: str = "overview") -> None:
    # Without this blank page, an address that differs only in the tab would not load the page again.
    page.goto("about:blank")
    page.goto(f"{server.url}/hudi/?table={server.table_id(name)}#{tab}")
    page.wait_for_selector(f"text={TITLES[tab]}")
    page.wait_for_selector("text=/[Rr]eading /", state="detached")


def test_a_user_can_open_a_table_with_the_keyboard(page: "Page", server: Server) -> None:
    page.set_viewport_size({"width": 1280, "height": 620})
    page.goto(f"{server.url}/plugin/hudi-tables")
    frame = page.frame_locator("iframe")
    frame.locator(".badge", has_text="needs attention").first.wait_for()
    frame.locator("text=Reading …").first.wait_for(state="detached")
    assert frame.locator("tbody tr").count() == (4 if PICTURES else 11)
    assert frame.locator("tr", has_text="refunds").locator("text=not created yet").first.is_visible()
    keep(page, "hudi-tables")
    link = frame.get_by_role("link", name="orders", exact=True)
    link.focus()
    page.keyboard.press("Enter")
    frame.locator("h1", has_text="orders").wait_for()
    frame.locator("text=About this table").wait_for()


@pytest.mark.skipif(PICTURES, reason="no picture shows this DAG")
def test_the_link_of_a_task_opens_the_page_of_its_table(page: "Page", server: Server) -> None:
    page.goto(f"{server.url}/dags/shown/runs/{server.run_of('shown')}/tasks/health/details")
    page.get_by_role("link", name="Hudi table", exact=True).click()
    frame = page.frame_locator("iframe")
    frame.locator("h1", has_text="orders").wait_for()
    frame.locator("a", has_text="All Hudi tables").click()
    frame.locator("h1", has_text="Hudi tables").wait_for()


@pytest.mark.skipif(PICTURES, reason="no picture shows this table")
def test_the_page_of_a_table_shows_where_the_known_history_ends(page: "Page", server: Server) -> None:
    open_table(page, server, "aged", "timeline")
    assert page.locator("text=The chart includes 10 archived writes").is_visible()
    assert page.locator("text=No older writes are known").is_visible()
    limits = page.locator("section", has=page.get_by_role("heading", name="Limits of cleaning and archival"))
    assert "With Hudi's default settings." in limits.inner_text()


@pytest.mark.skipif(PICTURES, reason="no picture shows this table")
def test_the_page_shows_the_state_of_the_metadata_table(page: "Page", server: Server) -> None:
    open_table(page, server, "indexed")
    section = page.locator("section", has=page.get_by_role("heading", name="Metadata table"))
    assert section.locator("text=column_stats, files").is_visible()
    assert section.locator("text=: not listed").is_visible()
    assert section.locator("text=Jobs refuse changes").is_visible()
    facts = section.inner_text()
    assert re.search(r"Last compaction\s+\d{17}\s+Commits since then\s+\d+ commits?\s", facts), facts
    assert re.search(r"Waiting for compaction\s+\d+ log files?, [\d.]+ \w+", facts), facts


@pytest.mark.skipif(PICTURES, reason="no picture shows this table")
def test_the_page_of_a_merge_on_read_table_shows_log_files_and_compactions(
    page: "Page", server: Server
) -> None:
    open_table(page, server, "logged")
    section = page.locator("section", has=page.get_by_role("heading", name="Compaction"))
    assert section.locator("text=A compaction would merge 1 log file").is_visible()
    assert page.locator("dt", has_text="Log files").is_visible()
    page.get_by_role("link", name="Partitions", exact=True).click()
    page.get_by_role("button", name="Log files").wait_for()
    open_table(page, server, "logged", "timeline")
    assert page.get_by_role("cell", name="compaction", exact=True).is_visible()


@pytest.mark.skipif(PICTURES, reason="no picture shows this section")
def test_the_page_shows_how_far_a_table_is_behind_its_sources(page: "Page", server: Server) -> None:
    open_table(page, server, "stuck")
    section = page.locator("section", has=page.get_by_role("heading", name="Sources"))
    row = section.locator("tr", has=page.get_by_role("link", name="orders"))
    row.get_by_role("cell", name="20", exact=True).wait_for()
    # The table orders has four commits whose statistics count no rows, and then 16 updates of three rows each. The
    # first commit completed three hours ago.
    assert row.get_by_role("cell").nth(3).inner_text() == "48"
    assert re.fullmatch(r"(3|3\.\d) h", row.get_by_role("cell").nth(4).inner_text())
    assert section.locator("text=neither an asset nor the configuration names this table").is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_table_is_shown_in_both_themes(page: "Page", server: Server, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    open_table(page, server, "orders")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", ground)[:3]))
    assert (brightness > 384) == (theme == "light")
    titles = page.locator("h1, h2").all_inner_texts()
    assert titles[0].startswith("orders")
    assert [title for title in titles if title in ("About this table", "Clustering")] == [
        "About this table",
        "Clustering",
    ]
    fields = page.locator("dt", has_text="Partition fields").locator("xpath=following-sibling::dd[1]")
    assert fields.inner_text() == ("day" if PICTURES else "city")
    keep(page, f"hudi-table-{theme}")
    page.get_by_role("link", name="Timeline", exact=True).click()
    page.wait_for_selector("canvas")
    assert page.locator("canvas").count() == 2
    if theme == "light":
        keep(page, "hudi-timeline-light")
    page.get_by_role("link", name="Partitions", exact=True).click()
    page.wait_for_selector("th[aria-sort=ascending]")
    page.get_by_role("button", name="Size").click()
    page.wait_for_selector("th[aria-sort=descending]")
    if theme == "light":
        keep(page, "hudi-partitions")


def test_the_frame_follows_the_theme_of_airflow(page: "Page", server: Server) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{server.url}/plugin/hudi-tables")
    page.frame_locator("iframe").locator("h1").wait_for()
    frame = page.frames[-1]
    for theme in ("dark", "light"):
        page.evaluate(f"document.documentElement.className = '{theme}'")
        frame.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        around = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert frame.evaluate("getComputedStyle(document.body).backgroundColor") == around


def test_stuck_instants_show_the_next_step(page: "Page", server: Server) -> None:
    open_table(page, server, STUCK)
    pending = page.locator("section", has_text="Pending and stuck")
    assert pending.locator("text=Do:").is_visible()
    keep(page, "hudi-table-stuck")


@pytest.mark.skipif(PICTURES, reason="no picture shows this savepoint")
def test_the_timeline_shows_that_a_savepoint_wrote_no_file(page: "Page", server: Server) -> None:
    open_table(page, server, STUCK, "timeline")
    services = page.get_by_role("region", name="Services that ran")
    saved = services.locator("tr", has=page.get_by_role("cell", name="savepoint"))
    assert saved.locator("td").all_inner_texts()[1:] == ["savepoint", "", "no file changed", "load / keep"]
    page.locator("summary", has_text="as a table").click()
    instants = page.get_by_role("region", name="Latest instants")
    what, undo, saved_too, write = instants.locator("td:nth-child(2)").all_inner_texts()
    assert (what, saved_too, write) == ("commit", "savepoint", "upsert")
    assert re.fullmatch(r"rollback\s+of \d{17}\s+a user requested the rollback", undo)


@pytest.mark.skipif(PICTURES, reason="no picture shows this table")
def test_the_pages_show_html_in_names_as_text(page: "Page", server: Server) -> None:
    page.goto(f"{server.url}/hudi/")
    page.get_by_text(f"{server.folder}/{NASTY}").wait_for()
    assert page.get_by_role("link", name=NASTY, exact=True).is_visible()
    open_table(page, server, "orders")
    page.get_by_role("link", name="Partitions", exact=True).click()
    page.get_by_role("link", name=NASTY).click()
    page.locator("strong", has_text=NASTY).wait_for()
    page.get_by_role("cell", name="f1_").wait_for()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.harmed") is None


@pytest.mark.parametrize("width", [360, 390, 700])
def test_narrow_screens_do_not_scroll_sideways(page: "Page", server: Server, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{server.url}/hudi/")
    page.wait_for_selector("text=orders")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    failed = page.get_by_role("link", name="load_refunds / load_day").bounding_box()
    assert failed is not None
    assert failed["x"] + failed["width"] <= width
    for tab in TITLES:
        open_table(page, server, "orders" if PICTURES or tab != "schema" else "indexed", tab)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if (tab, width) == ("overview", 360):
            keep(page, f"hudi-table-{width}")


@pytest.mark.parametrize(
    ("address", "message"),
    [("?table=nothing", "There is no such table"), ("?dag_id=shown&run_id=x", "There is no such run")],
)
def test_the_page_reports_an_unknown_table_or_run_in_its_address(
    page: "Page", server: Server, address: str, message: str
) -> None:
    page.goto(f"{server.url}/hudi/{address}")
    page.wait_for_selector(f"text={message}")


@pytest.mark.skipif(PICTURES, reason="no picture shows this DAG")
def test_the_page_of_a_failed_run_links_to_its_task(page: "Page", server: Server) -> None:
    page.goto(f"{server.url}/hudi/?dag_id=broken&run_id={server.run_of('broken')}")
    page.wait_for_selector("text=did not run, because a task before it failed")
    refused = page.locator("section", has=page.get_by_role("heading", name="refused"))
    assert refused.locator("text=The job wrote nothing.").is_visible()
    assert refused.locator("text=failed. Its log shows what the task did").is_visible()
    assert sorted(page.locator(".badge.failing").all_inner_texts()) == [*["failed"] * 3, "upstream failed"]
    advice = page.locator("section", has=page.get_by_role("heading", name="unconnected")).locator("dd").nth(1)
    lines = advice.inner_text().splitlines()  # as the browser shows the lines
    assert [line.split()[0] for line in lines] == ["Create", "airflow", "export"]
    page.get_by_text("broken / refused").click()
    page.wait_for_url(lambda address: address.endswith("/tasks/refused"))


@pytest.mark.skipif(PICTURES, reason="the runs of the tables of the pictures succeeded")
def test_each_tab_of_a_table_links_to_the_last_failed_run(page: "Page", server: Server) -> None:
    for tab in ("overview", "timeline"):
        open_table(page, server, "orders", tab)
        notice = page.locator(".notice", has_text="A run failed")
        assert "ago, without a later success: broken / refused" in notice.inner_text()
    assert page.locator("h1 .badge").inner_text() == "healthy"
    notice.get_by_role("link", name="broken / refused").click()
    page.wait_for_url(lambda address: address.endswith("/tasks/refused"))
    open_table(page, server, "aged")
    assert page.locator("text=A run failed").count() == 0


@pytest.mark.skipif(PICTURES, reason="no picture shows this table")
def test_the_page_of_an_unreadable_table_shows_its_path_state_users_and_failed_runs(
    page: "Page", server: Server
) -> None:
    page.goto(f"{server.url}/hudi/?table={server.table_id(LANDING)}")
    page.locator("h1", has_text=LANDING).wait_for()
    assert page.title().startswith("landing ")
    assert page.locator("h1 .badge").inner_text() == "unreadable"
    assert page.locator("header .path").inner_text() == f"{server.folder}/{LANDING}"
    assert page.locator(".notice[role=alert]").get_by_text("Check the base path").is_visible()
    notice = page.locator(".notice", has_text="and 1 more task")
    tasks = {"astray / check", "astray / clean"}
    assert set(notice.locator("a").all_inner_texts()) == tasks
    assert tasks <= set(page.locator("dl.facts a").all_inner_texts())
    with page.expect_request(lambda request: "overview?fresh=true" in request.url):
        page.get_by_role("button", name="Read again").click()
    page.get_by_text("as of").wait_for()


@pytest.mark.skipif(PICTURES, reason="no picture shows this table")
def test_the_tab_of_files_shows_the_only_partition(page: "Page", server: Server) -> None:
    page.goto(f"{server.url}/hudi/?table={server.table_id(STUCK)}#files")
    page.get_by_text("Partition p").wait_for()
    page.get_by_role("region", name="Files of the partition").locator("tbody tr").first.wait_for()


@pytest.mark.skipif(PICTURES, reason="no picture shows this DAG")
def test_the_page_of_a_run_shows_one_name_of_a_table_and_the_instant_of_a_savepoint(
    page: "Page", server: Server
) -> None:
    page.goto(f"{server.url}/hudi/?dag_id=shown&run_id={server.run_of('shown')}")
    for task_id in ("elsewhere", "keep"):
        section = page.locator("section", has=page.get_by_role("heading", name=task_id, exact=True))
        section.locator("strong", has_text="secret").wait_for()
    instant = section.locator(".figures > div", has_text="Instant").locator("dd")
    assert re.fullmatch(r"\d{17}", instant.inner_text())


@pytest.mark.skipif(PICTURES, reason="no picture shows this DAG")
def test_the_page_of_a_reused_request_shows_no_file_sizes(page: "Page", server: Server) -> None:
    page.goto(f"{server.url}/hudi/?dag_id=reused&run_id={server.run_of('reused')}")
    load = page.locator("section", has=page.get_by_role("heading", name="load", exact=True))
    load.get_by_text("an earlier attempt of this request completed it").wait_for()
    assert load.get_by_text("earlier attempt").count() == 1
    assert load.locator("dt").all_inner_texts() == ["Instant", "Partitions"]
    for width in (1280, 700, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert load.locator("dd").first.evaluate("e => e.scrollWidth <= e.clientWidth"), width
    lines = load.locator("dd").first.evaluate("e => e.firstElementChild.getClientRects().length")
    assert lines == 1


def test_the_page_of_a_failed_run_shows_the_failure_block(page: "Page", server: Server) -> None:
    page.set_viewport_size({"width": 1280, "height": 400})
    page.goto(f"{server.url}/hudi/?dag_id=load_refunds&run_id={server.run_of('load_refunds')}")
    page.wait_for_selector("text=What happened")
    keep(page, "hudi-failure")


def test_the_pages_load_nothing_from_other_servers(page: "Page", server: Server) -> None:
    requested_urls: list[str] = []
    page.on("request", lambda request: requested_urls.append(request.url))
    open_table(page, server, "orders")
    assert requested_urls
    assert [url for url in requested_urls if not url.startswith((server.url, "data:"))] == []
