"""Limits for the size of modules, functions and folders. The targets in CONTRIBUTING are far lower."""

import ast
import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hudi_table_services.services.registry import SERVICES

REPOSITORY = Path(__file__).parents[3]
ENGINE = sorted((REPOSITORY / "spark_jobs").rglob("*.py"))
PROVIDER = sorted((REPOSITORY / "airflow_hudi_provider").rglob("*.py"))
TESTS = sorted((REPOSITORY / "tests").rglob("*.py"))

MODULE_LINES = 400
CONFTEST_LINES = 100
FOLDER_MODULES = 20
# This folder has one module per kind of file, named as in the specification of the format.
LARGE_FOLDERS = {"spark_jobs/hudi_table_services/hudi_format"}
# Nouns of services that name modules in several folders; see CONTRIBUTING.
NOUNS = {service.name for service in SERVICES}
# Other names of modules in several folders. In each of them, the folder names the service or the kind of content.
REPEATED_NAMES = {
    "base_files": {"options", "options/keys", "storage/metadata_table"},
    "cancel": {"jobs/clustering", "jobs/compaction"},
    "checks": {"commits", "jobs/archival"},
    "execute": {"jobs/clustering", "jobs/compaction"},
    "executed": {"jobs/clustering", "jobs/compaction"},
    "file_groups": {"execution", "hudi_format/metadata_table"},
    "file_sizing": {"model", "planning/file_sizing"},
    "group_files": {"jobs/clustering", "storage/metadata_table"},
    "key_generation": {"execution/writing", "options/keys"},
    "key_generator": {"model", "planning/table"},
    "locks": {"options", "options/keys"},
    "markers": {"hudi_format", "storage"},
    "reader": {"hudi_format/hfile", "options"},
    "rebuild": {"commits/metadata_table_building", "jobs/metadata_table"},
    "record_locations": {"planning/metadata_table", "storage/metadata_table"},
    "registry": {"options", "services"},
    "reporting": {"jobs/cleaning", "jobs/clustering", "jobs/compaction", "jobs/recovery", "jobs/writing"},
    "run": {
        "commits/metadata_table_services",
        "execution/clustering",
        "execution/compaction",
        "jobs/clustering",
        "jobs/compaction",
    },
    "schedule": {"jobs/clustering", "jobs/compaction"},
    "secondary_indexes": {"planning/metadata_table", "tables"},
    "source_columns": {"execution/sources", "planning/table"},
    "start": {"jobs/clustering", "jobs/compaction"},
    "stored_plan": {"planning/cleaning", "planning/clustering", "planning/compaction"},
    "table_service_plans": {"hudi_format", "model"},
    "time_partitions": {"execution/writing", "options/keys"},
    "undo": {"commits", "commits/metadata_table"},
}
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


def test_the_test_modules_of_a_group_have_different_names() -> None:
    """Pytest imports all modules of a group by their names, without their folders."""
    names = Counter(
        (path.relative_to(REPOSITORY).parts[1], path.name) for path in TESTS if path.name.startswith("test_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_the_measured_files_exist() -> None:
    assert len(ENGINE) > 20
    assert TESTS


def test_modules_are_short() -> None:
    assert too_long([*ENGINE, *PROVIDER, *TESTS], MODULE_LINES) == []


def test_conftest_modules_are_short() -> None:
    assert too_long([path for path in TESTS if path.name == "conftest.py"], CONFTEST_LINES) == []


def modules_by_folder() -> Counter[str]:
    modules = [path for path in (*ENGINE, *PROVIDER, *TESTS) if path.name != "__init__.py"]
    return Counter(path.parent.relative_to(REPOSITORY).as_posix() for path in modules)


def test_no_folder_has_too_many_modules() -> None:
    counts = modules_by_folder()
    assert len(counts) > 40
    too_many = {folder for folder, count in counts.items() if count > FOLDER_MODULES}
    assert too_many - LARGE_FOLDERS == set()


def test_only_listed_names_of_modules_repeat() -> None:
    root = REPOSITORY / "spark_jobs" / "hudi_table_services"
    folders: dict[str, set[str]] = {}
    for path in ENGINE:
        if path.is_relative_to(root) and path.name != "__init__.py" and path.stem not in NOUNS:
            folders.setdefault(path.stem, set()).add(path.parent.relative_to(root).as_posix())
    assert {name: found for name, found in folders.items() if len(found) > 1} == REPEATED_NAMES


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
