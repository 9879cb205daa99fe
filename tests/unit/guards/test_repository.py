"""No file contains a path of a machine or the host of a package index; ruff checks all modules; locks are current."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[3]

# The hosts are split into pieces, because the test searches this file as well.
INDEX_HOSTS = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "maven" + ".org",
    "maven.apache" + ".org",
    "npmjs" + ".org",
    "crates" + ".io",
    "golang" + ".org",
    "debian" + ".org",
]
MACHINE_FOLDERS = ["work", "root", "home", "Users", "tmp/" + "w"]
FORBIDDEN = re.compile(
    "|".join([*map(re.escape, INDEX_HOSTS), rf"(?<![\w.$}}/*-])/(?:{'|'.join(MACHINE_FOLDERS)})/"])
)

LOCKED_TOGETHER = {"spark": ["dev", "spark"], "judges": ["dev", "judges", "bench"]}
LOCKED_APART = ["docs", "readers", "s3"]


def repository_files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := REPOSITORY / name).is_file()]


def forbidden_words() -> Iterator[str]:
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if found := FORBIDDEN.search(line):
                yield f"{path.relative_to(REPOSITORY)}:{number}: {found.group()}"


def test_no_file_contains_a_machine_path_or_an_index_host() -> None:
    assert list(forbidden_words()) == []


@pytest.mark.parametrize("text", ["https://" + INDEX_HOSTS[0] + "/simple", 'open("' + "/work" + '/main/a")'])
def test_the_search_finds_forbidden_texts(text: str) -> None:
    assert FORBIDDEN.search(text)


@pytest.mark.parametrize("text", ["s3://bucket/home/x", "a/work/b", "${HOME}/work/", "the word home/"])
def test_the_search_ignores_tables_and_relative_paths(text: str) -> None:
    assert not FORBIDDEN.search(text)


def test_ruff_checks_every_module() -> None:
    command = [sys.executable, "-m", "ruff", "check", "--show-files", "."]
    shown = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    modules = {path for path in repository_files() if path.suffix == ".py"}
    assert modules - {Path(line) for line in shown.splitlines()} == set()


def declared_groups() -> dict[str, list[str]]:
    """The declared requirements that each lock file must satisfy."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    engine, groups = project["project"]["optional-dependencies"]["engine"], project["dependency-groups"]
    together = {
        lock: [*engine, *(r for name in LOCKED_TOGETHER[lock] for r in groups[name])]
        for lock in LOCKED_TOGETHER
    }
    return {**together, **{name: groups[name] for name in LOCKED_APART}}


@pytest.mark.parametrize("lock", [*LOCKED_TOGETHER, *LOCKED_APART])
def test_a_lock_file_satisfies_the_declared_requirements(lock: str) -> None:
    declared = declared_groups()[lock]
    text = (REPOSITORY / "locks" / f"{lock}.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==(\S+)", text, flags=re.MULTILINE)
    for requirement in map(Requirement, declared):
        versions = [version for name, version in pins if name == canonicalize_name(requirement.name)]
        assert versions, f"{requirement} is not in locks/{lock}.txt: run `make lock`"
        assert all(map(requirement.specifier.contains, versions)), f"{requirement}: run `make lock`"
