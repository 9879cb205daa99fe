"""``.hoodie/.index_defs/index.json``: definitions of indexes (HoodieIndexMetadata, HoodieIndexDefinition; Hudi 1.2)."""

from collections.abc import Mapping
from typing import Any

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.json_text import decode_json_object, encode_json
from hudi_table_services.hudi_format.untyped import Untyped
from hudi_table_services.model.metadata_table import IndexDefinition

PATH = ".hoodie/.index_defs/index.json"
"""Path of the file, relative to the base path; also the value of the property ``hoodie.table.index.defs.path``."""

_DEFINITIONS = "indexDefinitions"
_WHAT = "Index definitions"
_VERSION = "version"


def encode_index_definitions(definitions: Mapping[str, IndexDefinition]) -> bytes:
    """Encode the file, in Hudi's form.

    Args:
        definitions: maps each partition of the metadata table to the definition of the index in this partition.
    """
    return encode_json({_DEFINITIONS: {name: _to_json(item) for name, item in definitions.items()}})


def decode_index_definitions(data: bytes) -> dict[str, IndexDefinition]:
    """Map each partition of the metadata table to the definition of the index in this partition.

    Raises:
        MalformedMetadataError: the file is not a JSON document with index definitions.
    """
    document = Untyped(decode_json_object(data, _WHAT), _WHAT)
    definitions = document.record(_DEFINITIONS)
    return {name: _from_json(definitions.record(name)) for name in definitions.values}


def _to_json(definition: IndexDefinition) -> dict[str, Any]:
    version = {} if definition.version is None else {_VERSION: definition.version}
    return {
        "indexName": definition.name,
        "indexType": definition.index_type,
        "indexFunction": definition.function,
        "sourceFields": list(definition.source_fields),
        "indexOptions": dict(definition.options),
        **version,
    }


def _from_json(fields: Untyped) -> IndexDefinition:
    columns = fields.values.get("sourceFields") or []
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise MalformedMetadataError(f"{fields.what}: sourceFields is not a list of names.")
    return IndexDefinition(
        name=fields.text("indexName"),
        index_type=fields.text("indexType"),
        function=fields.text("indexFunction"),
        source_fields=tuple(columns),
        options=fields.text_map("indexOptions"),
        version=fields.optional_text(_VERSION),
    )
