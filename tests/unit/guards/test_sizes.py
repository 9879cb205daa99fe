"""Limits for the size of modules, functions and folders. The targets in CONTRIBUTING are far lower."""

import ast
import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
ENGINE = sorted((REPOSITORY / "spark_jobs").rglob("*.py"))
PROVIDER = sorted((REPOSITORY / "airflow_hudi_provider").rglob("*.py"))
TESTS = sorted((REPOSITORY / "tests").rglob("*.py"))

MODULE_LINES = 400
TEST_MODULE_LINES = 800
CONFTEST_LINES = 100
FOLDER_MODULES = 20
# This folder has one module per kind of file, named as in the specification of the format.
LARGE_FOLDERS = {"spark_jobs/hudi_table_services/hudi_format"}
FUNCTION_LINES = 60
ARGUMENTS = 6

Function = ast.FunctionDef | ast.AsyncFunctionDef


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@functools.cache
def functions() -> tuple[tuple[str, Function], ...]:
    return tuple(found_functions())


def found_functions() -> Iterator[tuple[str, Function]]:
    for path in ENGINE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}", node


def argument_count(function: Function) -> int:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def too_long(paths: list[Path], limit: int) -> list[str]:
    return [
        f"{path.relative_to(REPOSITORY)}: {line_count(path)} lines"
        for path in paths
        if line_count(path) > limit
    ]


def test_the_measured_files_exist() -> None:
    assert len(ENGINE) > 20
    assert TESTS


def test_modules_are_short() -> None:
    assert too_long([*ENGINE, *PROVIDER], MODULE_LINES) == []


def test_test_modules_are_short() -> None:
    assert too_long(TESTS, TEST_MODULE_LINES) == []
    assert too_long([path for path in TESTS if path.name == "conftest.py"], CONFTEST_LINES) == []


def modules_by_folder() -> Counter[str]:
    modules = [path for path in (*ENGINE, *PROVIDER, *TESTS) if path.name != "__init__.py"]
    return Counter(path.parent.relative_to(REPOSITORY).as_posix() for path in modules)


def test_no_folder_has_too_many_modules() -> None:
    counts = modules_by_folder()
    assert len(counts) > 40
    too_many = {folder for folder, count in counts.items() if count > FOLDER_MODULES}
    assert too_many - LARGE_FOLDERS == set()


def test_functions_are_short() -> None:
    lengths = {name: node.end_lineno - node.lineno + 1 for name, node in functions() if node.end_lineno}
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}


def test_functions_have_few_parameters() -> None:
    counts = {name: argument_count(node) for name, node in functions()}
    assert {name: count for name, count in counts.items() if count > ARGUMENTS} == {}


def is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)


def test_packages_have_a_docstring_and_no_code() -> None:
    """A package may also define its version. Only the contract, which Airflow imports, re-exports names."""
    packages = [path for path in ENGINE if path.name == "__init__.py" and path.parent.name != "contract"]
    bodies = {path: ast.parse(path.read_text(encoding="utf-8")) for path in packages}
    assert packages
    assert [path for path, body in bodies.items() if not ast.get_docstring(body)] == []
    assert [path for path, body in bodies.items() if not all(map(is_constant, body.body[1:]))] == []
