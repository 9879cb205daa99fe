"""The workload profile of an inflight write: what it is going to write, and which file groups it is going to replace.

Hudi's own profile names the file groups that get new rows. Those that an overwrite takes out stand in its completed
instant only, so ours name them in the extra metadata, where every release of Hudi lets them be. Were they in the field
of the completed instant, the Avro record of table versions 8 and 9 would be one that Hudi does not expect there.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.json_text import decode_json_object
from hudi_table_services.hudi_format.untyped import Untyped
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata

REPLACES_KEY = "airflow.replaces"
"""Key in the extra metadata of an inflight write: a JSON object, partition path → ids of file groups."""


def encode_workload_profile(profile: CommitMetadata, version: TableVersion) -> bytes:
    """Content of an inflight commit or replace commit.

    Args:
        profile: `partition_to_replace_file_ids` holds what the write is going to replace; None: it only writes.
    """
    replaced = profile.partition_to_replace_file_ids
    if replaced is None:
        return encode_commit_metadata(profile, version)
    told = json.dumps({path: list(ids) for path, ids in replaced.items()})
    stored = replace(
        profile,
        extra_metadata={**profile.extra_metadata, REPLACES_KEY: told},
        partition_to_replace_file_ids=None,
    )
    return encode_commit_metadata(stored, version)


def replaced_by_profile(profile: CommitMetadata) -> Mapping[str, tuple[str, ...]]:
    """Partition path → ids of file groups that an inflight write is going to replace; empty: it names none.

    Raises:
        MalformedMetadataError: they cannot be read.
    """
    told = profile.extra_metadata.get(REPLACES_KEY)
    if told is None:
        return profile.partition_to_replace_file_ids or {}
    record = {REPLACES_KEY: decode_json_object(told.encode(), REPLACES_KEY)}
    return Untyped(record, "workload profile").text_lists(REPLACES_KEY)
