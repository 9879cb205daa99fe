"""The list of tables in a browser. The tests share one loaded page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from page_server import LANDING, NASTY, PICTURES, SIZED, UNBORN, Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.skipif(PICTURES, reason="the tables of the pictures differ")
FORMAT = "/hudi/static/js/format.js"
DURATIONS = {59.7: "1 min", 3594: "1 h", 86040: "1 d", 863_500: "10 d", 5.04: "5 s", 5400: "1.5 h", 0: "0 s"}
"""Maps seconds to the shown text."""

SIZES = {1023: "1023 B", 1024: "1.0 KiB", 1_048_524: "1023.9 KiB", 1_048_575: "1.0 MiB", 1 << 30: "1.0 GiB"}
"""Maps bytes to the shown text."""


@pytest.fixture(scope="module")
def listed(browser_context: Any, server: Server) -> "Iterator[Page]":
    page = browser_context.new_page()
    page.goto(f"{server.url}/hudi/")
    wait_until_read(page)
    yield page
    page.close()


def wait_until_read(page: "Page") -> None:
    page.locator("tbody tr").first.wait_for()
    page.locator("text=/Reading …|reading …/").first.wait_for(state="detached")


def names(page: "Page") -> list[str]:
    return page.locator("tbody tr td:first-child a").all_inner_texts()


def states(page: "Page") -> list[str]:
    return page.locator("tbody .badge").all_inner_texts()


def test_the_worst_table_comes_first(listed: "Page") -> None:
    found = names(listed)
    attention = [
        name for name, state in zip(found, states(listed), strict=True) if state == "needs attention"
    ]
    assert set(attention) >= {"secret", "stuck"}
    failed = [
        found.index(name) for name in (UNBORN, "missing", "orders")
    ]  # a run of each of their tasks failed
    assert max(map(found.index, attention)) < min(failed)
    assert max(failed) < found.index("aged") < found.index(NASTY)
    assert found.index("secret") < found.index("stuck")  # equal states are ordered by name


def test_a_missing_table_shows_the_last_failure_of_its_writer(listed: "Page", server: Server) -> None:
    row = listed.locator("tr", has=listed.get_by_role("link", name=UNBORN, exact=True))
    assert "A run failed" in row.inner_text()
    assert row.get_by_role("link", name="load_refunds / load_day").is_visible()
    table_id = server.table_id(UNBORN)
    _, body, _ = server.request(f"/hudi/api/tables/{table_id}/overview", "vera")
    assert (body["exists"], body["last_failure"]["dag_id"], body["last_failure"]["task_id"]) == (
        False,
        "load_refunds",
        "load_day",
    )


def test_a_missing_table_shows_the_last_failure_of_a_task_that_only_uses_it(listed: "Page") -> None:
    row = listed.locator("tr", has=listed.get_by_role("link", name="missing", exact=True))
    assert "A run failed" in row.inner_text()
    assert row.get_by_role("link", name="broken / early").is_visible()


def test_a_healthy_table_shows_the_last_failure_of_its_tasks(listed: "Page", server: Server) -> None:
    row = listed.locator("tr", has=listed.get_by_role("link", name="orders", exact=True))
    assert row.locator(".badge").inner_text() == "healthy"
    assert "A run failed" in row.inner_text()
    link = row.get_by_role("link", name="broken / refused")
    assert (
        link.get_attribute("href") == f"{server.url}/dags/broken/runs/{server.run_of('broken')}/tasks/refused"
    )
    aged = listed.locator("tr", has=listed.get_by_role("link", name="aged", exact=True))
    assert "A run failed" not in aged.inner_text()


def test_an_unreadable_table_shows_the_last_failure_and_the_number_of_other_failed_tasks(
    listed: "Page",
) -> None:
    assert names(listed)[0] == LANDING
    row = listed.locator("tbody tr").first
    assert row.locator(".badge").inner_text() == "unreadable"
    assert "A run failed" in row.inner_text()
    others = row.get_by_text("and 1 more task", exact=True)
    tasks = {row.locator("a", has_text="astray /").inner_text()}
    tasks.add((others.get_attribute("title") or "").partition(",")[0])
    assert tasks == {"astray / check", "astray / clean"}


def test_tables_with_a_failed_run_can_be_selected(listed: "Page") -> None:
    listed.get_by_label("State", exact=True).select_option("failed")
    listed.locator("tbody tr").nth(4).wait_for(state="detached")
    assert set(names(listed)) == {"missing", "orders", LANDING, UNBORN}
    listed.get_by_label("State", exact=True).select_option("")
    listed.locator("tbody tr").nth(8).wait_for()


def test_names_and_paths_can_be_searched(listed: "Page") -> None:
    search = listed.get_by_role("searchbox")
    search.fill("ORDER")
    listed.locator("tbody tr").nth(1).wait_for(state="detached")
    assert names(listed) == ["orders"]
    search.fill("no such table")
    listed.get_by_text("No table matches.").wait_for()
    search.fill("")
    listed.locator("tbody tr").nth(8).wait_for()


def test_states_can_be_filtered(listed: "Page") -> None:
    choice = listed.get_by_label("State", exact=True)
    choice.select_option("absent")
    listed.locator("tbody tr").nth(4).wait_for(state="detached")
    assert set(states(listed)) == {"not created yet"}
    assert set(names(listed)) == {"missing", NASTY, SIZED, UNBORN}
    choice.select_option("")
    listed.locator("tbody tr").nth(8).wait_for()


def test_a_column_is_sorted_in_both_directions(listed: "Page") -> None:
    header = listed.get_by_role("button", name="Table")
    header.click()
    listed.wait_for_selector("th[aria-sort=ascending]:has-text('Table')")
    ascending = names(listed)
    assert ascending == sorted(ascending, key=str.lower)
    header.click()
    listed.wait_for_selector("th[aria-sort=descending]:has-text('Table')")
    assert names(listed) == ascending[::-1]
    listed.get_by_role("button", name="State").click()


def test_the_totals_count_every_table(listed: "Page") -> None:
    text = listed.locator(".totals").inner_text()
    assert text.startswith("11 tables · ")
    assert "1 unreadable" in text
    assert "need attention" in text
    assert text.endswith("4 with a failed run")


def test_a_refresh_reads_every_table_again(listed: "Page") -> None:
    answered: set[str] = set()
    listed.on("response", lambda answer: answered.add(answer.url))
    listed.get_by_role("button", name="Read again").click()
    listed.locator(".as-of", has_text="reading …").wait_for(state="detached")
    wait_until_read(listed)
    assert len([url for url in answered if "summary?fresh=true" in url]) == 11


def test_each_bar_of_a_short_history_has_a_label(listed: "Page") -> None:
    """Two writes in the same second have equal labels."""
    script = """async (seconds) => {
        const { sizesOptions } = await import('/hudi/static/js/charts.js');
        const of = { counts: [1], files: 1, bytes: 1 };
        const sizes = seconds.map((each) => ({ ...of, at_ms: 1000 * each, instant: `${each}` }));
        const { interval } = sizesOptions({ sizes, size_classes: [{ name: 'all' }] }).xAxis.axisLabel;
        return sizes.map((_, index) => interval(index));
    }"""
    assert listed.evaluate(script, [60, 60, 61]) == [True, True, True]
    day = 86_400
    assert listed.evaluate(script, [day, day + 60, 5 * day]) == [True, False, True]


def test_labels_of_different_times_on_the_axis_of_instants_differ(listed: "Page") -> None:
    """The browser chooses the distance of the labels: 30 seconds for a single instant, less after a zoom."""
    script = """async ([length, step]) => {
        const { timelineOptions } = await import('/hudi/static/js/charts.js');
        const instant = { requested_ms: 0, action: 'commit', state: 'completed', instant: '1' };
        const { formatter } = timelineOptions([instant], length).xAxis.axisLabel;
        return [...Array(8).keys()].map((number) => formatter(number * step));
    }"""
    minute, hour = 60_000, 3_600_000
    for length, step in ((0, minute // 2), (0, 20), (36 * hour, 6 * hour), (100 * hour, minute // 4)):
        labels = listed.evaluate(script, [length, step])
        assert len(set(labels)) == 8, labels
    assert listed.evaluate(script, [hour, 10 * minute])[:2] == ["00:00", "00:10"]


def test_numbers_are_rounded_before_the_unit_is_chosen(listed: "Page") -> None:
    for function, texts in (("duration", DURATIONS), ("bytes", SIZES)):
        script = f"async (all) => all.map((await import({FORMAT!r})).{function})"
        assert listed.evaluate(script, list(texts)) == list(texts.values())
    one_row = f"async (totals) => (await import({FORMAT!r})).countedRows(totals)"
    assert listed.evaluate(one_row, {"rows": 1, "files": 1, "uncounted_files": 0}) == "1 row"
