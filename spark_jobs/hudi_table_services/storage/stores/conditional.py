"""Conditional puts: the operations that Hudi's storage-based lock needs beyond `Storage`.

Object stores have them (If-None-Match and If-Match, generations). POSIX file systems do not: they cannot compare the
version of a file and replace the file in one step. See docs/adr/0030.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Opaque version of an object's content, as the store returned it.

    Attributes:
        e_tag: entity tag; empty: the store gives none.
        generation: the store's own version, where it has one (GCS); else empty.
    """

    e_tag: str
    generation: str = ""


@runtime_checkable
class ConditionalStorage(Protocol):
    """A storage that can replace an object only if it still has an expected version."""

    def read_versioned(self, path: str) -> tuple[bytes, ObjectVersion]:
        """Content and its version, read in one request. Raises ObjectNotFoundError."""

    def put_if(self, path: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        """Replace the object if it has this version, or create it if None is expected. Return the new version.

        Raises:
            ObjectExistsError: the object has another version or no longer exists; nothing was changed. A store can
                also answer this way when the response to a successful put was lost and the client repeated the
                request; in that case the content is ours.
        """
