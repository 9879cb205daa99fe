"""Check the built site: every link has a target, and nothing is loaded from another host."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

_LOADED = {"link": "href", "script": "src", "img": "src", "source": "src", "iframe": "src"}
_REMOTE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_REMOTE_STYLE = re.compile(r"(?:url\(|@import\s+)[\"']?(?:https?:)?//", re.IGNORECASE)


@dataclass
class _Page(HTMLParser):
    """Ids, links and loaded resources of one page."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in _LOADED and _LOADED[tag] in values:
            self.loaded.append(values[_LOADED[tag]])


def problems(site: Path) -> Iterator[str]:
    """Yield one line for each problem of the site."""
    pages = {path.relative_to(site).as_posix(): _read(path) for path in sorted(site.rglob("*.html"))}
    for name, page in pages.items():
        for target in page.loaded:
            if _REMOTE.match(target):
                yield f"{name} loads {target}"
            elif not target.startswith(("data:", "#")) and not _exists(site, name, target):
                yield f"{name} loads {target}, which does not exist"
        for target in page.links:
            if not re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                yield from _broken_link(site, pages, name, target)
    for path in sorted(site.rglob("*.css")):
        if _REMOTE_STYLE.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} loads from another host"


def _broken_link(site: Path, pages: dict[str, _Page], name: str, target: str) -> Iterator[str]:
    path, _, anchor = target.partition("#")
    place = _resolved(name, path) if path else name
    if not (site / place).is_file():
        yield f"{name} points to {target}, which does not exist"
    elif anchor and place in pages and unquote(anchor) not in pages[place].ids:
        yield f"{name} points to {target}, which has no such heading"


def _exists(site: Path, name: str, target: str) -> bool:
    return (site / _resolved(name, target.partition("#")[0].partition("?")[0])).is_file()


def _resolved(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path)))


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
