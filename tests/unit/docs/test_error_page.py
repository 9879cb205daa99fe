"""The page about errors that Airflow's API server serves."""

import re
import subprocess
import sys

from doc_sources import REPOSITORY

from hudi_table_services import errors

PAGE = REPOSITORY / "airflow_hudi_provider" / "pages" / "static" / "errors.html"


def test_the_page_is_current() -> None:
    command = [sys.executable, REPOSITORY / "scripts" / "make_error_page.py", "--check"]
    assert subprocess.run(command, check=False, capture_output=True, text=True).stderr == ""


def test_a_reference_to_another_page_names_its_file() -> None:
    html = PAGE.read_text()
    assert "See options (docs/options.md)." in html
    assert "rebuild_metadata_table.py" not in html


def test_every_error_has_a_section_and_links_stay_on_the_page() -> None:
    html = PAGE.read_text()
    anchors = set(re.findall(r'<h\d id="([^"]+)"', html))
    kinds = {
        name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
    }
    assert {kind.lower() for kind in kinds} <= anchors
    assert {link.removeprefix("#") for link in re.findall(r'href="([^"]+)"', html)} - anchors == {
        "icon.svg",
        "hudi.css",
    }
