"""Every page of docs/ begins with a quick answer."""

import re
from pathlib import Path

import pytest
from doc_sources import DOCS

PAGES = sorted(DOCS.glob("*.md"))
MOST_LINES, MOST_CHARACTERS = 3, 450


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_begins_with_a_quick_answer_of_at_most_three_lines(page: Path) -> None:
    text = re.sub(r"\A<!--.*?-->\s*", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    heading, answer, *_ = text.split("\n\n")
    assert heading.startswith("# ")
    assert answer.startswith("**Quick answer.** ")
    assert len(answer.splitlines()) <= MOST_LINES
    assert len(answer) <= MOST_CHARACTERS
