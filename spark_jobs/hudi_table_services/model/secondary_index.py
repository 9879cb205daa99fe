"""A secondary index of a table (MetadataPartitionType.SECONDARY_INDEX, Hudi 1.0 to 1.2)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondaryIndex:
    """An index that leads from a value of a column to the record keys of the rows with this value.

    Attributes:
        name: partition of the metadata table that contains the index, ``secondary_index_<name>``.
        column: the indexed column; a dotted path for a member of a struct.
        is_grouped_by_value: whether the value alone determines the file group of an entry (index version V2, table
            version 9). In version V1, the whole key of the entry determines the file group.
    """

    name: str
    column: str
    is_grouped_by_value: bool
