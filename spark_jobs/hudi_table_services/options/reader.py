"""Typed access to option texts; every error names the key, its value and what is allowed."""

import math
from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from hudi_table_services.errors import InvalidRequestError

EnumT = TypeVar("EnumT", bound=Enum)


class OptionReader:
    """Reads options by their keys; a key that is absent or empty has its default.

    Raises:
        InvalidRequestError: by every method, for a text that is no value of the key.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def __contains__(self, key: str) -> bool:
        """Whether the key is given, with a text that is not blank."""
        return bool(self.text(key))

    def text(self, key: str) -> str:
        return self._options.get(key, "").strip()

    def names(self, key: str) -> tuple[str, ...]:
        """Items between commas."""
        return tuple(part.strip() for part in self.text(key).split(",") if part.strip())

    def one_of(self, key: str, default: str, allowed: tuple[str, ...]) -> str:
        """A word of `allowed`, in lower case, whatever the case of the text."""
        value = (self.text(key) or default).lower()
        if value not in allowed:
            raise self._unsupported(key, allowed)
        return value

    def enum(self, key: str, kind: type[EnumT], default: EnumT) -> EnumT:
        """The member with this value, whatever the case of the text."""
        text = self.text(key)
        if not text:
            return default
        by_name = {str(member.value).lower(): member for member in kind}
        if text.lower() not in by_name:
            raise self._unsupported(key, tuple(str(member.value) for member in kind))
        return by_name[text.lower()]

    def by_class(self, key: str, kind: type[EnumT], default: EnumT) -> EnumT:
        """The member named like a Java class, with or without its package."""
        return OptionReader({key: self.text(key).rpartition(".")[2]}).enum(key, kind, default)

    def flag(self, key: str, default: bool) -> bool:
        return self.one_of(key, str(default).lower(), ("true", "false")) == "true"

    def whole_number(self, key: str, default: int, *, least: int | None = None) -> int:
        text = self.text(key) or str(default)
        try:
            value = int(text)
        except ValueError:
            raise InvalidRequestError(f"{key}={text} is not a whole number.") from None
        if least is not None and value < least:
            raise InvalidRequestError(f"{key}={text} is too small, it must be at least {least}.")
        return value

    def number(self, key: str, default: float, *, above: float, below: float = math.inf) -> float:
        """A number strictly between the bounds."""
        text = self.text(key) or str(default)
        try:
            value = float(text)
        except ValueError:
            raise InvalidRequestError(f"{key}={text} is not a number.") from None
        if not above < value < below:
            bounds = f"above {above:g}" + (f" and below {below:g}" if below < math.inf else "")
            raise InvalidRequestError(f"{key}={text} is out of bounds, it must be {bounds}.")
        return value

    def _unsupported(self, key: str, allowed: tuple[str, ...]) -> InvalidRequestError:
        return InvalidRequestError(
            f"{key}={self.text(key)} is not supported.", hint=f"Supported: {', '.join(allowed)}."
        )
