"""Every link of a page has a target, both on a code host and on the documentation site."""

from pathlib import Path

import pytest
from doc_sources import DOCS, PAGES, REPOSITORY, name_of
from docs_site.gathering import questions, site_name, unreachable
from docs_site.markdown_pages import Link, anchors, links, with_targets


def is_broken(path: Path, text: str, link: Link) -> bool:
    target, _, anchor = link.target.partition("#")
    if not target:
        return anchor not in anchors(text)
    meant = (path.parent / target).resolve()
    if not meant.exists() or not meant.is_relative_to(REPOSITORY):
        return True
    return bool(anchor) and anchor not in anchors(meant.read_text(encoding="utf-8"))


def broken_links(path: Path, text: str) -> list[str]:
    return [
        f"{name_of(path)}:{link.line}: {link.target}"
        for link in links(text)
        if not link.is_external and is_broken(path, text, link)
    ]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_and_images_of_a_page_have_targets(path: Path) -> None:
    assert broken_links(path, PAGES[path]) == []


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("[a](health.md#measures)", True),
        ("[a](../README.md#try-it) and ![b](images/hudi-tables.png)", True),
        ("[a](#here)\n\n## Here", True),
        ("`[a](nothing.md)`\n```\n[a](nothing.md)\n```\n<!-- [a](nothing.md) -->", True),
        ("[a](https://hudi.apache.org/)", True),
        ("[a](nothing.md)", False),
        ("[a](health.md#nothing)", False),
        ("![a](images/nothing.png)", False),
        ("[`code`](nothing.md)", False),
        ("[a](../../outside.md)", False),
    ],
)
def test_link_check_finds_broken_links(text: str, is_right: bool) -> None:
    assert (broken_links(DOCS / "page.md", text) == []) is is_right


def test_anchors_are_the_same_as_on_code_hosts() -> None:
    page = "# A `b.c`, d!\n## Same\n## Same\n```\n# code\n```\n### [Text](x.md) & more\n"
    assert anchors(page) == ["a-bc-d", "same", "same-1", "text--more"]


def test_home_page_links_to_every_page() -> None:
    assert unreachable(DOCS) == []


def test_page_missing_from_the_home_page_is_found(tmp_path: Path) -> None:
    (tmp_path / "adr").mkdir()
    for name in ("index.md", "named.md", "unnamed.md", "adr/0001-a.md", "adr/README.md"):
        (tmp_path / name).write_text("## Heading\n\n- [Question?](named.md)\n", encoding="utf-8")
    assert unreachable(tmp_path) == ["adr/README.md", "unnamed.md"]


def test_each_question_has_its_own_page() -> None:
    entries = [(question, page) for _, question, page in questions((DOCS / "index.md").read_text("utf-8"))]
    assert (
        len({question for question, _ in entries}) == len({page for _, page in entries}) == len(entries) > 20
    )


def test_only_targets_of_links_are_renamed() -> None:
    page = "[a](x.md), ![b](y.png)\n`[c](z.md)`\n```\n[d](x.md)\n```\n"
    assert with_targets(page, str.upper) == page.replace("[a](x.md)", "[a](X.MD)").replace(
        "(y.png)", "(Y.PNG)"
    )


@pytest.mark.parametrize(
    ("name", "is_folder", "place"),
    [
        ("docs/adr/0001-a.md", False, "adr/0001-a.md"),
        ("README.md", False, "files/README.md"),
        ("dags_examples", True, "files/dags_examples/index.md"),
        ("dags_examples/a.py", False, "files/dags_examples/a.py.md"),
        ("LICENSE", False, "files/LICENSE"),
    ],
)
def test_a_file_has_the_expected_path_on_the_site(name: str, is_folder: bool, place: str) -> None:
    assert site_name(name, is_folder=is_folder) == place
