"""JSON in the layout of Jackson's default pretty printer, which Hudi uses for files of table version 6."""

import json
from collections.abc import Mapping, Sequence

from hudi_table_services.errors import MalformedMetadataError


def encode_json(value: object) -> bytes:
    """Encode as UTF-8 JSON: two-space indent, `` : `` between key and value, no line breaks around array brackets."""
    return _text(value, "").encode()


def decode_json_object(data: bytes, what: str) -> dict[str, object]:
    """Decode a JSON object of any layout.

    Args:
        data: UTF-8 text.
        what: kind of the file, for error messages.

    Raises:
        MalformedMetadataError: the data is not UTF-8, not JSON, or not an object.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedMetadataError(f"{what}: the {len(data)} bytes are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise MalformedMetadataError(
            f"{what}: the JSON value is not an object, but a {type(value).__name__}."
        )
    return value


def _text(value: object, indent: str) -> str:
    if isinstance(value, Mapping):
        inner = indent + "  "
        pairs = [f"{inner}{_scalar(str(key))} : {_text(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(pairs) + f"\n{indent}}}" if pairs else "{ }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[ " + ", ".join(_text(item, indent) for item in value) + " ]" if value else "[ ]"
    return _scalar(value)


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
