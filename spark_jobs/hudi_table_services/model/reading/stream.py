"""Values of streams: how much a micro-batch reads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Limits of a micro-batch. A batch has at least one commit. None means no limit.

    Attributes:
        commits: largest number of commits.
        size_bytes: largest size of the files that the commits wrote.
    """

    commits: int | None = None
    size_bytes: int | None = None

    @property
    def are_set(self) -> bool:
        """Whether there is any limit."""
        return self.commits is not None or self.size_bytes is not None


@dataclass(frozen=True, slots=True)
class CommitSize:
    """A commit that a stream has not returned yet.

    Attributes:
        visible_from: time at which the commit became visible.
        size_bytes: size of the files that it wrote.
    """

    visible_from: str
    size_bytes: int
