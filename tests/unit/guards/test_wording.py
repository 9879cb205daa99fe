"""Text and names use plain technical English: no text of the project contains a word that CONTRIBUTING rules out."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
THIS_FILE = Path(__file__).resolve()

# Pronouns without a noun, and verbs of speech for reports and logs. Each has a plain replacement: name the writer, job
# or user, and write "reports", "logs" or "returns".
WORDS = ("nobody", "somebody", "anybody", "whoever", "whomever", "told", "by and by", "this moment")
# A word may have underscores next to it, but no letters, so names such as `_told` are found as well.
REFUSED = re.compile(rf"(?<![a-z])(?:{'|'.join(WORDS)})(?![a-z])", re.IGNORECASE)

QUOTES: tuple[str, ...] = (
    # This value is stored in Airflow, so it cannot change (`airflow_hudi_provider.tasks.memory`).
    '_NO_OWNER = "nobody"',
)
"""Exact phrases that contain a refused word: stored values, and literal quotes of Airflow, Spark or Hudi."""

INLINE_CODE = re.compile(r"`[^`\n]*`")


TEXTS = ("*.py", "*.md", "*.js", "*.css", "*.html", "*.sh", "*.toml", "Makefile", ":!*/vendor/*")


def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *TEXTS]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    paths = (REPOSITORY / name for name in listed.split("\0") if name)
    return [path for path in paths if path.is_file() and path.resolve() != THIS_FILE]


def refused_words(text: str, *, is_markdown: bool) -> Iterator[tuple[int, str]]:
    """Yield line number and word of each hit, except in literal quotes and in inline code of Markdown."""
    for quote in QUOTES:
        text = text.replace(quote, "")
    for number, line in enumerate(text.splitlines(), start=1):
        searched = INLINE_CODE.sub("", line) if is_markdown else line
        yield from ((number, found.group()) for found in REFUSED.finditer(searched))


def test_no_file_contains_a_refused_word() -> None:
    hits = [
        f"{path.relative_to(REPOSITORY)}:{number}: {word}"
        for path in tracked_files()
        for number, word in refused_words(path.read_text(encoding="utf-8"), is_markdown=path.suffix == ".md")
    ]
    assert hits == [], f"{len(hits)} refused words; see the language rule in CONTRIBUTING.md"


@pytest.mark.parametrize(
    "text", ["Nobody reads it.", "what it was told", "_told = 1", "def whoever_writes(): ..."]
)
def test_a_refused_word_is_found(text: str) -> None:
    assert len(list(refused_words(text, is_markdown=False))) == 1


@pytest.mark.parametrize("text", ["a stolen lock", "a moment later", "`nobody` in code", "[x](a.md#held)"])
def test_ordinary_words_and_inline_code_pass(text: str) -> None:
    assert list(refused_words(text, is_markdown=True)) == []
