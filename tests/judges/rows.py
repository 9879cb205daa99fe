"""Rows with every data type, and the model (a dictionary of rows) that tests compare with tables.

A model is ``{record key: row}``, and a row is ``{column: Python value}``. Judges return Arrow tables.
:func:`rows_by_key` converts both models and Arrow tables, so that equal values become equal Python objects; it
refuses rows in which a key occurs twice.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
Model = dict[str, Row]

META_COLUMNS = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
]

KEY = "key"
PARTITION = "part"
ORDERING = "ts"

# Every Spark type that a Hudi table can contain, including nested and nullable ones. The lengths of the keys have every
# remainder modulo four, because Hudi's bloom filter hashes blocks of four bytes. Timestamps without a time zone are not
# included, because Hudi 0.15 cannot read them.
ALL_TYPES = pa.schema(
    [
        pa.field(KEY, pa.string()),
        pa.field(PARTITION, pa.string()),
        pa.field(ORDERING, pa.int64()),
        pa.field("boolean", pa.bool_()),
        pa.field("int", pa.int32()),
        pa.field("long", pa.int64()),
        pa.field("float", pa.float32()),
        pa.field("double", pa.float64()),
        pa.field("text", pa.string()),
        pa.field("bytes", pa.binary()),
        pa.field("date", pa.date32()),
        pa.field("instant", pa.timestamp("us", tz="UTC")),
        pa.field("small_decimal", pa.decimal128(9, 2)),
        pa.field("long_decimal", pa.decimal128(18, 4)),
        pa.field("wide_decimal", pa.decimal128(38, 10)),
        pa.field("numbers", pa.list_(pa.field("element", pa.int32()))),
        pa.field("labels", pa.map_(pa.string(), pa.string())),
        pa.field("place", pa.struct([pa.field("lat", pa.float64()), pa.field("name", pa.string())])),
        pa.field(
            "visits",
            pa.list_(
                pa.field(
                    "element",
                    pa.struct([pa.field("when", pa.date32()), pa.field("cost", pa.decimal128(12, 3))]),
                )
            ),
        ),
    ]
)
LOCAL_TIME = pa.field("local_time", pa.timestamp("us"))

# A few columns, for tests that do not check types.
PLAIN = pa.schema([ALL_TYPES.field(name) for name in (KEY, PARTITION, ORDERING, "double", "text")])

PARTITIONS = ("a", "b")


def a_row(
    number: int, version: int, schema: pa.Schema = ALL_TYPES, partitions: Sequence[str] = PARTITIONS
) -> Row:
    """Return row ``number`` with the ordering value ``version``. In every fifth row, all nullable columns are null."""
    row = {KEY: a_key(number), PARTITION: partitions[number % len(partitions)], ORDERING: version}
    for field in schema:
        if field.name not in row:
            row[field.name] = None if number % 5 == 4 else _value(field.name, number, version)
    return row


def a_key(number: int) -> str:
    """Return a key of 1 to 8 bytes (for numbers below 256); some keys contain non-ASCII characters."""
    tail = "".join(chr(ord("a") + (number * 7 + 5 * place) % 26) for place in range(number % 4))
    return f"{number:x}" + tail + ("·é世"[number % 3] if number % 7 == 3 else "")


def _value(name: str, number: int, version: int) -> Any:
    seed = number * 1000 + version
    return {
        "boolean": seed % 2 == 0,
        "int": seed - 5000,
        "long": (seed << 33) - 7,
        "float": seed / 8,
        "double": seed / 7,
        "text": f"v{version} of {number} 'ü' \"quoted\"",
        "bytes": bytes((seed % 256, 0, 255)),
        "date": dt.date(1960, 1, 1) + dt.timedelta(days=seed),
        "instant": dt.datetime(1969, 12, 31, 23, 59, 58, 123456, dt.UTC) + dt.timedelta(hours=seed),
        "local_time": dt.datetime(1969, 12, 31, 23, 59, 58, 654321) + dt.timedelta(hours=seed),
        "small_decimal": Decimal(seed - 5000).scaleb(-2),
        "long_decimal": Decimal(-(seed << 30)).scaleb(-4),
        "wide_decimal": Decimal(seed * 10**25 + 1).scaleb(-10),
        "numbers": [number, version, -seed],
        "labels": {"k1": f"{seed}", "ключ": "значение"},
        "place": {"lat": seed / 3, "name": None if number % 3 == 0 else f"p{seed}"},
        "visits": [{"when": dt.date(2020, 1, 1 + number % 28), "cost": Decimal(seed).scaleb(-3)}],
    }[name]


def some_rows(
    numbers: Sequence[int],
    version: int,
    schema: pa.Schema = ALL_TYPES,
    partitions: Sequence[str] = PARTITIONS,
) -> list[Row]:
    """Return one row of :func:`a_row` for each of these numbers."""
    return [a_row(number, version, schema, partitions) for number in numbers]


# The rows of the ready-made tables, which have one commit: twenty rows in each of two partitions.
OUR_ROWS = some_rows(range(40), 1)


def as_table(rows: Sequence[Row], schema: pa.Schema = ALL_TYPES) -> pa.Table:
    """Return the rows as an Arrow table, for a writer."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def merged(model: Mapping[str, Row], rows: Sequence[Row]) -> Model:
    """Return the model after an upsert of ``rows``, whose ordering values must not be smaller than the stored ones."""
    return {**model, **{row[KEY]: row for row in rows}}


def rows_by_key(rows: pa.Table | Sequence[Row]) -> Model:
    """Return the rows by record key, with values that can be compared.

    Raises:
        AssertionError: a key occurs twice, so an index did not find a stored key.
    """
    listed = rows.to_pylist(maps_as_pydicts="strict") if isinstance(rows, pa.Table) else list(rows)
    model: Model = {}
    for row in listed:
        assert row[KEY] not in model, f"record key {row[KEY]!r} occurs more than once"
        model[row[KEY]] = {name: _comparable(value) for name, value in row.items()}
    return model


def count_of_keys_seen_twice(rows: pa.Table) -> int:
    """Count the rows whose key an earlier row also has. Negative controls expect this number."""
    keys = rows.column(KEY).to_pylist()
    return len(keys) - len(set(keys))


def assert_rows_equal(judged: pa.Table | Sequence[Row], model: Mapping[str, Row], who: str) -> None:
    """Compare the rows that ``who`` read with the model; the error lists the first differences."""
    found, expected = rows_by_key(judged), rows_by_key(list(model.values()))
    missing, surplus = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    assert not missing, f"{who} does not see {len(missing)} of {len(expected)} rows: {missing[:5]}"
    assert not surplus, f"{who} reads {len(surplus)} rows that the model does not contain: {surplus[:5]}"
    wrong = [
        f"{key}.{name}: {found[key].get(name)!r}, expected {value!r}"
        for key, row in expected.items()
        for name, value in row.items()
        if found[key].get(name) != value
    ]
    assert not wrong, f"{who} reads {len(wrong)} values wrongly: " + "; ".join(wrong[:5])


def _comparable(value: Any) -> Any:
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value
