"""One key of Hudi: what it means, its default, and what becomes of it in a job of this release."""

from dataclasses import dataclass
from enum import Enum


class Effect(str, Enum):
    """What a key does in a write by this release."""

    HONOURED = "honoured"
    FIXED = "default only"
    """Any other value is refused, since it would ask for something this release does not do."""
    REFUSED = "refused"
    NO_EFFECT = "no effect"
    """Known to Hudi, meaningless for this writer: accepted with a warning in the result."""


class Service(str, Enum):
    """Jobs that obey an option."""

    WRITES = "writes"
    CLUSTERING = "clustering"
    CLEANING = "cleaning"
    ARCHIVAL = "archival"


@dataclass(frozen=True, slots=True)
class KnownOption:
    """One key, or with a trailing ``*`` all keys of a prefix.

    Attributes:
        default: text of the default here, empty where there is none.
        meaning: what it does, where it differs from Hudi in brackets; for keys without effect: why.
        aliases: other names of the same key.
        services: whose option it is; the first one it belongs to.
    """

    key: str
    default: str
    meaning: str
    effect: Effect = Effect.HONOURED
    aliases: tuple[str, ...] = ()
    services: tuple[Service, ...] = (Service.WRITES,)

    @property
    def is_flag(self) -> bool:
        return self.default in ("true", "false")


def honoured(
    key: str,
    default: str,
    meaning: str,
    *aliases: str,
    services: tuple[Service, ...] = (Service.WRITES,),
) -> KnownOption:
    """A key that does what Hudi says, or what the brackets say."""
    return KnownOption(key, default, meaning, Effect.HONOURED, aliases, services)


def fixed(key: str, default: str, meaning: str, *aliases: str) -> KnownOption:
    """A key of which only the default can be written."""
    return KnownOption(key, default, meaning, Effect.FIXED, aliases)


def refused(meaning: str, *keys: str) -> tuple[KnownOption, ...]:
    """Keys that ask for what cannot be done, and why."""
    return tuple(KnownOption(key, "", meaning, Effect.REFUSED) for key in keys)


def ignored(meaning: str, *keys: str) -> tuple[KnownOption, ...]:
    """Keys that mean nothing here, and why."""
    return tuple(KnownOption(key, "", meaning, Effect.NO_EFFECT) for key in keys)
