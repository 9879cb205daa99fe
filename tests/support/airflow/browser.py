"""A real browser: Debian's Chromium, driven by Playwright."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

REPOSITORY = Path(__file__).parents[3]
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def logged_in(url: str, password: str, profile: Path) -> "Iterator[BrowserContext]":
    """Open a browser in which Airflow's administrator has logged in through the form.

    Args:
        profile: an empty folder.
    """
    from playwright.sync_api import sync_playwright

    ensure = REPOSITORY / "scripts" / "ensure_chromium.sh"
    chromium = subprocess.run([ensure], check=True, capture_output=True, text=True).stdout.strip()
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium, args=_FLAGS, viewport={"width": 1280, "height": 900}
        )
        page = context.new_page()
        page.goto(url)
        page.fill("input[name=username]", "admin")
        page.fill("input[name=password]", password)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda address: "login" not in address)
        page.close()
        yield context
        context.close()


def keep(page: "Page", name: str, *, is_wanted: bool) -> None:
    """Save a screenshot for the documentation if `is_wanted` is true."""
    if is_wanted:
        folder = REPOSITORY / "docs" / "images"
        folder.mkdir(exist_ok=True)
        page.screenshot(path=folder / f"{name}.png", full_page=True)
