"""Find out whether a changed module of ``tests/``, page, or file of ``benchmarks/`` can affect a group of tests."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = "tests"
BENCHMARKS = "benchmarks"
PAGES = (".md", ".svg")
"""Ends of the names of pages and of their pictures."""

_WORDS = re.compile(r"[\w.-]*\w")


def affects(root: Path, changed: str, folders: Iterable[str]) -> bool:
    """Whether a module below ``tests/``, a page, or a file of ``benchmarks/`` can affect the tests in some folders.

    A module affects a test that imports the module, directly or through other modules of ``tests/``. The name of a
    module in a string counts as an import, because pytest loads plugins by name, and some tests start modules as
    programs. In the same way, a page affects the tests that name its file. A ``conftest.py`` affects the tests in its
    folder and in all folders below. A ``sitecustomize.py`` affects the tests that name its folder. A file of
    ``benchmarks/`` affects the tests that import a package of this folder, or name the folder.

    Args:
        root: folder of the repository.
        changed: path of the file, relative to `root`. The file may have been deleted.
        folders: folders of the tests, relative to `root`.
    """
    places = [root / folder for folder in folders]
    if _is_below(root / changed, places):
        return True
    names = _packages_of_benchmarks(root) if _is_benchmark(changed) else _names(changed)
    modules = _modules(root)
    open_ = [path for path in modules if _is_below(path, places) or _is_conftest_of(path, places)]
    seen = set(open_)
    while open_:
        mentioned = modules[open_.pop()].mentioned
        if names & mentioned:
            return True
        found = [path for path in modules if path not in seen and modules[path].names & mentioned]
        seen.update(found)
        open_ += found
    return root / changed in seen


@dataclass(frozen=True)
class _Module:
    names: frozenset[str]
    mentioned: frozenset[str]


@cache
def _modules(root: Path) -> dict[Path, _Module]:
    return {
        path: _Module(_names(path.relative_to(root).as_posix()), _mentioned(path))
        for path in sorted((root / TESTS).rglob("*.py"))
    }


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(folder in path.parents for folder in folders)


def _is_conftest_of(path: Path, folders: Iterable[Path]) -> bool:
    return path.name == "conftest.py" and any(path.parent in folder.parents for folder in folders)


def _is_benchmark(path: str) -> bool:
    return path.startswith(f"{BENCHMARKS}/")


def _packages_of_benchmarks(root: Path) -> frozenset[str]:
    """The folder and its packages. Any of their modules may import any other, so all of them count as one."""
    return frozenset({BENCHMARKS, *(each.parent.name for each in (root / BENCHMARKS).glob("*/__init__.py"))})


def _names(path: str) -> frozenset[str]:
    """Names by which a module may be imported: its dotted path below ``tests/``, and each end of this path.

    Tests name a page by its file name, and put the folder of a ``sitecustomize.py`` on the path of modules.
    """
    if path.endswith(PAGES):
        return frozenset({Path(path).name})
    if Path(path).name == "sitecustomize.py":
        return frozenset({Path(path).parent.name})
    parts = Path(path).with_suffix("").parts[1:]
    if parts[-1:] == ("__init__",):
        parts = parts[:-1]
    return frozenset({Path(path).name, *(".".join(parts[start:]) for start in range(len(parts)))})


def _mentioned(path: Path) -> frozenset[str]:
    """Names of modules that a module imports, or that one of its strings contains, such as a program for ``-c``."""
    return frozenset(_found(ast.parse(path.read_text(encoding="utf-8"))))


def _found(tree: ast.Module) -> Iterator[str]:
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _with_parents(each.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from _with_parents(node.module)
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield from _WORDS.findall(node.value)


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
