"""The file groups that an inflight write will replace, stored in addition to Hudi's own workload profile."""

from collections.abc import Mapping

import pytest

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.avro_container import MAGIC, container_record_name
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata, encode_commit_metadata
from hudi_table_services.hudi_format.timeline_schemas import COMMIT_METADATA
from hudi_table_services.hudi_format.workload_profile import (
    REPLACES_KEY,
    encode_workload_profile,
    replaced_by_profile,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation

VERSIONS = (TableVersion.V6, TableVersion.V8, TableVersion.V9)
REPLACED = {"a=ä/b": ("f1-0", "f2-0"), "": ("f3-0",)}


def profile(
    replaced: Mapping[str, tuple[str, ...]] | None = None, extra: Mapping[str, str] | None = None
) -> CommitMetadata:
    return CommitMetadata(
        operation_type=WriteOperation.INSERT_OVERWRITE,
        partition_to_write_stats={},
        extra_metadata=extra or {},
        partition_to_replace_file_ids=replaced,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_replaced_file_groups_are_decoded_from_a_profile_in_hudis_form(version: TableVersion) -> None:
    stored = profile(REPLACED, {"mine": "1"})
    content = encode_workload_profile(stored, version)
    decoded = decode_commit_metadata(content)
    assert replaced_by_profile(decoded) == REPLACED
    assert decoded.extra_metadata["mine"] == "1"
    assert decoded.partition_to_replace_file_ids is None
    if content.startswith(MAGIC):
        assert container_record_name(content) == COMMIT_METADATA["name"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_that_replaces_nothing_has_exactly_hudis_profile(version: TableVersion) -> None:
    assert decode_commit_metadata(encode_workload_profile(profile(), version)) == profile()
    assert replaced_by_profile(profile()) == {}


def test_a_profile_in_the_form_of_a_completed_instant_is_decoded() -> None:
    stored = profile(REPLACED)
    decoded = decode_commit_metadata(encode_commit_metadata(stored, TableVersion.V6))
    assert replaced_by_profile(decoded) == REPLACED


@pytest.mark.parametrize("encoded", ["", "[]", '{"a": 1}', '{"a": [1]}'])
def test_a_value_that_is_not_a_list_of_file_groups_is_refused(encoded: str) -> None:
    with pytest.raises(MalformedMetadataError):
        replaced_by_profile(profile(extra={REPLACES_KEY: encoded}))
