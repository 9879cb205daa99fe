"""The workload profile of an inflight write: the file groups to which the write adds rows, or which it replaces.

Hudi's own profile names only the file groups that get new rows. For an overwrite, Hudi names the replaced file groups
only in the completed instant. This project also names the replaced file groups in the inflight instant, under a key
of the extra metadata that every release of Hudi ignores. An inflight instant cannot use the field of the completed
instant: with this field, the Avro record in table versions 8 and 9 would have a type that Hudi does not expect in an
inflight file.
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
"""Key in the extra metadata of an inflight write. The value is a JSON object that maps each partition path
to ids of file groups."""


def encode_workload_profile(profile: CommitMetadata, version: TableVersion) -> bytes:
    """Encode an inflight commit or replace commit.

    Args:
        profile: `partition_to_replace_file_ids` names the file groups that the write will replace; None if it replaces
            no file groups.
    """
    replaced = profile.partition_to_replace_file_ids
    if replaced is None:
        return encode_commit_metadata(profile, version)
    encoded = json.dumps({path: list(ids) for path, ids in replaced.items()})
    stored = replace(
        profile,
        extra_metadata={**profile.extra_metadata, REPLACES_KEY: encoded},
        partition_to_replace_file_ids=None,
    )
    return encode_commit_metadata(stored, version)


def replaced_by_profile(profile: CommitMetadata) -> Mapping[str, tuple[str, ...]]:
    """Map each partition path to the ids of the file groups that an inflight write will replace.

    The result is empty if the profile names no replaced file groups.

    Raises:
        MalformedMetadataError: the ids cannot be read.
    """
    encoded = profile.extra_metadata.get(REPLACES_KEY)
    if encoded is None:
        return profile.partition_to_replace_file_ids or {}
    record = {REPLACES_KEY: decode_json_object(encoded.encode(), REPLACES_KEY)}
    return Untyped(record, "workload profile").text_lists(REPLACES_KEY)
