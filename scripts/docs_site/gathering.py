"""Collect the pages of docs/, and the files of the repository that these pages link to, as sources of the site."""

import os
import posixpath
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from docs_site.markdown_pages import with_targets

HOME = "docs/index.md"
DECISIONS = "docs/adr/README.md"
_LANGUAGES = {".py": "python", ".sh": "sh", ".toml": "toml"}
_QUESTION = re.compile(r"^- \[(?P<text>[^\]]+)\]\((?P<page>[^)#:]+\.md)\)")
_ORPHAN_PAGE = "---\norphan: true\n---\n"


@dataclass(slots=True)
class Gathering:
    """The state of one run: the pages that are written, and the pages that are not written yet.

    Attributes:
        repository: root of the checkout.
        target: folder of the site's sources. Each run deletes the folder and creates it again.
    """

    repository: Path
    target: Path
    _done: set[str] = field(default_factory=set)
    _todo: list[str] = field(default_factory=list)

    def gather(self) -> int:
        """Write all sources and return the number of pages.

        Raises:
            FileNotFoundError: a page links to a file that does not exist.
        """
        shutil.rmtree(self.target, ignore_errors=True)
        docs = self.repository / "docs"
        self._todo = [path.relative_to(self.repository).as_posix() for path in sorted(docs.rglob("*.md"))]
        shutil.copytree(docs / "images", self.target / "images")
        while self._todo:
            name = self._todo.pop()
            if name not in self._done:
                self._done.add(name)
                self._write(name)
        return len(self._done)

    def _write(self, name: str) -> None:
        path = self.repository / name
        target = self.target / site_name(name, is_folder=path.is_dir())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self._text(name, path), encoding="utf-8")

    def _text(self, name: str, path: Path) -> str:
        if path.is_dir():
            return self._with_links(name, _folder_page(name, path), folder=name)
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".md":
            return _file_page(name, text)
        page = self._with_links(name, text, folder=posixpath.dirname(name))
        if name == HOME:
            return page + "".join(_contents(text))
        if name == DECISIONS:
            return f"{page}\n```{{toctree}}\n:glob:\n:maxdepth: 1\n\n0*\n```\n"
        return page if name.startswith("docs/") else _ORPHAN_PAGE + page

    def _with_links(self, name: str, text: str, *, folder: str) -> str:
        here = posixpath.dirname(site_name(name, is_folder=(self.repository / name).is_dir()))

        def renamed(target: str) -> str:
            if re.match(r"[a-z][a-z0-9+.-]*:|#", target):
                return target
            path, hash_sign, anchor = target.partition("#")
            meant = posixpath.normpath(posixpath.join(folder, path))
            at = self.repository / meant
            if not at.exists():
                raise FileNotFoundError(f"{name} links to {target}, which does not exist.")
            if at.is_dir() or at.suffix in (".md", *_LANGUAGES):
                self._todo.append(meant)
            else:
                shutil.copy2(at, self._place(meant))
            there = site_name(meant, is_folder=at.is_dir())
            return posixpath.relpath(there, here or ".") + hash_sign + anchor

        return with_targets(text, renamed)

    def _place(self, name: str) -> Path:
        place = self.target / site_name(name, is_folder=False)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def site_name(name: str, *, is_folder: bool) -> str:
    """Return the path of a repository file in the site's sources.

    For example, ``docs/clean.md`` becomes ``clean.md``, and ``dags_examples/a.py`` becomes
    ``files/dags_examples/a.py.md``.
    """
    path = PurePosixPath(name)
    if path.parts[:1] == ("docs",):
        return path.relative_to("docs").as_posix()
    if is_folder:
        return f"files/{name}/index.md"
    return f"files/{name}" + (".md" if path.suffix in _LANGUAGES else "")


def questions(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield heading, question and page for each entry in the lists of the home page."""
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif match := _QUESTION.match(line):
            yield heading, match["text"], match["page"]


def _contents(home: str) -> Iterator[str]:
    """Yield the entries of the side bar, which has the same lists as the home page."""
    shown: set[str] = set()
    current = ""
    lines: list[str] = []
    for heading, question, page in questions(home):
        if page in shown:
            continue
        shown.add(page)
        place = site_name(posixpath.normpath(f"docs/{page}"), is_folder=False).removesuffix(".md")
        if heading != current:
            if lines:
                yield "\n".join([*lines, "```", ""])
            current, lines = heading, ["", "```{toctree}", ":hidden:", f":caption: {heading}", ""]
        lines.append(f"{question} </{place}>")
    yield "\n".join([*lines, "```", ""])


def _file_page(name: str, text: str) -> str:
    language = _LANGUAGES[PurePosixPath(name).suffix]
    return f"{_ORPHAN_PAGE}# {name}\n\n`````{language}\n{text}`````\n"


def _folder_page(name: str, path: Path) -> str:
    names = sorted(each.name for each in path.iterdir() if each.suffix in _LANGUAGES)
    return f"{_ORPHAN_PAGE}# {name}\n\n" + "".join(f"- [{each}]({each})\n" for each in names)


def unreachable(docs: Path) -> list[str]:
    """Return the pages of docs/ that no list of the home page links to. Decisions (adr/0*) have a separate list."""
    home = (docs / "index.md").read_text(encoding="utf-8")
    reached = {os.path.normpath(page) for _, _, page in questions(home)}
    names = (path.relative_to(docs).as_posix() for path in sorted(docs.rglob("*.md")))
    return [name for name in names if name not in {*reached, "index.md"} and not name.startswith("adr/0")]
