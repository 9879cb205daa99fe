"""Generate the record keys and partition paths of Arrow tables, equal to those of Hudi's upsert on Spark.

The module follows KeyGenUtils and BuiltinKeyGenerator of Hudi 0.15 and 1.2; docs/key-generators.md has the observed
values. For speed, the module processes rows only with Arrow kernels, and builds a partition path once per distinct
value.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidDataError
from hudi_table_services.execution.writing.time_partitions import TimePartition
from hudi_table_services.model.key_generator import (
    DEFAULT_PARTITION,
    EMPTY_KEY_PART,
    NULL_KEY_PART,
    KeyGeneratorConfig,
    PartitionField,
    PartitionFieldType,
    key_column,
)
from hudi_table_services.model.schema import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Field,
    StructType,
)

_ESCAPED = re.compile("[\x01-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_LOOKS_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_GREGORIAN_START_US = -12219292800000000
_YEAR_10000_US = 253402300800000000
_UNREAD_LINE = (
    "If Spark cannot parse a line of a JSON or CSV file, it reads the line as a row of nulls. Set the source option "
    "mode=FAILFAST to get an error that names the line. "
)
_SHOWN_COLUMNS = 8


class KeyGenerator:
    """Generates the record key and the partition path of every row.

    Args:
        config: settings of the key generator, such as the key and partition columns.
        schema: columns of the tables that will be passed in.

    Raises:
        InvalidRequestError: a key or partition column is missing, or has an unsupported type; see `key_column`.
    """

    def __init__(self, config: KeyGeneratorConfig, schema: StructType) -> None:
        self._config = config
        self._key_fields = tuple(key_column(schema, name, "record key") for name in config.record_key_fields)
        self._partition_fields = tuple(
            (item, key_column(schema, item.name, "partition")) for item in config.partition_fields
        )
        self._time_partitions = {
            field.name: TimePartition(config, field)
            for item, field in self._partition_fields
            if item.type is PartitionFieldType.TIMESTAMP
        }

    def record_keys(self, table: pa.Table) -> pa.Array:
        """Return the record key of each row, as strings without null.

        Raises:
            InvalidDataError: some rows have no key, because all key columns are null or empty. The message has the
                number of such rows and an example.
        """
        if not table.num_rows:
            return pa.array([], pa.string())
        texts = [self._text(table, field) for field in self._key_fields]
        if not self._config.names_key_fields:
            self._refuse(table, _null_or_empty(texts[0]))
            return _one_array(texts[0])
        missing = [_null_or_empty(text) for text in texts]
        if all(mask is not None for mask in missing):
            everywhere = missing[0]
            for mask in missing[1:]:
                everywhere = pc.and_(everywhere, mask)
            self._refuse(table, everywhere)
        return _one_array(self._joined(texts))

    def _joined(self, texts: list[pa.ChunkedArray]) -> pa.ChunkedArray:
        pieces: list[pa.ChunkedArray | pa.Scalar] = []
        for field, text in zip(self._key_fields, texts, strict=True):
            pieces.append(pa.scalar(f"{',' if pieces else ''}{field.name}:"))
            pieces.append(_with_placeholders(text, NULL_KEY_PART, EMPTY_KEY_PART))
        return pc.binary_join_element_wise(*pieces, "")

    def _text(self, table: pa.Table, field: Field) -> pa.ChunkedArray:
        column = _column(table, field.name)
        if field.type == DATE:
            # A column has few distinct days, so convert each day to a string only once.
            coded = pc.dictionary_encode(column)
            chunks = [_text_of_date(chunk.dictionary, field).take(chunk.indices) for chunk in coded.chunks]
            return pa.chunked_array(chunks, type=pa.string())
        return self._text_of(column, field)

    def _text_of(self, values: pa.ChunkedArray | pa.Array, field: Field) -> pa.ChunkedArray | pa.Array:
        if field.type == DATE:
            return _text_of_date(values, field)
        if field.type == TIMESTAMP and self._config.consistent_logical_timestamp:
            return _text_of_timestamp(values, field, self._config.default_time_zone)
        if field.type in (TIMESTAMP, TIMESTAMP_NTZ):
            values = pc.cast(values, pa.int64())
        return values if values.type == pa.string() else pc.cast(values, pa.string())

    def _refuse(self, table: pa.Table, mask: pa.ChunkedArray | None) -> None:
        if mask is None:
            return
        count = pc.sum(mask).as_py() or 0
        if not count:
            return
        row = table.slice(pc.index(mask, True).as_py(), 1)
        names = [*self._config.record_key_fields, *table.column_names]
        shown = list(dict.fromkeys(name.split(".")[0] for name in names))[:_SHOWN_COLUMNS]
        values = {name: row.column(name)[0].as_py() for name in shown}
        example = ", ".join(f"{name}={value!r}" for name, value in values.items())
        unread = (
            ""
            if any(value is not None for value in values.values()) or len(shown) < table.num_columns
            else _UNREAD_LINE
        )
        raise InvalidDataError(
            f"The record key ({', '.join(self._config.record_key_fields)}) is null or empty in {count} of "
            f"{counted(table.num_rows, 'row')}. Example row: {example:.500}.",
            hint=f"{unread}Fill or remove these rows in the source query, or choose other key columns.",
        )

    def partition_paths(self, table: pa.Table) -> pa.DictionaryArray:
        """Return the partition path of each row, dictionary-encoded, without nulls; dictionary values are distinct.

        Raises:
            InvalidDataError: a value would result in a path that Hudi cannot read back.
        """
        if not table.num_rows:
            return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
        if not self._partition_fields:
            return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), table.num_rows), [""])
        segments = [self._segments(table, item, field) for item, field in self._partition_fields]
        paths = segments[0]
        for following in segments[1:]:
            paths = _combined(paths, following)
        return paths

    def _segments(self, table: pa.Table, item: PartitionField, field: Field) -> pa.DictionaryArray:
        column = _column(table, field.name)
        time_partition = self._time_partitions.get(field.name)
        if time_partition is not None:
            coded = time_partition.coded(column)
            texts = coded.dictionary.to_pylist()
        else:
            coded = _one_array(pc.dictionary_encode(column, null_encoding="encode"))
            texts = self._text_of(coded.dictionary, field).to_pylist()
        return _recoded(coded, [self._segment(item.name, text) for text in texts])

    def _segment(self, name: str, text: str | None) -> str:
        value = text or DEFAULT_PARTITION
        if self._config.url_encode:
            value = _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", value)
        else:
            _check_unescaped(name, value)
        if value in (".", ".."):
            raise _unreadable(name, value, "has a special meaning in a path")
        return f"{name}={value}" if self._config.hive_style else value


def _column(table: pa.Table, path: str) -> pa.ChunkedArray:
    """Return a column, or the struct member at a dotted path. The member is null where an enclosing struct is null."""
    name, *members = path.split(".")
    column = table.column(name)
    return pc.struct_field(column, members) if members else column


def _one_array(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def _null_or_empty(text: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the mask of the values that are null or empty; None if no value is null or empty."""
    if not text.null_count and pc.min(pc.binary_length(text)).as_py() != 0:
        return None
    return pc.fill_null(pc.equal(pc.binary_length(text), 0), True)


def _with_placeholders(text: pa.ChunkedArray, null: str, empty: str) -> pa.ChunkedArray:
    if pc.min(pc.binary_length(text)).as_py() == 0:
        text = pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(empty), text)
    return pc.fill_null(text, null) if text.null_count else text


def _text_of_date(values: pa.ChunkedArray | pa.Array, field: Field) -> pa.ChunkedArray | pa.Array:
    _check_range(pc.cast(values, pa.timestamp("us")), field)
    return pc.cast(values, pa.string())


def _text_of_timestamp(
    values: pa.ChunkedArray | pa.Array, field: Field, zone: str
) -> pa.ChunkedArray | pa.Array:
    """Truncate to milliseconds, and format like ``java.sql.Timestamp.toString``: 1 to 3 decimals.

    Trailing zeros after the first decimal are left out.
    """
    _check_range(values, field, _GREGORIAN_START_US)
    millis = pc.divide(pc.cast(values, pa.int64()), 1000)
    local = pc.local_timestamp(pc.cast(millis, pa.timestamp("ms", tz=zone)))
    text = pc.replace_substring(pc.cast(local, pa.string()), "T", " ")
    return pc.replace_substring_regex(text, r"(\.\d)(\d*?)0+$", r"\1\2")


def _check_range(
    instants: pa.ChunkedArray | pa.Array, field: Field, min_us: int = -62135596800000000
) -> None:
    """Refuse years outside 1 to 9999 and times before the Gregorian calendar, because Java formats them differently."""
    limits = pc.min_max(pc.cast(instants, pa.int64()))
    low, high = limits["min"].as_py(), limits["max"].as_py()
    if low is not None and (low < min_us or high >= _YEAR_10000_US):
        raise InvalidDataError(
            f"Column {field.name!r} has a {field.type} outside the range that keys and partition paths support.",
            hint="Correct the value, or cast the column to string in the source query.",
        )


def _recoded(coded: pa.DictionaryArray, texts: list[str]) -> pa.DictionaryArray:
    """Replace the dictionary values by other strings. Equal strings become one dictionary value."""
    positions: dict[str, int] = {}
    codes = pa.array([positions.setdefault(text, len(positions)) for text in texts], pa.int32())
    indices = coded.indices
    if len(positions) < len(texts):
        indices = codes.take(indices)
    return pa.DictionaryArray.from_arrays(
        pc.cast(indices, pa.int32()), pa.array(list(positions), pa.string())
    )


def _combined(left: pa.DictionaryArray, right: pa.DictionaryArray) -> pa.DictionaryArray:
    """Join the two paths of each row by ``/``. Build the result of each distinct pair only once."""
    width = len(right.dictionary)
    pairs = pc.add(pc.multiply(pc.cast(left.indices, pa.int64()), width), pc.cast(right.indices, pa.int64()))
    coded = pc.dictionary_encode(pairs)
    first, second = left.dictionary.to_pylist(), right.dictionary.to_pylist()
    texts = [f"{first[pair // width]}/{second[pair % width]}" for pair in coded.dictionary.to_pylist()]
    return _recoded(coded, texts)


def _check_unescaped(name: str, value: str) -> None:
    if ":" in value:
        raise _unreadable(
            name,
            value,
            "contains a ':', so Hudi could no longer read the table",
            is_time=bool(_TIME.match(value)),
        )
    if _LOOKS_ESCAPED.search(value):
        raise _unreadable(
            name, value, "looks percent-encoded, so readers would decode it to a different string"
        )
    if value.startswith("/") or value.endswith("/") or "//" in value:
        raise _unreadable(name, value, "results in an empty folder name")
    if any(part in (".", "..") for part in value.split("/")):
        raise _unreadable(name, value, "leads to another folder")


def _unreadable(name: str, value: str, why: str, *, is_time: bool = False) -> InvalidDataError:
    hint = "Create the table with hoodie.datasource.write.partitionpath.urlencode=true, or change the value."
    if is_time:
        hint = (
            f"The values look like times. Partition the table by a unit of time, as in --partition-by={name}:day, and "
            f"convert the column in the source query (--source-sql): CAST({name} AS TIMESTAMP) AS {name}. To get one "
            "partition for each value, set hoodie.datasource.write.partitionpath.urlencode=true."
        )
    return InvalidDataError(f"Partition column {name!r}: the value {value!r} {why}.", hint=hint)
