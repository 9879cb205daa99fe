"""Typed access to the options of a request."""

from collections.abc import Mapping
from typing import TypeVar

from hudi_table_services.options.option import AnyOption, Option

ValueT = TypeVar("ValueT")


class OptionReader:
    """Reads option values with the parsers of their declarations. An absent or blank option has its default."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def __getitem__(self, option: Option[ValueT]) -> ValueT:
        """Return the value. If it is invalid, raise InvalidRequestError with key, given string and allowed values."""
        return option.parse(self.text(option))

    def __contains__(self, option: AnyOption) -> bool:
        """Whether the option is given and not blank."""
        return bool(self.text(option))

    def text(self, option: AnyOption) -> str:
        """Return the given string without blanks at its ends; empty if the option is absent."""
        return self._options.get(option.key, "").strip()
