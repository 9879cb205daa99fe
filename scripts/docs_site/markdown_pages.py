"""Parse a Markdown page as code hosts do: headings with their anchors, links, code blocks."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*) *$")
_LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|!?\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_IMAGE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^(#{1,6}) +(.*?) *#*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """A fenced code block.

    Attributes:
        line: number of its first line in the page, from 1.
    """

    language: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link or a picture, outside of code."""

    text: str
    target: str
    line: int

    @property
    def is_external(self) -> bool:
        return bool(re.match(r"[a-z][a-z0-9+.-]*:", self.target))


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """Yield all fenced blocks, without the indentation of their fence."""
    language, start, lines, indent = "", 0, list[str](), ""
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if start and fence and not fence["language"]:
            yield CodeBlock(language=language, text="\n".join(lines) + "\n", line=start)
            start = 0
        elif start:
            lines.append(line.removeprefix(indent))
        elif fence:
            language, start, lines, indent = fence["language"], number + 1, [], fence["indent"]


def links(text: str) -> Iterator[Link]:
    """Yield links and pictures."""
    for number, line in prose_lines(text):
        for found in (*_LINK.finditer(line), *_IMAGE.finditer(line)):
            yield Link(text=found["text"], target=found["target"], line=number)


def with_targets(text: str, renamed: Callable[[str], str]) -> str:
    """Rename the target of each link and picture, and return the changed page."""
    prose = {number for number, _ in prose_lines(text)}
    lines = text.splitlines()
    for number in prose:
        line = lines[number - 1]
        found = [*_LINK.finditer(_blanked(line)), *_IMAGE.finditer(_blanked(line))]
        for match in sorted(found, key=lambda each: each.start("target"), reverse=True):
            start, end = match.span("target")
            line = line[:start] + renamed(line[start:end]) + line[end:]
        lines[number - 1] = line
    return "\n".join(lines) + "\n"


def anchors(text: str) -> list[str]:
    """Return the anchors that links may name after ``#``, in order. Code hosts derive them from headings."""
    seen: dict[str, int] = {}
    found = []
    for _, line in prose_lines(text, keeps_code=True):
        if heading := _HEADING.match(line):
            slug = slug_of(heading[2])
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.append(f"{slug}-{count}" if count else slug)
    return found


def title_of(text: str) -> str:
    """Return the first heading."""
    return next((h[2] for _, line in prose_lines(text, keeps_code=True) if (h := _HEADING.match(line))), "")


def slug_of(heading: str) -> str:
    """Convert a heading to an anchor: lower case, no punctuation, hyphens for spaces, only the text of links."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def prose_lines(text: str, *, keeps_code: bool = False) -> Iterator[tuple[int, str]]:
    """Yield numbered lines without fenced blocks and comments, and with inline code blanked out."""
    is_code = False
    without_comments = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(without_comments.splitlines(), start=1):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield number, line if keeps_code else _blanked(line)


def _blanked(line: str) -> str:
    """Replace inline code by placeholders, so that a link whose text is code remains a link."""
    return re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), line)


def read_pages(folder: Path) -> dict[Path, str]:
    """Read every Markdown file below a folder."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))}
