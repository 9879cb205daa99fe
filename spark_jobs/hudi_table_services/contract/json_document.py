"""Strict reader of JSON documents: wrong and unknown fields are errors, and the message names the field."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args

from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError

CONTRACT_VERSION = 2
"""Version of the documents that this release writes."""

_KNOWN_VERSIONS = (1, CONTRACT_VERSION)
"""Versions that this release reads. Requests are the same in both versions."""


def parse_document(text: str, what: str) -> tuple[int, Mapping[str, object]]:
    """Return the contract version of a document and its other fields.

    Args:
        what: name of the document in messages.

    Raises:
        InvalidRequestError: the text is not a JSON object, contains a field twice, or has an unknown version.
    """
    try:
        value = json.loads(text, object_pairs_hook=_without_repetition)
    except json.JSONDecodeError as error:
        raise InvalidRequestError(f"The {what} is not JSON: {error}.") from error
    fields = dict(as_object(value, what))
    if "contract_version" not in fields:
        raise InvalidRequestError(
            f"The {what} has no contract_version.", hint=f'Add "contract_version": {CONTRACT_VERSION}.'
        )
    version = fields.pop("contract_version")
    # JSON's true and 1.0 are not valid versions, although Python treats them as equal to 1.
    if type(version) is not int or version not in _KNOWN_VERSIONS:
        known = " and ".join(map(str, _KNOWN_VERSIONS))
        raise InvalidRequestError(
            f"The {what} has contract_version {version!r}; this release reads {known}.",
            hint="Use the provider and the engine of the same release.",
        )
    return version, fields


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Reject a repeated field, because JSON does not define which of the two values applies."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRequestError(f"A JSON object has the field {twice!r} twice.")
    return fields


def as_object(value: object, what: str) -> Mapping[str, object]:
    """Return the value if it is a JSON object. Raises InvalidRequestError for other values."""
    if not isinstance(value, dict):
        raise InvalidRequestError(f"The {what} must be a JSON object.")
    return value


class JsonDocument:
    """Fields of a JSON object. Each field is read once; `finish` rejects fields that were not read.

    Messages do not contain values, because values may be secret.
    """

    def __init__(self, fields: Mapping[str, object], what: str) -> None:
        self._what = what
        self._fields = dict(fields)
        self._known: list[str] = []

    def offers(self, name: str) -> bool:
        """Whether the field is present. After this call, `finish` accepts the field."""
        self._known.append(name)
        return name in self._fields

    def text(self, name: str) -> str:
        value = self._fields.pop(name)
        if not isinstance(value, str):
            raise self._wrong(name, value, "a string")
        return value

    def optional_text(self, name: str) -> str | None:
        value = self._fields.pop(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, value, "a string or null")
        return value

    def flag(self, name: str) -> bool:
        value = self._fields.pop(name)
        if not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def whole_number(self, name: str) -> int:
        value = self._fields.pop(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, value, "a whole number")
        return value

    def optional_whole_number(self, name: str) -> int | None:
        value = self._fields.pop(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise self._wrong(name, value, "a whole number or null")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._fields.pop(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(name, value, "a list of strings")
        return tuple(value)

    def text_map(self, name: str) -> dict[str, str]:
        value = self._fields.pop(name)
        if not isinstance(value, dict):
            raise self._wrong(name, value, "an object whose values are strings")
        for key, item in value.items():
            if not isinstance(item, str):
                raise self._wrong(f"{name}.{key}", item, "a string")
        return value

    def optional_text_map(self, name: str) -> dict[str, str] | None:
        if self._fields[name] is None:
            return self._fields.pop(name)  # type: ignore[return-value]  # None
        return self.text_map(name)

    def optional_part(self, name: str) -> "JsonDocument | None":
        """Return an object within the document. The caller must also call `finish` of the returned object."""
        value = self._fields.pop(name)
        if value is None:
            return None
        return JsonDocument(
            as_object(value, f"field {name!r} of the {self._what}"), f"{name} of the {self._what}"
        )

    def finish(self) -> None:
        """Raise InvalidRequestError with the names of the fields that were not read, if there are any."""
        if not self._fields:
            return
        unknown = sorted(self._fields)
        raise InvalidRequestError(
            f"The {self._what} has unknown fields: {', '.join(unknown)}.",
            hint=did_you_mean(
                unknown[0], self._known, otherwise=f"Valid fields: {', '.join(sorted(self._known))}."
            ),
        )

    def _wrong(self, name: str, value: object, expected: str) -> InvalidRequestError:
        return InvalidRequestError(
            f"Field {name!r} of the {self._what} is {_JSON_TYPES.get(type(value), 'a value')}, but must be {expected}."
        )


_READERS: dict[object, Callable[[JsonDocument, str], object]] = {
    str: JsonDocument.text,
    str | None: JsonDocument.optional_text,
    bool: JsonDocument.flag,
    int: JsonDocument.whole_number,
    int | None: JsonDocument.optional_whole_number,
    tuple[str, ...]: JsonDocument.texts,
    Mapping[str, str]: JsonDocument.text_map,
    Mapping[str, str] | None: JsonDocument.optional_text_map,
}


def read_record(document: JsonDocument, record_type: type) -> dict[str, Any]:
    """Read values for the fields of a dataclass. The type of each field decides how its value is read.

    Absent fields keep their defaults.

    Raises:
        InvalidRequestError: a field is wrong or unknown.
    """
    values = {
        field.name: _field(document, field.name, field.type)
        for field in fields(record_type)
        if document.offers(field.name)
    }
    document.finish()
    return values


def _field(document: JsonDocument, name: str, field_type: object) -> object:
    for member in get_args(field_type):
        if isinstance(member, type) and is_dataclass(member):
            part = document.optional_part(name)
            return None if part is None else member(**read_record(part, member))
    return _READERS[field_type](document, name)


_JSON_TYPES = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
