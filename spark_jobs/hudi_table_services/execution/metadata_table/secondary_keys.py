"""Build the keys of a secondary index for Arrow arrays. `hudi_format.metadata_table.keys` does the same for one row."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.base_file_writer import RECORD_KEY, utf8_buffers
from hudi_table_services.execution.numpy_types import Integers
from hudi_table_services.hudi_format.metadata_table.java_numbers import java_texts
from hudi_table_services.hudi_format.metadata_table.key_groups import file_groups_of
from hudi_table_services.model.metadata_table import SecondaryIndex

_SPECIAL = r"([\\$\x00])"
_NULL = "\0"
_SEPARATOR = "$"
_PREFIX = r"^(?s)(?P<prefix>(?:[^\\$]|\\.)*\$)"


@dataclass(frozen=True, slots=True)
class SecondaryKeyGroups:
    """The rule that assigns keys of a secondary index to the file groups of the index.

    Attributes:
        is_grouped_by_value: see `SecondaryIndex`.
    """

    is_grouped_by_value: bool

    def of(self, keys: pa.StringArray, group_count: int) -> Integers:
        """Return the number of the file group of each key."""
        hashed = prefixes_of(keys) if self.is_grouped_by_value else keys
        return file_groups_of(*utf8_buffers(hashed), group_count)


def secondary_keys(index: SecondaryIndex, rows: pa.Table) -> pa.StringArray:
    """Return the key of the index entry of each row.

    Args:
        rows: rows with the record key and with the indexed column, or the struct that contains this column.
    """
    return _keys(texts_of(column_at(rows, index.column)), rows[RECORD_KEY])


def all_secondary_keys(index: SecondaryIndex, rows: pa.Table) -> pa.ChunkedArray:
    """Return the keys of all index entries of the rows.

    A floating-point number has two entries if releases of Java convert the number to different strings.

    Args:
        rows: see `secondary_keys`.
    """
    values = column_at(rows, index.column)
    chunks = [_keys(texts_of(values), rows[RECORD_KEY])]
    if pa.types.is_floating(values.type):
        earlier = pa.array(
            [texts[-1] if len(texts) > 1 else None for texts in _java_texts(values)], pa.string()
        )
        differs = pc.is_valid(earlier)
        chunks.append(_keys(earlier.filter(differs), rows[RECORD_KEY].filter(differs)))
    return pa.chunked_array(chunks, pa.string())


def prefixes_of(keys: pa.StringArray) -> pa.StringArray:
    """Return the prefix of each key, up to and including the separator after the value."""
    return pc.struct_field(pc.extract_regex(keys, _PREFIX), "prefix")


def column_at(rows: pa.Table, path: str) -> pa.Array:
    """Return the column at a dotted path. If a struct is null, its members are null, too."""
    name, *members = path.split(".")
    column = _whole(rows[name])
    for member in members:
        column = column.flatten()[column.type.get_field_index(member)]
    return column


def texts_of(values: pa.Array) -> pa.StringArray:
    """Return the string that represents each value in an index. Nulls stay null.

    As in Spark's internal rows, a date is its number of days since 1970, and a timestamp is its number of microseconds
    since 1970. A floating-point number becomes the string of Java 19 and later.

    The types are those of `planning.metadata_table.secondary_indexes.INDEXED_TYPES`.
    """
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_date32(values.type):
        values = pc.cast(values, pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = pc.cast(pc.cast(values, pa.timestamp("us", values.type.tz)), pa.int64())
    elif pa.types.is_floating(values.type):
        return pa.array([texts[0] if texts else None for texts in _java_texts(values)], pa.string())
    return pc.cast(values, pa.string())


def _java_texts(values: pa.Array) -> list[tuple[str, ...]]:
    """Return the strings to which releases of Java convert each number; an empty tuple for null."""
    is_single = pa.types.is_float32(values.type)
    return [() if value is None else java_texts(value, is_single=is_single) for value in values.to_pylist()]


def _keys(texts: pa.StringArray, record_keys: pa.ChunkedArray) -> pa.StringArray:
    prefixes = pc.fill_null(_escaped(texts), _NULL)
    return pc.binary_join_element_wise(prefixes, _escaped(_whole(record_keys)), _SEPARATOR)


def _escaped(texts: pa.StringArray) -> pa.StringArray:
    return pc.replace_substring_regex(texts, _SPECIAL, r"\\\1")


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
