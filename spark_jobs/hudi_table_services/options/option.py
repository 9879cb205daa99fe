"""The declaration of one key: name, meaning, kind of value, default, and what a job of this release does with it."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from hudi_table_services.options.kinds import Flag, Kind, Text, WholeNumber

ValueT = TypeVar("ValueT")


class Effect(str, Enum):
    """What a job of this release does with a key."""

    HONOURED = "honoured"
    FIXED = "default only"
    """Any other value is refused, since it would ask for something this release does not do."""
    REFUSED = "refused"
    NO_EFFECT = "no effect"
    """Known to Hudi, without effect in this release: accepted with a warning in the result."""


class Service(str, Enum):
    """Groups of jobs that read the same options."""

    WRITES = "writes"
    CLUSTERING = "clustering"
    CLEANING = "cleaning"
    ARCHIVAL = "archival"
    TIMELINE = "savepoints, rollback, restore and repair"
    """Jobs that need a lock and no options of their own."""


WRITES = (Service.WRITES,)
ALL_SERVICES = tuple(Service)
FILE_SERVICES = tuple(each for each in Service if each is not Service.TIMELINE)
"""Services that plan, write or delete files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[ValueT]):
    """One key, or with a trailing ``*`` all keys of a prefix.

    Attributes:
        default: text of the default; empty where there is none.
        meaning: what it does, where it differs from Hudi in brackets; for keys without effect: why.
        kind: how its text becomes a value.
        aliases: other names of the same key.
        services: services that read it; the first one owns it.
    """

    key: str
    default: str
    meaning: str
    kind: Kind[ValueT]
    effect: Effect = Effect.HONOURED
    aliases: tuple[str, ...] = ()
    services: tuple[Service, ...] = WRITES

    def parse(self, text: str) -> ValueT:
        """The value of a text; of a blank text the default. Raises InvalidRequestError."""
        return self.kind.parse(self.key, text.strip() or self.default)

    @property
    def default_value(self) -> ValueT:
        """The default as a value."""
        return self.parse("")

    @property
    def is_flag(self) -> bool:
        """Whether its text is ``true`` or ``false``, and one of the two by default."""
        return isinstance(self.kind, Flag) or self.default in ("true", "false")

    @property
    def is_whole_number(self) -> bool:
        """Whether its text is a whole number, with a default."""
        return isinstance(self.kind, WholeNumber)

    def __str__(self) -> str:
        """The key, so that messages can name it."""
        return self.key


AnyOption: TypeAlias = Option[Any]
"""A declaration whose type of value does not matter."""


def option(
    key: str,
    default: str | int | bool,
    meaning: str,
    kind: Kind[ValueT],
    *aliases: str,
    services: tuple[Service, ...] = WRITES,
) -> Option[ValueT]:
    """A key that does what Hudi says, or what the brackets say."""
    text = str(default).lower() if isinstance(default, bool) else str(default)
    return Option(key=key, default=text, meaning=meaning, kind=kind, aliases=aliases, services=services)


def fixed(key: str, default: str, meaning: str, *aliases: str) -> Option[str]:
    """A key of which only the default can be written."""
    return Option(
        key=key, default=default, meaning=meaning, kind=Text(), effect=Effect.FIXED, aliases=aliases
    )


def refused(meaning: str, *keys: str) -> tuple[Option[str], ...]:
    """Keys that ask for what cannot be done, and why."""
    return _without_value(Effect.REFUSED, meaning, keys)


def ignored(meaning: str, *keys: str) -> tuple[Option[str], ...]:
    """Keys that have no effect here, and why."""
    return _without_value(Effect.NO_EFFECT, meaning, keys)


def _without_value(effect: Effect, meaning: str, keys: tuple[str, ...]) -> tuple[Option[str], ...]:
    return tuple(Option(key=key, default="", meaning=meaning, kind=Text(), effect=effect) for key in keys)
