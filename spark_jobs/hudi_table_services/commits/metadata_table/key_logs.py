"""Convert the new and deleted keys of one commit to log files of the record index, one file group at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.execution.metadata_table.key_changes import KeyChanges, StagedKeysReader
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX, file_group_id
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.planning.metadata_table.partitioned_record_index import require_kind
from hudi_table_services.planning.metadata_table.record_locations import NewKeys, record_locations
from hudi_table_services.storage.metadata_table.file_format import FileFormat
from hudi_table_services.storage.metadata_table.group_files import GroupLog
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.metadata_table import require_any_group

_SOME_KEY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChangesOfGroups:
    """New and deleted keys of a write, which its tasks staged.

    Attributes:
        instant_millis: instant time of the write in milliseconds since 1970.
    """

    reader: StagedKeysReader
    instant_millis: int

    def new_groups(self, slices: Sequence[FileSlice]) -> tuple[FileGroupId, ...]:
        """Return no file group: the delta commit of a record index that is not partitioned creates none.

        Raises:
            CorruptTableError: the record index has file groups for each partition of the table, or no file group.
        """
        require_any_group(RECORD_INDEX, slices)
        require_kind((each.file_group_id.file_id for each in slices), is_partitioned=False)
        return ()

    def logs(self, form: FileFormat, slices: Sequence[FileSlice]) -> list[Callable[[], GroupLog]]:
        """For each file group of the record index, a function that reads the staged keys and returns the log.

        Args:
            slices: newest slices of the file groups that the record index has now.
        """
        return [partial(self._log, form, number, len(slices)) for number in range(len(slices))]

    def _log(self, form: FileFormat, number: int, group_count: int) -> GroupLog:
        group = FileGroupId(RECORD_INDEX, file_group_id(RECORD_INDEX, number))
        return log_of_keys(group, self.reader.changes(number, group_count), form, self.instant_millis)


def log_of_keys(group: FileGroupId, changes: KeyChanges, form: FileFormat, instant_millis: int) -> GroupLog:
    """The log of one file group of the record index.

    Args:
        instant_millis: instant time of the write in milliseconds since 1970.
    """
    return GroupLog(
        file_group_id=group,
        entries=_entries(changes, RecordFormat(form.schema), instant_millis),
        entry_count=len(changes.new_keys),
        deleted_keys=tuple(changes.deletions()),
    )


def staged_keys_reader(storage: Storage, facts: CollectedFacts) -> StagedKeysReader:
    """Reader of the keys that the tasks of a write staged.

    Raises:
        CommitConflictError: the tasks staged no keys, because the table had no record index when the write began.
    """
    if facts.keys is None:
        raise CommitConflictError(
            "Another writer built the record index of the metadata table during this write.",
            hint="Nothing was committed; run the request again.",
        )
    return StagedKeysReader(storage, facts.keys)


def _entries(changes: KeyChanges, codec: RecordFormat, instant_millis: int) -> Iterator[Entry]:
    """Entries of new keys. A record does not contain its key, so all keys of a file group have equal records."""
    values: dict[FileGroupId, bytes] = {}
    for key, group in changes.locations():
        if group not in values:
            (record,) = record_locations([NewKeys(group, [_SOME_KEY])], instant_millis)
            values[group] = codec.encode(record)[1]
        yield key.encode(), values[group]
