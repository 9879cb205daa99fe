"""Records of the metadata table as entries of an HFile: key, and Avro record without its schema."""

import io
import json
from functools import lru_cache
from typing import Any

import fastavro

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.avro_limits import bounded_schema
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.metadata_table.payloads import (
    FIELDS,
    payload_from_avro,
    payload_to_avro,
)
from hudi_table_services.hudi_format.metadata_table.record_schema import META_FIELDS
from hudi_table_services.hudi_format.untyped import Untyped
from hudi_table_services.model.metadata_table import MetadataRecord, RecordType

_FILE_NAME = META_FIELDS[-1]
_CACHED_SCHEMAS = 64


class RecordFormat:
    """Converts records with one schema: the schema of an HFile, or `record_schema` for new files.

    Raises:
        MalformedMetadataError: the text is not an Avro schema of a record, or the cost of reading with this schema is
            not bounded.
    """

    def __init__(self, schema: str) -> None:
        self.schema = schema
        """The Avro schema, as JSON."""
        self._schema, self._fields = _parsed(schema)

    def encode(self, record: MetadataRecord) -> Entry:
        """Return the HFile entry of a record.

        Raises:
            MalformedMetadataError: the schema has no field for this type of record, or for a value in the record.
        """
        field = FIELDS[record.record_type]
        values = dict.fromkeys(self._fields)
        values |= {"key": "", "type": int(record.record_type), _FILE_NAME: record.base_file_name}
        out = io.BytesIO()
        try:
            values[field] = self._fitted(field, payload_to_avro(record.payload))
            fastavro.schemaless_writer(out, self._schema, values, strict=True)
        except Exception as error:  # fastavro raises many kinds of error for values that do not fit
            raise MalformedMetadataError(
                f"The record {record.key!r} of type {record.record_type.name} does not fit the schema: {error!r}"
            ) from error
        return record.key.encode(), out.getvalue()

    def _fitted(self, field: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the payload with the fields of the schema. An older schema has fewer fields; a later schema more."""
        names = self._fields.get(field)
        if not names:
            return payload
        lost = [name for name, value in payload.items() if name not in names and value not in (None, False)]
        if lost:
            raise ValueError(f"the schema has no field {', '.join(lost)}")
        return {name: payload.get(name) for name in names}

    def decode(self, entry: Entry) -> MetadataRecord:
        """Return the record of an HFile entry.

        Raises:
            MalformedMetadataError: the bytes are not a record with this schema, or this release does not support the
                type of the record.
        """
        key = _text(entry[0])
        what = f"Metadata table record {key[:80]!r}"
        values = Untyped(self._values(entry[1], what), what)
        record_type = _record_type(values)
        field = FIELDS[record_type]
        if not values.has(field):
            raise MalformedMetadataError(f"{what}: {field} must not be null.")
        payload = payload_from_avro(record_type, values.record(field))
        return MetadataRecord(
            key=key,
            record_type=record_type,
            payload=payload,
            base_file_name=values.optional_text(_FILE_NAME),
        )

    def _values(self, data: bytes, what: str) -> dict[str, Any]:
        source = io.BytesIO(data)
        try:
            values = fastavro.schemaless_reader(
                source, self._schema, None, return_record_name=True, return_record_name_override=True
            )
        except Exception as error:  # fastavro raises many kinds of error for damaged bytes
            raise MalformedMetadataError(
                f"{what}: the {len(data)} bytes cannot be read: {error!r}"
            ) from error
        if source.tell() != len(data) or not isinstance(values, dict):
            raise MalformedMetadataError(
                f"{what}: {len(data) - source.tell()} bytes follow the end of the record."
            )
        return values


@lru_cache(maxsize=_CACHED_SCHEMAS)
def _parsed(text: str) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """Return the schema, and a map from each field to the fields of its record.

    A field that is not a record is mapped to no fields.
    """
    try:
        schema = bounded_schema(json.loads(text))
        if not isinstance(schema, dict) or schema["type"] != "record":
            raise ValueError("the schema is not the schema of a record")
        fields = {field["name"]: _fields_of_record(field["type"]) for field in schema["fields"]}
        return fastavro.parse_schema(schema), fields
    except Exception as error:  # fastavro and json raise many kinds of error for damaged schemas
        raise MalformedMetadataError(
            f"The Avro schema of {len(text)} characters in a metadata table cannot be used: {error!r}"
        ) from error


def _fields_of_record(avro_type: Any) -> tuple[str, ...]:
    branches = avro_type if isinstance(avro_type, list) else [avro_type]
    records = [branch for branch in branches if isinstance(branch, dict) and branch["type"] == "record"]
    return tuple(field["name"] for record in records for field in record["fields"])


def _record_type(values: Untyped) -> RecordType:
    number = values.integer("type")
    try:
        return RecordType(number)
    except ValueError:
        raise MalformedMetadataError(f"{values.what}: unknown record type {number}.") from None


def _text(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise MalformedMetadataError(f"The key {key[:80]!r} of a metadata table is not UTF-8.") from error
