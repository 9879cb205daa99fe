"""The defaults of all options are equal to the stored defaults."""

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ClusteringRequest
from hudi_table_services.contract.compaction.compaction import CompactionRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.options.archival import resolve_archive_options
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options
from hudi_table_services.options.metadata_table import resolve_metadata_table_options
from hudi_table_services.options.option import AnyOption, Effect, OptionGroup
from hudi_table_services.options.registry import OPTION_GROUPS
from hudi_table_services.options.timeline_only import resolve_service_options
from hudi_table_services.options.writing import resolve_options

STORED = json.loads(
    (Path(__file__).parents[2] / "golden" / "option-defaults.json").read_text(encoding="utf-8")
)
OPTIONS = [option for group in OPTION_GROUPS.values() for option in group]
RESOLVED = {
    "catalog": resolve_catalog_options(SyncCatalogRequest(base_path="/t")),
    "archival": resolve_archive_options(ArchiveRequest(base_path="/t")),
    "cleaning": resolve_clean_options(CleanRequest(base_path="/t")),
    "clustering": resolve_clustering_options(ClusteringRequest(base_path="/t")),
    "compaction": resolve_compaction_options(CompactionRequest(base_path="/t")),
    "metadata_table": resolve_metadata_table_options(RebuildMetadataTableRequest(base_path="/t")),
    "recovery": resolve_service_options(RollbackRequest(base_path="/t", all_failed=True)),
    "writing": resolve_options(UpsertRequest(base_path="/t")),
}


def plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value


def declared(option: AnyOption) -> dict[str, Any]:
    # The stored values of keys that all services read were made before these groups existed, so they lack the groups.
    later = (
        {OptionGroup.TIMELINE, OptionGroup.METADATA_TABLE, OptionGroup.CATALOG, OptionGroup.COMPACTION}
        if len(option.services) > 1
        else set()
    )
    services = [each.value for each in option.services if each not in later]
    return {
        "default": option.default,
        "effect": option.effect.value,
        "aliases": list(option.aliases),
        "services": services,
    }


def test_the_default_of_every_key_equals_the_stored_default() -> None:
    assert {option.key: declared(option) for option in OPTIONS} == STORED["keys"]


@pytest.mark.parametrize("service", RESOLVED)
def test_without_options_the_settings_of_a_service_equal_the_stored_settings(service: str) -> None:
    assert plain(RESOLVED[service]) == STORED["typed"][service]


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.effect is Effect.HONOURED], ids=str)
def test_the_default_of_an_option_is_accepted_as_a_string(option: AnyOption) -> None:
    assert option.parse(option.default) == option.default_value
