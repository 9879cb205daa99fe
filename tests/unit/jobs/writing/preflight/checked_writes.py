"""Requests of writes, and the errors of their checks."""

from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.jobs.writing.preflight import check_write
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, SCHEMA_KEY, CommitMetadata, WriteOperation
from support.small_tables import SmallTable

SCHEMA = """{"type": "record", "name": "trips", "fields": [
    {"name": "id", "type": "long"},
    {"name": "city", "type": ["null", "string"], "default": null},
    {"name": "price", "type": ["null", "double"], "default": null}]}"""


def committed(made: SmallTable) -> SmallTable:
    """The table after one commit, which the request ``done`` made."""
    store = made.timeline_store
    extra = {REQUEST_ID_KEY: "done", SCHEMA_KEY: SCHEMA}
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT, partition_to_write_stats={}, extra_metadata=extra
    )
    store.complete(made.begin(), encode_commit_metadata(metadata, TableVersion.V9))
    return made


def request(base: Path, source: object, **fields: Any) -> UpsertRequest:
    spec = source if isinstance(source, SourceSpec) else SourceSpec(path=str(source))
    known = {"table_name": "trips", "record_key": ("id",), "partition_by": ("city",), **fields}
    return UpsertRequest(base_path=str(base / "t"), source=spec, **known)


def csv(path: Path, text: str, **options: str) -> SourceSpec:
    path.write_text(text)
    return SourceSpec(path=str(path), format="csv", options=options)


def refusal(checked: UpsertRequest) -> str:
    with pytest.raises(HudiTableServiceError) as caught:
        check_write(checked)
    return str(caught.value)
