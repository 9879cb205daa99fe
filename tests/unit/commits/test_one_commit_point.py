"""One function completes instants, one module changes the metadata table, and only `commits` changes a timeline."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
ENGINE = REPOSITORY / "spark_jobs" / "hudi_table_services"
PRODUCT_CODE = (ENGINE, REPOSITORY / "airflow_hudi_provider")

# Methods of TimelineStore that write, and names of variables that contain a TimelineStore. The names of the variables
# are necessary because other classes have methods with the same names.
WRITING = {
    "begin_savepoint",
    "complete",
    "remove",
    "remove_archived",
    "remove_completed",
    "request",
    "return_to_requested",
    "start",
}
STORES = {"timeline_store", "_store", "store"}
METADATA_TABLE_FUNCTIONS = {"disable_metadata_table", "remove_unlisted_metadata_table"}


def writing_calls(source: str) -> Iterator[str]:
    """Names of the called methods that write a timeline; each call gives one name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = ast.unparse(node.func.value).rpartition(".")[2]
            if node.func.attr in WRITING and receiver in STORES:
                yield node.func.attr


def imported_names(source: str) -> Iterator[str]:
    """Full names of all modules, classes and functions that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def calls_by_module() -> dict[str, list[str]]:
    found = {}
    for root in PRODUCT_CODE:
        for path in sorted(root.rglob("*.py")):
            calls = list(writing_calls(path.read_text(encoding="utf-8")))
            if calls:
                found[path.relative_to(root.parent).as_posix()] = calls
    return found


@cache
def imports_by_module() -> dict[str, list[str]]:
    return {
        path.relative_to(root.parent).as_posix(): list(imported_names(path.read_text(encoding="utf-8")))
        for root in PRODUCT_CODE
        for path in sorted(root.rglob("*.py"))
    }


def importers(name: str) -> list[str]:
    found = imports_by_module().items()
    return [
        module
        for module, names in found
        if any(each == name or each.startswith(f"{name}.") for each in names)
    ]


COMMIT_POINT = "hudi_table_services/commits/commit_point.py"
# Prefix of the names of all three packages.
METADATA_TABLE_PACKAGES = "hudi_table_services/commits/metadata_table"
# Modules outside of these packages that import a package. Jobs that build or drop the metadata table call the builder,
# because they change no instant of the table (ADR 37).
CALLERS = {
    "metadata_table": {COMMIT_POINT},
    "metadata_table_building": {
        COMMIT_POINT,
        "hudi_table_services/jobs/metadata_table/preview.py",
        "hudi_table_services/jobs/metadata_table/rebuild.py",
    },
    "metadata_table_services": set(),
}


def test_only_one_call_completes_instants() -> None:
    """The packages about the metadata table complete the instants of that table, which has its own timeline."""
    places = [module for module, calls in calls_by_module().items() for name in calls if name == "complete"]
    assert [place for place in places if not place.startswith(METADATA_TABLE_PACKAGES)] == [COMMIT_POINT]


def test_only_the_package_named_commits_changes_a_timeline() -> None:
    modules = calls_by_module()
    assert len(modules) > 3
    assert [module for module in modules if not module.startswith("hudi_table_services/commits/")] == []


def test_only_listed_modules_call_the_packages_about_the_metadata_table() -> None:
    packages = {path.name for path in (ENGINE / "commits").glob("metadata_table*") if path.is_dir()}
    callers = {
        package: {
            module
            for module in importers(f"hudi_table_services.commits.{package}")
            if not module.startswith(METADATA_TABLE_PACKAGES)
        }
        for package in packages
    }
    assert callers == CALLERS


def test_only_the_packages_about_the_metadata_table_switch_it_off() -> None:
    for function in METADATA_TABLE_FUNCTIONS:
        name = f"hudi_table_services.storage.table_store.{function}"
        callers = importers(name)
        assert callers
        assert all(module.startswith(METADATA_TABLE_PACKAGES) for module in callers)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("table.timeline_store.complete(pending, content)", ["complete"]),
        ("self._store.start(pending)", ["start"]),
        ("store.request(action)", ["request"]),
        ("store.remove_archived(instants)", ["remove_archived"]),
        ("attempt.complete(metadata)", []),
        ("heartbeat.start()", []),
        ("store.load()", []),
    ],
)
def test_the_search_finds_calls_that_write(source: str, found: list[str]) -> None:
    assert list(writing_calls(source)) == found


def test_the_search_finds_imports_of_functions_and_modules() -> None:
    source = "from a.b import c\nimport d.e"
    assert list(imported_names(source)) == ["a.b.c", "d.e"]
