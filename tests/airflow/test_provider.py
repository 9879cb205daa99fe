"""What Airflow sees of the provider: entry points, provider information, imports."""

import importlib
import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import jsonschema
import pytest

from airflow_hudi_provider.get_provider_info import get_provider_info

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "airflow_hudi_provider"
MODULES = sorted(
    ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
)

IMPORT_LIGHTLY = """
import sys, time
import airflow.sdk
import airflow.providers.apache.spark.operators.spark_submit
import airflow.providers.common.compat.sdk as compat
compat.BaseSensorOperator, compat.AirflowPlugin
from airflow.triggers.base import BaseTrigger
before = set(sys.modules)
started = time.process_time()
import airflow_hudi_provider.operators.clustering
import airflow_hudi_provider.operators.upsert
import airflow_hudi_provider.sensors.commit_count
import airflow_hudi_provider.sensors.instant
import airflow_hudi_provider.plugins.hudi_plugin
seconds = time.process_time() - started
heavy = {"pyspark", "pyarrow", "fastavro", "numpy", "obstore", "pandas"} & (set(sys.modules) - before)
print(seconds, sorted(heavy))
"""


def schema(name: str) -> dict[str, object]:
    import airflow

    return json.loads((Path(airflow.__file__).parent / name).read_text())


def test_provider_information_is_valid() -> None:
    jsonschema.validate(get_provider_info(), schema("provider_info.schema.json"))


def test_connection_form_is_valid() -> None:
    whole = schema("provider.yaml.schema.json")
    part = {**whole["properties"]["connection-types"], "definitions": whole.get("definitions", {})}  # type: ignore[index]
    jsonschema.validate(get_provider_info()["connection-types"], part)


def test_both_entry_points_are_installed() -> None:
    (provider,) = (e for e in entry_points(group="apache_airflow_provider") if "hudi" in e.value)
    assert provider.load()()["package-name"] == "airflow-provider-hudi"
    (plugin,) = (e for e in entry_points(group="airflow.plugins") if "hudi" in e.value)
    assert plugin.load().name == "hudi"


def test_every_named_module_and_class_exists() -> None:
    info = get_provider_info()
    for kind in ("hooks", "operators", "sensors", "triggers"):
        for entry in info[kind]:
            for module in entry["python-modules"]:
                importlib.import_module(module)
    for connection in info["connection-types"]:
        module, _, name = connection["hook-class-name"].rpartition(".")
        assert getattr(importlib.import_module(module), name).conn_type == connection["connection-type"]
    for uris in info["asset-uris"]:
        for place in (uris["handler"], uris["factory"]):
            module, _, name = place.rpartition(".")
            assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("module", MODULES)
def test_every_module_can_be_imported(module: str) -> None:
    importlib.import_module(module)


def test_airflow_lists_provider_connection_type_and_plugin(airflow_db: None) -> None:
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()
    assert "airflow-provider-hudi" in manager.providers
    assert manager.hooks["hudi"].hook_name == "Apache Hudi"
    assert "hudi" in manager.asset_uri_handlers


def test_the_macro_is_there_in_templates() -> None:
    from datetime import datetime, timezone

    from airflow_hudi_provider.plugins.hudi_plugin import HudiPlugin

    (macro,) = HudiPlugin.macros
    assert macro(datetime(2013, 1, 2, 3, 4, 5, 678000, timezone.utc)) == "20130102030405678"


def test_importing_is_light_and_fast() -> None:
    """Half a second of the processor beyond Airflow itself, and no package that only jobs need; the better of two."""
    seconds = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", IMPORT_LIGHTLY], capture_output=True, text=True, check=True, env=os.environ
        )
        took, _, heavy = done.stdout.strip().splitlines()[-1].partition(" ")
        assert heavy == "[]"
        seconds.append(float(took))
    assert min(seconds) < 0.5


@pytest.mark.parametrize("base_path", ["s3://lake/flights", "s3a://lake/flights/", "s3n://lake//flights"])
def test_one_table_has_one_asset_uri(base_path: str) -> None:
    from airflow_hudi_provider.assets import hudi_asset

    assert hudi_asset(base_path).uri == "hudi://s3/lake/flights"


def test_asset_uris_of_local_tables_and_of_mistakes() -> None:
    from airflow.sdk import Asset

    from airflow_hudi_provider.assets import asset_uri, hudi_asset

    assert hudi_asset("/data/my flights/").uri == "hudi://file/data/my%20flights"
    for mistake in ("{{ params.table }}", "flights", ""):
        with pytest.raises(ValueError, match="base path|absolute"):
            asset_uri(mistake)
    with pytest.raises(ValueError, match="hudi://<scheme>/<path>"):
        Asset(uri="hudi://")
