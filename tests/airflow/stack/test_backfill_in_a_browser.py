"""A user starts a backfill in the dialog of Airflow's page, clears runs, and starts the backfill again.

``BACKFILLED_DAYS`` is the number of days (default 2).
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack
from playwright.sync_api import TimeoutError as PageTimeoutError

from judges.hudi_rs import read_snapshot
from judges.table_files import files_below
from support.airflow import browser
from support.depth import number_from

if TYPE_CHECKING:
    from playwright.sync_api import Page, Response

DAYS = int(number_from("BACKFILLED_DAYS", 2, 3))
LONG = 300.0 + 30.0 * DAYS
ROWS = {(f"2013-01-{day:02d}", number) for day in range(1, DAYS + 1) for number in range(10)}


@pytest.fixture(scope="module")
def page(stack: AirflowStack, folder: Path) -> "Iterator[Page]":
    pq.write_table(pa.table({"id": list(range(10))}), folder / "ten.parquet")
    stack.api.wait_for_dag("turns")
    with browser.logged_in(stack.url, stack.password, folder / "browser") as context:
        page = context.new_page()
        page.set_default_timeout(120_000)
        yield page


def start_backfill(page: "Page", stack: AirflowStack, reprocess: str) -> None:
    page.goto(f"{stack.url}/dags/turns")
    page.get_by_role("button", name="Trigger").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Backfill", exact=True).click()
    date = page.locator("input[placeholder='YYYY/MM/DD']:visible")
    for day in ("2013/01/01", f"2013/01/{DAYS:02d}"):
        dialog.get_by_text("Select date and time").first.click()
        date.fill(day)
        page.get_by_placeholder("HH:mm").fill("00:00")
        page.keyboard.press("Enter")
        dialog.get_by_text("Date Range").click()
        date.wait_for(state="hidden")  # the input fades out; the next input has the same placeholder
    dialog.get_by_text(reprocess, exact=True).click()
    dialog.locator("input[name=max_active_runs]").fill("3")
    click_run(page)


def click_run(page: "Page") -> None:
    """Click until Airflow accepts the backfill.

    Airflow checks only every 30 s whether the last backfill has ended, and refuses a new backfill until then. If the
    database is busy, the page itself repeats the request and may close the dialog before the next click.
    """
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer) if is_creation(answer) else None)
    button = page.get_by_role("dialog").get_by_role("button", name="Run Backfill")
    deadline = time.monotonic() + LONG
    while not any(answer.ok for answer in answers):
        statuses = [answer.status for answer in answers]
        assert set(statuses) <= {409, 500, 503}, statuses
        assert time.monotonic() < deadline, statuses
        with suppress(PageTimeoutError):  # the dialog was closed, or the button is disabled during a request
            button.click(timeout=3_000)
        page.wait_for_timeout(3_000)
    page.get_by_role("dialog").wait_for(state="detached")


def is_creation(response: "Response") -> bool:
    return response.request.method == "POST" and response.url.endswith("/api/v2/backfills")


def clear_run(page: "Page", stack: AirflowStack, run_id: str) -> None:
    page.goto(f"{stack.url}/dags/turns/runs/{run_id}")
    page.get_by_role("button", name="Clear").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Affected Tasks: 1").wait_for()
    dialog.get_by_role("button", name="Confirm").click()
    dialog.wait_for(state="detached")


def starts_of_loads(api: AirflowApi) -> dict[str, str]:
    """Map each successful run to the start of the latest attempt of its task.

    Airflow sometimes sets the number of tries of a reprocessed run back to 1, so attempts are not counted by tries.
    """
    done = [run["dag_run_id"] for run in api.runs("turns") if run["state"] == "success"]
    return {run_id: api.task_instances("turns", run_id)["load"]["start_date"] for run_id in done}


def wait_for_new_attempts(api: AirflowApi, earlier: dict[str, str], run_ids: Iterable[str]) -> None:
    def are_new() -> bool:
        starts = starts_of_loads(api)
        return all(starts.get(run_id, earlier[run_id]) != earlier[run_id] for run_id in run_ids)

    wait_until(are_new, LONG, lambda: f"{earlier}, {starts_of_loads(api)}, {api.runs('turns')}")


def stored(folder: Path) -> dict[tuple[str, int], Any]:
    """Map the day and number of each row to the time of its write. Fails if a row is stored twice."""
    found = [
        ((row["day"], row["id"]), row["written_at"]) for row in read_snapshot(folder / "turns").to_pylist()
    ]
    assert len(found) == len(dict(found)), "a row is stored twice"
    return dict(found)


def test_a_cleared_or_reprocessed_day_is_not_written_again(
    page: "Page", stack: AirflowStack, folder: Path
) -> None:
    start_backfill(page, stack, "Missing Runs")
    wait_until(lambda: len(starts_of_loads(stack.api)) == DAYS, LONG, lambda: str(stack.api.runs("turns")))
    first = stored(folder)
    assert set(first) == ROWS

    starts = starts_of_loads(stack.api)
    cleared = list(starts)[:2]
    for run_id in cleared:
        clear_run(page, stack, run_id)
    wait_for_new_attempts(stack.api, starts, cleared)
    assert stored(folder) == first

    starts = starts_of_loads(stack.api)
    assert len(starts) == DAYS
    start_backfill(page, stack, "All Runs")
    wait_for_new_attempts(stack.api, starts, starts)
    assert stored(folder) == first


def test_only_one_run_at_a_time_wrote(stack: AirflowStack, folder: Path) -> None:
    """Up to three runs were active at a time, but each write began after the previous write was completed."""
    hoodie = folder / "turns" / ".hoodie"
    spans = sorted(
        (done.with_name(f"{done.name}.requested").stat().st_mtime_ns, done.stat().st_mtime_ns)
        for done in hoodie.glob("*.commit")
    )
    assert len(spans) == DAYS
    assert all(later[0] > earlier[1] for earlier, later in pairwise(spans))
    assert files_below(hoodie / ".aux" / "airflow") == []
    # Airflow's API does not find the logs of earlier tries if Airflow has set the number of tries back.
    logs = (stack.home / "logs" / "dag_id=turns").rglob("*.log")
    assert any("Other tasks write" in log.read_text() for log in logs)


def test_the_page_of_a_run_shows_its_result(page: "Page", stack: AirflowStack) -> None:
    run_id = stack.api.runs("turns")[0]["dag_run_id"]
    page.goto(f"{stack.url}/dags/turns/runs/{run_id}")
    page.locator("a[href*='plugin/hudi-run']").click()
    panel = page.frame_locator("iframe")
    panel.get_by_text("an earlier attempt of this request completed it").wait_for()
    assert panel.get_by_text("upsert on turns").is_visible()
