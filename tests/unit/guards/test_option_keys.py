"""The product's code contains the key of an option only in its declaration, in `options/keys`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hudi_table_services.options.option import Effect
from hudi_table_services.options.registry import KNOWN_OPTIONS

REPOSITORY = Path(__file__).parents[3]
PRODUCT = [REPOSITORY / "airflow_hudi_provider", REPOSITORY / "spark_jobs"]
ENGINE = "spark_jobs/hudi_table_services"
DECLARATIONS = f"{ENGINE}/options/keys/"
KEY = re.compile(r"(?<![\w.])_?hoodie(?:\.\w+)+")

# Names of properties in hoodie.properties, which the format defines. Some options have the same name.
PROPERTIES = {
    "hoodie.compaction.payload.class",
    "hoodie.database.name",
    "hoodie.datasource.write.drop.partition.columns",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.populate.meta.fields",
    "hoodie.record.merge.mode",
}
PROPERTY_PREFIX = "hoodie.table."
# The layers below `options` cannot import `options`.
BELOW = (f"{ENGINE}/model/", f"{ENGINE}/contract/", f"{ENGINE}/hudi_format/")


def texts(tree: ast.Module) -> Iterator[str]:
    """Return the string constants of a module, except its docstrings."""
    prose = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def is_option(key: str) -> bool:
    option = KNOWN_OPTIONS.get(key)
    is_property = key in PROPERTIES or key.startswith(PROPERTY_PREFIX)
    return option is not None and option.effect is Effect.HONOURED and not is_property


def spelled(path: Path) -> list[str]:
    found = (key for text in texts(ast.parse(path.read_text(encoding="utf-8"))) for key in KEY.findall(text))
    return [key for key in found if is_option(key)]


def test_no_key_of_an_option_is_spelled_outside_its_declaration() -> None:
    paths = [path for folder in PRODUCT for path in sorted(folder.rglob("*.py"))]
    names = {path.relative_to(REPOSITORY).as_posix(): path for path in paths}
    found = {
        name: keys
        for name, path in names.items()
        if not name.startswith((DECLARATIONS, *BELOW)) and (keys := spelled(path))
    }
    assert found == {}


def test_a_key_that_the_contract_spells_is_known() -> None:
    paths = sorted((REPOSITORY / ENGINE / "contract").rglob("*.py"))
    found = {
        key for path in paths for text in texts(ast.parse(path.read_text())) for key in KEY.findall(text)
    }
    assert found
    assert found <= KNOWN_OPTIONS.keys()


def test_a_key_is_declared_once() -> None:
    declarations = sorted((REPOSITORY / DECLARATIONS).glob("*.py"))
    declared = [
        node.args[0].value
        for path in declarations
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "option"
        if isinstance(node.args[0], ast.Constant)
    ]
    assert len(declared) == len(set(declared)) > 100
