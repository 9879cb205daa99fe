"""Build the site of docs/ into build/site, with warnings as errors: ``make docs``."""

import shutil
import sys
import time
from pathlib import Path

from docs_site.built_site import problems
from docs_site.gathering import Gathering, unreachable
from sphinx.application import Sphinx

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / "build"
SITE = BUILD / "site"

SETTINGS = {
    "project": "airflow-provider-hudi",
    "extensions": ["myst_parser"],
    "root_doc": "index",
    # Headings get the anchors that code hosts give them.
    "myst_heading_anchors": 4,
    "suppress_warnings": ["myst.header"],
    "html_theme": "furo",
    "html_title": "airflow-provider-hudi",
    "html_copy_source": False,
    "html_show_copyright": False,
}


def main() -> int:
    """Build and check the site. Returns 1 if it has problems."""
    started = time.monotonic()
    missing = unreachable(REPOSITORY / "docs")
    if missing:
        print(f"docs/index.md has no link to: {', '.join(missing)}", file=sys.stderr)
        return 1
    pages = Gathering(REPOSITORY, BUILD / "docs-source").gather()
    shutil.rmtree(SITE, ignore_errors=True)
    app = Sphinx(
        srcdir=BUILD / "docs-source",
        confdir=None,
        outdir=SITE,
        doctreedir=BUILD / "doctrees",
        buildername="html",
        confoverrides=SETTINGS,
        status=None,
        freshenv=True,
        warningiserror=True,
    )
    app.build(force_all=True)
    found = list(problems(SITE))
    for each in found:
        print(each, file=sys.stderr)
    if app.statuscode or found:
        return 1
    seconds = time.monotonic() - started
    print(f"{SITE.relative_to(REPOSITORY)}/index.html: {pages} pages in {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
