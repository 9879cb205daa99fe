"""Typed access to the options of a request."""

from collections.abc import Mapping
from typing import TypeVar

from hudi_table_services.options.option import AnyOption, Option

ValueT = TypeVar("ValueT")


class OptionReader:
    """Reads options by their declarations; an option that is absent or blank has its default."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def __getitem__(self, option: Option[ValueT]) -> ValueT:
        """The value. Raises InvalidRequestError naming the key, its text and what is allowed."""
        return option.parse(self.text(option))

    def __contains__(self, option: AnyOption) -> bool:
        """Whether the option is given, with a text that is not blank."""
        return bool(self.text(option))

    def text(self, option: AnyOption) -> str:
        """The text as given; empty: not given."""
        return self._options.get(option.key, "").strip()
