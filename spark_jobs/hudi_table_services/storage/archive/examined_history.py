"""What a poller has read from the timeline history, so that each poll reads only new history files."""

from dataclasses import dataclass, field

from hudi_table_services.model.archival import ArchivedWrite


@dataclass(slots=True)
class ExaminedHistory:
    """History files of one table, with the writes in them that completed at or after a time.

    A program that asks for the same time again and again keeps one object for all its questions. The content of a
    history file never changes, so each file is read once. For another time, the object begins anew.

    Attributes:
        version: number of the newest manifest whose files were all examined; 0 if there is none.
        writes: the writes in each examined file, by name of the file.
    """

    version: int = 0
    writes: dict[str, tuple[ArchivedWrite, ...]] = field(default_factory=dict)
    _time: str = ""

    def for_time(self, time: str) -> "ExaminedHistory":
        """Return this object, after it has forgotten everything about other times."""
        if self._time != time:
            self.version, self.writes, self._time = 0, {}, time
        return self

    def all_writes(self) -> tuple[ArchivedWrite, ...]:
        """Return the writes of all examined files, oldest first. Files that were merged contain the same writes."""
        unique = {write.identity: write for found in self.writes.values() for write in found}
        return tuple(sorted(unique.values(), key=lambda write: write.instant.requested_time))
