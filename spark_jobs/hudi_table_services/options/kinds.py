"""Kinds of option values. Each kind parses strings and rejects invalid strings."""

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NoReturn, TypeVar

from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError

ValueT = TypeVar("ValueT")
EnumT = TypeVar("EnumT", bound=Enum)


class Kind(ABC, Generic[ValueT]):
    """Converts the string that a user gives for an option to a value."""

    __slots__ = ()

    @abstractmethod
    def parse(self, key: str, text: str) -> ValueT:
        """Parse a string without leading and trailing blanks.

        Raises:
            InvalidRequestError: the string is invalid. The message names the key, the string and the allowed values.
        """


@dataclass(frozen=True, slots=True)
class Text(Kind[str]):
    """Any string."""

    def parse(self, key: str, text: str) -> str:
        return text


@dataclass(frozen=True, slots=True)
class Names(Kind[tuple[str, ...]]):
    """A list of items separated by commas.

    Attributes:
        allowed: the allowed items in upper case; the user may write them in upper or lower case. Empty means that any
            item is allowed.
    """

    allowed: tuple[str, ...] = ()

    def parse(self, key: str, text: str) -> tuple[str, ...]:
        names = tuple(part.strip() for part in text.split(",") if part.strip())
        if not self.allowed:
            return names
        names = tuple(name.upper() for name in names)
        if not set(names) <= set(self.allowed):
            refuse(key, text, self.allowed)
        return names


@dataclass(frozen=True, slots=True)
class Word(Kind[str]):
    """One of several words. The user may write the word in upper or lower case; the value is in lower case."""

    allowed: tuple[str, ...]

    def parse(self, key: str, text: str) -> str:
        if text.lower() not in self.allowed:
            refuse(key, text, self.allowed)
        return text.lower()


@dataclass(frozen=True, slots=True)
class Flag(Kind[bool]):
    """``true`` or ``false``, in upper or lower case."""

    def parse(self, key: str, text: str) -> bool:
        return Word(("true", "false")).parse(key, text) == "true"


@dataclass(frozen=True, slots=True)
class Member(Kind[EnumT], Generic[EnumT]):
    """A member of an enumeration, given by its value in upper or lower case.

    Attributes:
        by_class: whether the string names a Java class, with or without its package.
    """

    members: type[EnumT]
    by_class: bool = False

    def parse(self, key: str, text: str) -> EnumT:
        name = text.rpartition(".")[2] if self.by_class else text
        by_name = {str(member.value).lower(): member for member in self.members}
        if name.lower() not in by_name:
            refuse(key, name, tuple(str(member.value) for member in self.members))
        return by_name[name.lower()]


@dataclass(frozen=True, slots=True)
class WholeNumber(Kind[int]):
    """A whole number.

    Attributes:
        least: the smallest allowed number; None means no lower bound.
        is_size: whether the number is a size in bytes.
    """

    least: int | None = None
    is_size: bool = False

    def parse(self, key: str, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise InvalidRequestError(
                f"{key}={text} is not a whole number.", hint=self._advice(key)
            ) from None
        if self.least is not None and value < self.least:
            raise InvalidRequestError(
                f"{key}={text} is too small: it must be at least {self.least}.", hint=self._advice(key)
            )
        return value

    def _advice(self, key: str) -> str:
        bound = "" if self.least is None else f" of at least {self.least}"
        if self.is_size:
            return f"Set {key} to a whole number of bytes{bound}, such as 104857600 for 100 MiB, or leave it out."
        return f"Set {key} to a whole number{bound}, or leave it out."


@dataclass(frozen=True, slots=True)
class Number(Kind[float]):
    """A number.

    Attributes:
        least: the smallest allowed number; None means that `above` is the lower bound.
        above, below: exclusive bounds.
    """

    least: float | None = None
    above: float = -math.inf
    below: float = math.inf

    def parse(self, key: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InvalidRequestError(f"{key}={text} is not a number.", hint=self._advice(key)) from None
        is_large_enough = value > self.above if self.least is None else value >= self.least
        if not (is_large_enough and value < self.below):
            raise InvalidRequestError(
                f"{key}={text} is out of bounds: it must be {self._bounds}.", hint=self._advice(key)
            )
        return value

    def _advice(self, key: str) -> str:
        is_bounded = self.least is not None or self.above > -math.inf
        return f"Set {key} to a number{f' {self._bounds}' if is_bounded else ''}, or leave it out."

    @property
    def _bounds(self) -> str:
        lower = f"above {self.above:g}" if self.least is None else f"at least {self.least:g}"
        return lower + (f" and below {self.below:g}" if self.below < math.inf else "")


@dataclass(frozen=True, slots=True)
class Pattern(Kind[str]):
    """A regular expression."""

    def parse(self, key: str, text: str) -> str:
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidRequestError(
                f"{key}={text} is not a regular expression: {error}.",
                hint=f"Correct the expression of {key}; the syntax is that of Python's module re.",
            ) from error
        return text


@dataclass(frozen=True, slots=True)
class OrNone(Kind[ValueT | None], Generic[ValueT]):
    """A value of another kind, or None if the option is absent."""

    kind: Kind[ValueT]

    def parse(self, key: str, text: str) -> ValueT | None:
        return self.kind.parse(key, text) if text else None


def refuse(key: str, text: str, allowed: tuple[str, ...]) -> NoReturn:
    """Raise InvalidRequestError with the list of allowed values."""
    hint = f"{did_you_mean(text, allowed)} Valid values: {', '.join(allowed)}.".strip()
    raise InvalidRequestError(f"{key}={text} is not supported.", hint=hint)
