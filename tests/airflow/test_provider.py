"""Entry points, provider information, imports and assets of the provider."""

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
begun = time.process_time()
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
print(seconds / (started - begun), sorted(heavy))
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


@pytest.mark.parametrize("kind", ["hooks", "operators", "sensors", "triggers"])
def test_exactly_the_modules_with_classes_for_users_are_named(kind: str) -> None:
    """A class is for users if its name is public and no other class of the package derives from it."""
    classes = {
        value
        for name in MODULES
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and value.__module__ == name
    }
    bases = {base for each in classes for base in each.__bases__}
    for_users = {each.__module__ for each in classes - bases if not each.__name__.startswith("_")}
    (entry,) = get_provider_info()[kind]
    assert entry["python-modules"] == sorted(
        name for name in for_users if name.startswith(f"{PACKAGE.name}.{kind}.")
    )


def test_every_named_class_and_function_exists() -> None:
    info = get_provider_info()
    for connection in info["connection-types"]:
        module, _, name = connection["hook-class-name"].rpartition(".")
        assert getattr(importlib.import_module(module), name).conn_type == connection["connection-type"]
    for notifier in info["notifications"]:
        module, _, name = notifier.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name).notify)
    for link in info["extra-links"]:
        module, _, name = link.rpartition(".")
        assert getattr(importlib.import_module(module), name)().name
    for uris in info["asset-uris"]:
        for place in (uris["handler"], uris["factory"], uris["to_openlineage_converter"]):
            module, _, name = place.rpartition(".")
            assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("module", MODULES)
def test_every_module_can_be_imported(module: str) -> None:
    importlib.import_module(module)


def test_airflow_lists_the_provider_its_connection_type_and_its_plugin(airflow_db: None) -> None:
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()
    assert "airflow-provider-hudi" in manager.providers
    assert manager.hooks["hudi"].hook_name == "Apache Hudi"
    assert "hudi" in manager.asset_uri_handlers


def test_the_plugin_provides_the_macro_for_instant_times() -> None:
    from datetime import datetime, timezone

    from airflow_hudi_provider.plugins.hudi_plugin import HudiPlugin

    (macro,) = HudiPlugin.macros
    assert macro(datetime(2013, 1, 2, 3, 4, 5, 678000, timezone.utc)) == "20130102030405678"


def test_importing_the_package_is_fast_and_loads_no_packages_of_jobs() -> None:
    """The imports take less than 30 % of Airflow's import time (in one of 2 tries) and load no package of the jobs."""
    shares: list[float] = []
    while len(shares) < 2 and min(shares, default=1) >= 0.3:
        done = subprocess.run(
            [sys.executable, "-c", IMPORT_LIGHTLY], capture_output=True, text=True, check=True, env=os.environ
        )
        share, _, heavy = done.stdout.strip().splitlines()[-1].partition(" ")
        assert heavy == "[]"
        shares.append(float(share))
    assert min(shares) < 0.3


@pytest.mark.parametrize("base_path", ["s3://lake/flights", "s3a://lake/flights/", "s3n://lake//flights"])
def test_one_table_has_one_asset_uri(base_path: str) -> None:
    from airflow_hudi_provider.assets import HudiAsset

    assert HudiAsset(base_path).uri == "hudi://s3/lake/flights"


def test_local_tables_have_asset_uris_and_relative_paths_have_none() -> None:
    from airflow.sdk import Asset

    from airflow_hudi_provider.assets import HudiAsset, asset_uri

    assert HudiAsset("/data/my flights/").uri == "hudi://file/data/my%20flights"
    for mistake in ("{{ params.table }}", "flights", ""):
        with pytest.raises(ValueError, match="base path|absolute"):
            asset_uri(mistake)
    with pytest.raises(ValueError, match="hudi://<scheme>/<path>"):
        Asset(uri="hudi://")


def test_views_are_separate_assets_of_one_table() -> None:
    from airflow_hudi_provider.assets import HudiAsset, base_path_of

    plain, view = HudiAsset("s3a://lake/my flights"), HudiAsset("s3a://lake/my flights", view="every-4")
    assert view.uri == f"{plain.uri}?view=every-4"
    assert base_path_of(view.uri) == base_path_of(plain.uri) == "s3://lake/my flights"
    assert base_path_of(HudiAsset("/data/flights").uri) == "/data/flights"
    with pytest.raises(ValueError, match="view="):
        HudiAsset("/data/flights", view="a b")


def test_different_paths_of_one_table_have_the_same_page() -> None:
    from airflow_hudi_provider.tables.registry import RegisteredTable

    def page(path: str, *conns: str | None) -> str:
        return RegisteredTable.of("t", path, *(conns or (None, None))).table_id

    assert page("s3://lake/flights") == page("s3a://lake/flights/", None, "aws")
    assert page("s3://lake/flights") != page("s3://lake/trips")
    assert page("flights", "lake", None) != page("flights", "other", None)
