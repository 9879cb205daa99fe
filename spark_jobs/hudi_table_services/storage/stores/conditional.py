"""Conditional puts: the operations that Hudi's storage-based lock needs beyond `Storage`.

Object stores support conditional puts (If-None-Match and If-Match, or generations). POSIX file systems do not: they
cannot compare the version of a file and replace the file in one step. See docs/adr/0030.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Opaque version of an object's content, as the store returned it.

    Attributes:
        e_tag: entity tag; empty if the store returns none.
        generation: generation number of the object in GCS; empty for other stores.
    """

    e_tag: str
    generation: str = ""


@runtime_checkable
class ConditionalStorage(Protocol):
    """A storage that can replace an object only if it still has an expected version."""

    def read_versioned(self, path: str) -> tuple[bytes, ObjectVersion]:
        """Read the content and its version in one request. Raises ObjectNotFoundError."""

    def put_if(self, path: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        """Replace the object if it has version `expected`; if `expected` is None, create it. Return the new version.

        Raises:
            ObjectExistsError: the object has a different version or no longer exists; nothing was changed. A store can
                also return this error if the response to a successful put was lost and the client repeated the
                request. In that case the object contains `data`.
        """
