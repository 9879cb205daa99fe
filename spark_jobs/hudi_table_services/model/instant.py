"""Instants: one action at one time in one state, and the grammar of their file names.

Format: hudi-format section "Instants and timeline"; Hudi classes HoodieInstant, InstantFileNameGeneratorV1/V2 (1.2).

Irregular names:

- In layout 1, an inflight commit is named ``<time>.inflight``, without the word commit.
- A completed compaction is a ``commit``, and a completed log compaction is a ``deltacommit``.
- A completed clustering is a ``replacecommit``. A pending clustering is a ``replacecommit`` in layout 1 and a
  ``clustering`` in layout 2.
- A savepoint has no requested state.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.model.table_version import TimelineLayout


class Action(str, Enum):
    """Every action that a timeline can contain."""

    COMMIT = "commit"
    DELTA_COMMIT = "deltacommit"
    REPLACE_COMMIT = "replacecommit"
    CLUSTERING = "clustering"
    COMPACTION = "compaction"
    LOG_COMPACTION = "logcompaction"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    RESTORE = "restore"
    INDEXING = "indexing"
    SCHEMA_COMMIT = "schemacommit"

    @property
    def comparable(self) -> "Action":
        """Return the action that the instant has after its completion. `identity` uses this action in every state."""
        return _COMPLETES_AS.get(self, self)

    @property
    def pending_names(self) -> "tuple[Action, ...]":
        """Return all actions that have the same `comparable` action, such as `commit` and `compaction`."""
        return tuple(action for action in Action if action.comparable is self.comparable)

    @property
    def writes_data(self) -> bool:
        """Whether a completed instant of this action adds or replaces file slices (Hudi's "commits timeline")."""
        return self.comparable in (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)


_COMPLETES_AS = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOG_COMPACTION: Action.DELTA_COMMIT,
    Action.CLUSTERING: Action.REPLACE_COMMIT,
}


class InstantState(str, Enum):
    """Progress of an instant. *Pending* means requested or inflight."""

    REQUESTED = "requested"
    INFLIGHT = "inflight"
    COMPLETED = "completed"

    @property
    def rank(self) -> int:
        return ("requested", "inflight", "completed").index(self.value)


# In table version 6, the times of a metadata table are longer: a delta commit can add three digits to the time of a
# write, and a compaction adds three digits to the time of the newest delta commit.
_NAME = re.compile(
    r"(?P<requested>\d{14,23})(?:_(?P<completed>\d{14,23}))?\.(?P<first>[a-z]+)(?:\.(?P<second>[a-z]+))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Instant:
    """One state file of the timeline.

    Attributes:
        requested_time: ``yyyyMMddHHmmssSSS`` (14 digits in old tables); compared as a string.
        action: the action in the file name.
        state: requested, inflight or completed.
        completion_time: set only for completed instants of layout 2; None otherwise.
    """

    requested_time: str
    action: Action
    state: InstantState
    completion_time: str | None = None

    @property
    def identity(self) -> tuple[str, Action]:
        """Return the key that all state files of one instant share."""
        return (self.requested_time, self.action.comparable)

    @property
    def is_completed(self) -> bool:
        return self.state is InstantState.COMPLETED

    @property
    def visible_from(self) -> str:
        """Return the time when the change became visible: the completion time if known, else the requested time."""
        return self.completion_time or self.requested_time

    def file_name(self, layout: TimelineLayout) -> str:
        """Return the name of the state file in the timeline folder of the given layout."""
        if self.state is InstantState.COMPLETED:
            if layout.has_completion_time_in_names:
                return f"{self.requested_time}_{self.completion_time}.{self.action.value}"
            return f"{self.requested_time}.{self.action.value}"
        if self.action is Action.COMMIT and self.state is InstantState.INFLIGHT:
            return f"{self.requested_time}.inflight"
        return f"{self.requested_time}.{self.action.value}.{self.state.value}"

    @staticmethod
    @lru_cache(maxsize=65_536)  # a job lists the timeline many times
    def from_file_name(name: str, layout: TimelineLayout) -> "Instant":
        """Parse the name of a state file.

        Raises:
            MalformedFileNameError: the name is not the name of an instant in this layout.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise MalformedFileNameError(f"{name!r} is not the name of an instant file.")
        requested, completed, first, second = match.group("requested", "completed", "first", "second")
        state = InstantState.COMPLETED
        if first == "inflight" and second is None:
            first, state = Action.COMMIT.value, InstantState.INFLIGHT
        elif second is not None:
            if second not in ("requested", "inflight"):
                raise MalformedFileNameError(f"{name!r} ends in an unknown state {second!r}.")
            state = InstantState(second)
        try:
            action = Action(first)
        except ValueError:
            raise MalformedFileNameError(f"{name!r} names an unknown action {first!r}.") from None
        wants_completion = layout.has_completion_time_in_names and state is InstantState.COMPLETED
        if wants_completion != (completed is not None):
            raise MalformedFileNameError(
                f"{name!r} does not belong to timeline layout {layout.value}: "
                f"the completion time is {'missing' if wants_completion else 'not allowed in this name'}."
            )
        return Instant(requested_time=requested, action=action, state=state, completion_time=completed)


def is_instant_name(name: str) -> bool:
    """Whether a file name in the timeline folder has the format of an instant. Hudi ignores files with other names."""
    return _NAME.fullmatch(name) is not None
