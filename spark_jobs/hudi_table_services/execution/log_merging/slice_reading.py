"""Settings for reading the slices of a merge-on-read table: the merge rule, the visible instants, and the columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.log_merging.log_entries import row_columns
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.storage.file_slices import Visibility

DEFAULT_MERGE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class LogMerging:
    """How the log files of a table are merged.

    Attributes:
        visibility: the instants whose log blocks readers see.
        defaults: see `ColumnFill`; only for a rule that fills columns.
        base_commits: the commit times of the base rows that take part in the merge; None for all base rows.
        memory_bytes: Arrow bytes that the merge of one slice keeps in memory. Beyond this limit, the merge uses
            temporary files.
    """

    rule: MergeRule
    visibility: Visibility
    defaults: Mapping[str, pa.Scalar] = field(default_factory=dict)
    memory_bytes: int = DEFAULT_MERGE_BYTES
    base_commits: frozenset[str] | None = None

    def reading(self, data_schema: pa.Schema, columns: Iterable[str] = ()) -> "SliceReading":
        """Return the settings for reading some columns of the merged rows.

        Args:
            data_schema: the user's columns of the table.
            columns: names of the user's top-level columns to read. The record key is read even if it is not among them.
        """
        needed = {*columns, *row_columns(self.rule)}
        return SliceReading(self, pa.schema([column for column in data_schema if column.name in needed]))


@dataclass(frozen=True, slots=True)
class SliceReading:
    """Settings for reading some columns of the slices of a table.

    Attributes:
        schema: the wanted columns of the user, in the types of the table, and the columns that a merge needs.
    """

    merging: LogMerging
    schema: pa.Schema

    @property
    def rule(self) -> MergeRule:
        """The rule by which the slices are merged."""
        return self.merging.rule

    @property
    def data_columns(self) -> pa.Schema:
        """The columns of `schema`, all of them nullable."""
        return pa.schema([column.with_nullable(True) for column in self.schema])

    @property
    def columns(self) -> pa.Schema:
        """The record key and the columns of `schema`, all of them nullable."""
        return pa.schema([pa.field(RECORD_KEY, pa.string()), *self.data_columns])
