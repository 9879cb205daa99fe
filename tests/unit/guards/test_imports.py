"""Imports between layers follow the contracts, and the light layers need only the standard library."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
ENGINE = REPOSITORY / "spark_jobs" / "hudi_table_services"

# Airflow imports these layers in places where only the standard library is guaranteed.
LIGHT_LAYERS = ("errors", "model", "contract", "options", "planning")

IMPORT_WITH_HEAVY_PACKAGES_REFUSED = """
import importlib, sys

HEAVY = {"airflow", "fastavro", "fsspec", "numpy", "obstore", "pandas", "pyarrow", "pyspark"}

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ImportError(f"{name} was imported")

sys.meta_path.insert(0, Refuse())
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def module_names(layer: str) -> list[str]:
    root = ENGINE / layer
    paths = sorted(root.rglob("*.py")) if root.is_dir() else [root.with_suffix(".py")]
    names = (".".join(path.relative_to(ENGINE.parent).with_suffix("").parts) for path in paths)
    return [name.removesuffix(".__init__") for name in names]


def test_imports_follow_the_contracts() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(ENGINE.parent)}
    linted = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_light_layers_need_only_the_standard_library() -> None:
    names = [name for layer in LIGHT_LAYERS for name in module_names(layer)]
    assert len(names) > 10
    command = [sys.executable, "-c", IMPORT_WITH_HEAVY_PACKAGES_REFUSED, *names]
    imported = subprocess.run(command, cwd=ENGINE.parent, capture_output=True, text=True, check=False)
    assert imported.returncode == 0, imported.stderr
