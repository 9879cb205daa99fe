"""Replace the results of a run in a page, between two marker comments, so that no figure is copied by hand."""

from pathlib import Path


class PageError(Exception):
    """The results cannot be written into the page."""


def write_section(page: Path, name: str, body: str) -> None:
    """Replace the text between ``<!-- results of NAME: begin -->`` and ``<!-- results of NAME: end -->``.

    Raises:
        PageError: the page lacks one of the two markers.
    """
    begin, end = (f"<!-- results of {name}: {edge} -->" for edge in ("begin", "end"))
    before, found_begin, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise PageError(f"{page} lacks the lines {begin!r} and {end!r}, which enclose the results.")
    page.write_text(f"{before}{begin}\n\n{body.strip()}\n\n{end}{after}", encoding="utf-8")
