"""Conditional puts: what Hudi's storage-based lock asks of a storage beyond `Storage`.

Object stores have them (If-None-Match and If-Match, generations), POSIX file systems do not: a file's version cannot
be compared and the file replaced in one step there. See docs/adr/0030.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """What tells one content of an object from the next; taken from the store and handed back, never looked into.

    Attributes:
        e_tag: entity tag; empty: the store gives none.
        generation: the store's own version, where it has one (GCS); else empty.
    """

    e_tag: str
    generation: str = ""


@runtime_checkable
class ConditionalStorage(Protocol):
    """A storage that replaces an object only if it still is the version that was seen."""

    def read_versioned(self, path: str) -> tuple[bytes, ObjectVersion]:
        """Content and version, of one moment. Raises ObjectNotFoundError."""

    def put_if(self, path: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        """Replace the object of this version, or create it if None is expected. Returns the new version.

        Raises:
            ObjectExistsError: another version is there, or none any more; it is left as it was. A store may also
                answer so where its first answer was lost and the client asked again: then the content is ours.
        """
