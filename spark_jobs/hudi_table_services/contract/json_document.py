"""Reading JSON documents strictly: a wrong or unknown field is named, never ignored."""

import json
from collections.abc import Mapping

from hudi_table_services.errors import InvalidRequestError

CONTRACT_VERSION = 1
"""Version of both documents; a job refuses a version it does not know."""


class JsonDocument:
    """Fields of a JSON object, taken one by one; `finish` refuses what nobody took."""

    def __init__(self, text: str, what: str) -> None:
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidRequestError(f"The {what} is not JSON: {error}.") from error
        self._what = what
        self._fields = dict(as_object(value, what))
        version = self._fields.pop("contract_version", None)
        if version != CONTRACT_VERSION:
            raise InvalidRequestError(
                f"The {what} has contract_version {version!r}; this release knows {CONTRACT_VERSION}.",
                hint="Use provider and engine of the same release.",
            )

    def text(self, name: str, default: str | None = None) -> str:
        value = self._fields.pop(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        return value

    def optional_text(self, name: str) -> str | None:
        value = self._fields.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, value, "a text or null")
        return value

    def flag(self, name: str) -> bool:
        value = self._fields.pop(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._fields.pop(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(name, value, "a list of texts")
        return tuple(value)

    def text_map(self, name: str) -> dict[str, str]:
        value = self._fields.pop(name, {})
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self._wrong(name, value, "an object whose values are texts")
        return value

    def optional_object(self, name: str) -> Mapping[str, object] | None:
        value = self._fields.pop(name, None)
        return None if value is None else as_object(value, f"{self._what}, field {name},")

    def finish(self) -> None:
        """Raises InvalidRequestError naming the fields that nothing has taken."""
        if self._fields:
            raise InvalidRequestError(f"The {self._what} has unknown fields: {', '.join(sorted(self._fields))}.")

    def _wrong(self, name: str, value: object, expected: str) -> InvalidRequestError:
        return InvalidRequestError(f"Field {name!r} of the {self._what} is {value!r}, it must be {expected}.")


def as_object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InvalidRequestError(f"The {what} must be a JSON object.")
    return value
