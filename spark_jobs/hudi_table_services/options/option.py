"""The declaration of one key: its name, meaning, kind of value, default, and effect in this release."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from hudi_table_services.options.kinds import Flag, Kind, Text, WholeNumber

ValueT = TypeVar("ValueT")

_FLAG = re.compile(r"`(--[a-z-]+)`")


class Effect(str, Enum):
    """How a job of this release treats a key."""

    HONOURED = "honoured"
    FIXED = "default only"
    """Jobs reject every other value, because this release supports only the default."""
    REFUSED = "refused"
    NO_EFFECT = "no effect"
    """The key exists in Hudi. Jobs of this release ignore the key, with a warning in the result."""


class OptionGroup(str, Enum):
    """Groups of jobs that read the same options."""

    WRITES = "writes"
    CLUSTERING = "clustering"
    COMPACTION = "compaction"
    CLEANING = "cleaning"
    ARCHIVAL = "archival"
    TIMELINE = "savepoints, rollback, restore and repair"
    """Jobs that have only the options of the lock and of the metadata table."""
    METADATA_TABLE = "builds of the metadata table"
    CATALOG = "the sync of a catalog"
    READS = "reads"
    """Reads on Spark, which change nothing."""


WRITES = (OptionGroup.WRITES,)
ALL_SERVICES = tuple(each for each in OptionGroup if each not in (OptionGroup.CATALOG, OptionGroup.READS))
"""All groups whose jobs change tables."""
FILE_SERVICES = tuple(
    each
    for each in OptionGroup
    if each not in (OptionGroup.TIMELINE, OptionGroup.METADATA_TABLE, OptionGroup.CATALOG, OptionGroup.READS)
)
"""All groups except TIMELINE, METADATA_TABLE, CATALOG and READS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[ValueT]):
    """The declaration of one key, or of all keys with a prefix if `key` ends in ``*``.

    Attributes:
        default: string form of the default; empty means no default.
        meaning: effect of the key, with differences from Hudi in brackets. For keys that jobs reject or ignore, the
            meaning is the reason.
        kind: parser of the string that the user gives.
        aliases: other names of the same key.
        services: groups of jobs that read the key. Warnings of other jobs name the first group.
    """

    key: str
    default: str
    meaning: str
    kind: Kind[ValueT]
    effect: Effect = Effect.HONOURED
    aliases: tuple[str, ...] = ()
    services: tuple[OptionGroup, ...] = WRITES

    def parse(self, text: str) -> ValueT:
        """Parse a string. A blank string means the default. Raise InvalidRequestError for invalid strings."""
        return self.kind.parse(self.key, text.strip() or self.default)

    def name_in(self, options: Mapping[str, str]) -> str:
        """Return the key or alias under which a request gives the option; the key if the request does not give it."""
        given = (name for name in (self.key, *self.aliases) if options.get(name, "").strip())
        return next(given, self.key)

    @property
    def default_value(self) -> ValueT:
        """Return the default as a value."""
        return self.parse("")

    @property
    def flag(self) -> str:
        """Return the command-line flag that sets the key; empty if the meaning of the key names no flag."""
        found = _FLAG.search(self.meaning)
        return found[1] if found and self.effect is Effect.HONOURED else ""

    @property
    def is_flag(self) -> bool:
        """Whether the value must be ``true`` or ``false``."""
        return isinstance(self.kind, Flag) or self.default in ("true", "false")

    @property
    def is_whole_number(self) -> bool:
        """Whether the value must be a whole number and the key has a default."""
        return isinstance(self.kind, WholeNumber)

    def __str__(self) -> str:
        """Return the key, for use in messages."""
        return self.key


AnyOption: TypeAlias = Option[Any]
"""A declaration with any type of value."""


def option(
    key: str,
    default: str | int | bool,
    meaning: str,
    kind: Kind[ValueT],
    *aliases: str,
    services: tuple[OptionGroup, ...] = WRITES,
) -> Option[ValueT]:
    """Declare a key that works as in Hudi, except for the differences that its meaning gives in brackets."""
    text = str(default).lower() if isinstance(default, bool) else str(default)
    return Option(key=key, default=text, meaning=meaning, kind=kind, aliases=aliases, services=services)


def fixed(key: str, default: str, meaning: str, *aliases: str) -> Option[str]:
    """Declare a key that accepts only its default."""
    return Option(
        key=key, default=default, meaning=meaning, kind=Text(), effect=Effect.FIXED, aliases=aliases
    )


def refused(meaning: str, *keys: str) -> tuple[Option[str], ...]:
    """Declare keys that jobs reject; the meaning is the reason."""
    return _without_value(Effect.REFUSED, meaning, keys)


def ignored(meaning: str, *keys: str) -> tuple[Option[str], ...]:
    """Declare keys that jobs ignore; the meaning is the reason."""
    return _without_value(Effect.NO_EFFECT, meaning, keys)


def _without_value(effect: Effect, meaning: str, keys: tuple[str, ...]) -> tuple[Option[str], ...]:
    return tuple(Option(key=key, default="", meaning=meaning, kind=Text(), effect=effect) for key in keys)
