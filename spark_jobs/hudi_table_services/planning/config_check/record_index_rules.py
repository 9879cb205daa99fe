"""Rules about the two kinds of record index: for the whole table, and with file groups for each partition."""

from collections.abc import Iterator

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.keys.metadata_table import (
    CREATE_PARTITIONED_RECORD_INDEX,
    CREATE_RECORD_INDEX,
)
from hudi_table_services.options.keys.writing import INDEX_TYPE, METADATA_ENABLE
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule

_PARTITIONS = "hoodie.table.metadata.partitions"
_RECORD_INDEX = "record_index"
_PARTITIONED, _GLOBAL, _TYPE = CREATE_PARTITIONED_RECORD_INDEX.key, CREATE_RECORD_INDEX.key, INDEX_TYPE.key
_GLOBAL_TYPES = ("RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX")
_LOCAL_TYPES = ("SIMPLE", "BLOOM", "RECORD_LEVEL_INDEX", "BUCKET")
_DOCS = "docs/metadata-table.md"


def _has_index(settings: Settings, *, is_partitioned: bool) -> bool:
    """Whether the table has a record index of this kind, and the options do not switch the metadata table off."""
    table = settings.table
    if table is None or settings.is_off(METADATA_ENABLE.key):
        return False
    names = TableConfig(table.properties).metadata_partitions
    return _RECORD_INDEX in names and table.has_partitioned_record_index is is_partitioned


def _is_on(settings: Settings, key: str) -> bool:
    return settings.options.get(key, "").lower() == "true"


@config_rule(
    "record-index-kind",
    Severity.ERROR,
    f"{_PARTITIONED} contradicts the kind of the table's record index: Hudi's writes fail, or store keys in wrong file "
    "groups of the index without an error. Later writes do not find these keys, and write duplicates",
    source="HoodieBackedTableMetadataWriter.getRecordTagger",
    engines="hudi",
)
def _record_index_kind(settings: Settings) -> Iterator[Problem]:
    if _has_index(settings, is_partitioned=True) and not _is_on(settings, _PARTITIONED):
        yield Problem(
            keys=(_PARTITIONED,),
            properties=(_PARTITIONS,),
            reason="The record index has file groups for each partition of the table. Without this option, Hudi "
            "chooses file groups as in a record index for the whole table.",
            cure=f"Set {_PARTITIONED}=true in all writers and services of Hudi, or drop the index once with "
            "rebuild_metadata_table.py --drop record_index.",
        )
    if _has_index(settings, is_partitioned=False) and _is_on(settings, _PARTITIONED):
        yield Problem(
            keys=(_PARTITIONED,),
            properties=(_PARTITIONS,),
            reason="The record index has file groups for the whole table. With this option, Hudi looks for file groups "
            "of each partition.",
            cure=f"Set {_GLOBAL}=true instead, or drop the index once with rebuild_metadata_table.py --drop "
            "record_index.",
        )


@config_rule(
    "record-index-unused",
    Severity.WARNING,
    f"{_TYPE} requires a record index for the whole table, but the table has a partitioned record index: writes cannot "
    "use the index, and search all files",
    source=_DOCS,
)
def _record_index_unused(settings: Settings) -> Iterator[Problem]:
    value = settings.text(_TYPE).upper()
    if _has_index(settings, is_partitioned=True) and value in _GLOBAL_TYPES:
        yield Problem(
            keys=(_TYPE,),
            properties=(_PARTITIONS,),
            reason=f"With {value}, record keys are unique in the whole table, but the index locates a key only "
            "within one partition.",
            cure=f"Set {_TYPE}=RECORD_LEVEL_INDEX if keys are unique in each partition; otherwise build a record index "
            f"for the whole table with rebuild_metadata_table.py --partitions record_index and {_GLOBAL}=true.",
        )


@config_rule(
    "record-index-keys-not-global",
    Severity.WARNING,
    f"the table has a record index for the whole table, but {_TYPE} permits the same record key in several partitions. "
    "The index stores only one location of such a key, and a delete in one partition removes the key from the index",
    source=_DOCS,
)
def _record_index_keys_not_global(settings: Settings) -> Iterator[Problem]:
    value = settings.text(_TYPE).upper()
    if _has_index(settings, is_partitioned=False) and settings.has(_TYPE) and value in _LOCAL_TYPES:
        yield Problem(
            keys=(_TYPE,),
            properties=(_PARTITIONS,),
            reason=f"{value} allows a record key in several partitions. A later write that uses the record index then "
            "does not find rows, and writes these rows a second time.",
            cure="If keys are unique in the whole table, accept this rule. Otherwise drop the index with "
            "rebuild_metadata_table.py --drop record_index, and build a partitioned record index with "
            f"rebuild_metadata_table.py --partitions record_index and {_PARTITIONED}=true.",
        )


RECORD_INDEX_RULES = (_record_index_kind, _record_index_unused, _record_index_keys_not_global)
