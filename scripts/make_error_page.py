"""Generate the page about errors from docs/operations.md. Airflow's API server serves this page.

With --check, only report whether the page is current. Task logs contain links to the sections of the page.
"""

import itertools
import re
import sys
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = REPOSITORY / "docs" / "operations.md"
PAGE = REPOSITORY / "airflow_hudi_provider" / "pages" / "static" / "errors.html"

HEAD = """\
<!doctype html>
<!-- Made by scripts/make_error_page.py from docs/operations.md. -->
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>{title}</title>
    <link rel="icon" href="icon.svg">
    <link rel="stylesheet" href="hudi.css">
    <script src="js/theme.js"></script>
  </head>
  <body>
    <main class="text">
"""
TAIL = """\
    </main>
  </body>
</html>
"""


def page() -> str:
    """Return the HTML of the page. Each heading has the anchor that GitHub and the site of docs/ give it."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(SOURCE.read_text())
    for token, following in itertools.pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(following.content))
        token.attrs.pop("style", None)  # the server's content security policy allows no inline styles
        token.children = _without_other_pages(token.children) if token.children else token.children
    title = next(token.content for token in tokens if token.type == "inline")
    return HEAD.format(title=title) + markdown.renderer.render(tokens, markdown.options, {}) + TAIL


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _without_other_pages(children: list[Token]) -> list[Token]:
    """Keep links within the page. Replace other links by their text and the name of the file.

    The server serves no other pages of docs/.
    """
    kept: list[Token] = []
    targets: list[str] = []
    for child in children:
        if child.type == "link_open":
            targets.append(str(child.attrGet("href")))
            if not targets[-1].startswith("#"):
                continue
        elif child.type == "link_close":
            target = targets.pop()
            if not target.startswith("#"):
                kept.append(Token("text", "", 0, content=f" (docs/{target.partition('#')[0]})"))
                continue
        kept.append(child)
    return kept


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print(f"{PAGE.name} is not current: run {sys.executable} {Path(__file__).name}", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
