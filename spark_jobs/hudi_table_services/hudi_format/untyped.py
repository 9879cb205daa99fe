"""Access to decoded records by field name and expected type. A value of another type is an error."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hudi_table_services.errors import MalformedMetadataError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Untyped:
    """A decoded record whose values may have any type. A null is treated as an absent field.

    Every method raises MalformedMetadataError if the field contains a value of another type.

    Attributes:
        values: values by Hudi's field names.
        what: kind of record, for error messages.
    """

    values: Mapping[str, Any]
    what: str

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def optional_text(self, name: str) -> str | None:
        value = self.values.get(name)
        return None if value is None else self._expect(name, value, str)

    def text(self, name: str) -> str:
        return self.optional_text(name) or ""

    def optional_integer(self, name: str) -> int | None:
        value = self.values.get(name)
        # In Python a boolean is also an int. In Hudi's records a boolean is not an integer.
        return None if value is None else self._expect(name, value, int, unlike=bool)

    def integer(self, name: str) -> int:
        return self.optional_integer(name) or 0

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        return value is not None and self._expect(name, value, bool)

    def record(self, name: str) -> "Untyped":
        value = self.values.get(name)
        return Untyped({} if value is None else self._expect(name, value, dict), f"{self.what}.{name}")

    def text_map(self, name: str) -> dict[str, str]:
        """Return a map from strings to strings, without entries whose value is null."""
        values = self.record(name).values
        return {key: self._expect(name, text, str) for key, text in values.items() if text is not None}

    def text_lists(self, name: str) -> dict[str, tuple[str, ...]]:
        return {
            key: tuple(self._expect(name, text, str) for text in self._expect(name, texts, list))
            for key, texts in self.record(name).values.items()
        }

    def record_lists(self, name: str) -> "dict[str, tuple[Untyped, ...]]":
        what = f"{self.what}.{name}"
        return {
            key: tuple(
                Untyped(self._expect(name, item, dict), what) for item in self._expect(name, items, list)
            )
            for key, items in self.record(name).values.items()
        }

    def _expect(self, name: str, value: object, kind: type[_T], unlike: type | None = None) -> _T:
        if not isinstance(value, kind) or (unlike is not None and isinstance(value, unlike)):
            raise MalformedMetadataError(
                f"{self.what}: {name} has a value of type {type(value).__name__} instead of {kind.__name__}."
            )
        return value
