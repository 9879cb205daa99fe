"""Write tables of figures into docs/scale.md, between marker comments, so that no figure is copied by hand."""

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"


def with_section(page: str, name: str, content: str) -> str:
    """Return a page with new content between the markers ``<!-- figures: name -->`` and ``<!-- end: name -->``.

    Raises:
        ValueError: the page does not contain both markers exactly once, in this order.
    """
    begin, end = f"<!-- figures: {name} -->\n", f"<!-- end: {name} -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end) or begin in after or end in after:
        raise ValueError(f"The page must contain the markers of the figures {name!r} once.")
    return f"{before}{begin}{content.rstrip()}\n{end}{after}"


def write_section(name: str, content: str, page: Path = PAGE) -> None:
    """Replace the figures of one section of a page."""
    page.write_text(with_section(page.read_text(encoding="utf-8"), name, content), encoding="utf-8")


def markdown_table(head: tuple[str, ...], rows: list[tuple[str, ...]], texts: int = 1) -> str:
    """Return a table in Markdown. The first `texts` columns are aligned to the left, and numbers to the right."""
    rules = ["---"] * texts + ["--:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, tuple(rules), *rows))
