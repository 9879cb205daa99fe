"""Derive the values of partition columns from partition paths.

As in Hudi, this module trusts a path: all rows of a partition have the values in its path. A path proves nothing about
a column if the table has a user-defined key generator or stores no key generator. The same is true if the path may
contain a formatted time, a placeholder for null, or a value whose text this module cannot parse with certainty. A path
also proves nothing in a table with a record index: by default, a write with this index leaves a row in its partition
when the value of its partition column changes.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from urllib.parse import unquote

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.model.key_generator import KeyGeneratorType
from hudi_table_services.model.metadata_table import FileColumnRange, RangeValue
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison
from hudi_table_services.model.reading.range_checks import only_value
from hudi_table_services.model.schema import PrimitiveType, StructType
from hudi_table_services.model.table_config import TableConfig

_PLACEHOLDERS = frozenset({"__HIVE_DEFAULT_PARTITION__", "default", "__empty__", "__null__", ""})
"""Values that stand for null or for an empty string in partition paths of some release of Hudi."""

_RECORD_INDEX = "record_index"
_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
"""Texts that are the same in a path whether or not special characters are encoded."""

_WITH_ONE_TEXT = ("string", "int", "long", "boolean")
"""Types whose values every release of Hudi writes into paths as the same text. Dates are not such a type."""

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MOST_NAMED = 50
"""Largest number of partitions that a read lists by their names. To find the files of more partitions, it costs less to
read the metadata table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLayout:
    """How partition paths of a table contain the values of columns.

    Attributes:
        fields: names of the partition columns, in the order of the path segments.
        types: the partition columns whose values a path proves, each with the name of its type.
        is_hive_style: whether a segment is ``column=value``.
        is_encoded: whether special characters of values are written as ``%XX``.
    """

    fields: tuple[str, ...]
    types: Mapping[str, str]
    is_hive_style: bool
    is_encoded: bool

    @classmethod
    def of(cls, config: TableConfig, schema: StructType) -> "PartitionLayout":
        """Return the layout of a table.

        Args:
            schema: current columns of the table.
        """
        formatted = config.formatted_time_fields
        is_proof = _has_known_generator(config) and _RECORD_INDEX not in config.metadata_partitions
        fields = config.partition_fields if is_proof else ()
        types = {
            name: field.type.name
            for name in fields
            if name not in formatted
            and (field := schema.find(name)) is not None
            and isinstance(field.type, PrimitiveType)
            and field.type.name in _PARSERS
        }
        return cls(
            fields=config.partition_fields,
            types=types,
            is_hive_style=config.hive_style_partitioning,
            is_encoded=config.url_encodes_partitions,
        )

    def ranges_of(self, path: str) -> Mapping[str, FileColumnRange]:
        """Return a range for each column whose value the path proves. The range contains only this value."""
        if not self.types:
            return {}
        segments = [path] if len(self.fields) == 1 else path.split("/")
        if len(segments) != len(self.fields):
            return {}
        found = {}
        for name, segment in zip(self.fields, segments, strict=True):
            value = self._value(name, segment) if name in self.types else None
            if value is not None:
                found[name] = only_value(name, value)
        return found

    def named_paths(self, predicates: Iterable[ColumnPredicate]) -> tuple[str, ...] | None:
        """Return the only partition paths that can have wanted rows; None if the conditions do not name the paths.

        The conditions name the paths if they limit each partition column to a few values, and if the text of each value
        in a path is certain. The text of a date is not certain: with an option of Hudi 1.2, ``2026-01-02`` becomes the
        folders ``2026/01/02``.
        """
        if not self.fields or not all(self.types.get(name) in _WITH_ONE_TEXT for name in self.fields):
            return None
        texts = {}
        for predicate in predicates:
            if predicate.column in self.types and predicate.comparison in (Comparison.EQUAL, Comparison.IN):
                texts[predicate.column] = [_path_text(value) for value in dict.fromkeys(predicate.values)]
        if texts.keys() != set(self.fields) or any(
            text is None for found in texts.values() for text in found
        ):
            return None
        if math.prod(len(found) for found in texts.values()) > _MOST_NAMED:
            return None
        segments = [
            [f"{name}={t}" if self.is_hive_style else str(t) for t in texts[name]] for name in self.fields
        ]
        return tuple(sorted("/".join(path) for path in itertools.product(*segments)))

    def _value(self, name: str, segment: str) -> RangeValue | None:
        if self.is_hive_style:
            prefix = f"{name}="
            if not segment.startswith(prefix):
                return None
            segment = segment[len(prefix) :]
        if segment in _PLACEHOLDERS:
            return None
        value = _PARSERS[self.types[name]](segment)
        return unquote(value) if self.is_encoded and isinstance(value, str) else value


def _has_known_generator(config: TableConfig) -> bool:
    """Whether paths contain values of columns, except formatted times. A user-defined class can write other paths.

    In two cases, any partition column may be a formatted time: the table stores no key generator, as some tables of
    Flink and of old releases; or Hudi 0.15 stored the columns of a custom key generator, without their types. The
    result is then False.
    """
    parsers = {
        "hoodie.table.keygenerator.type": KeyGeneratorType.from_type_name,
        "hoodie.table.keygenerator.class": KeyGeneratorType.from_class_name,
    }
    try:
        kinds = {parse(text) for name, parse in parsers.items() if (text := config.get(name))}
    except UnsupportedTableError:
        return False
    if kinds and KeyGeneratorType.CUSTOM not in kinds:
        return True
    stored = config.get("hoodie.table.partition.fields") or ""
    return all(":" in item for item in stored.split(","))


def _path_text(value: RangeValue) -> str | None:
    """Return the text of a value in paths; None if its text is not certain."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str) or _DATE.fullmatch(value):
        return None
    return value if _PLAIN.fullmatch(value) else None


def _text(text: str) -> RangeValue | None:
    """Return a text; None for a text with slashes, which can stand for a date such as ``2026-01-02`` in Hudi 1.2."""
    return None if "/" in text else text


def _whole(text: str) -> RangeValue | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def _flag(text: str) -> RangeValue | None:
    return {"true": True, "false": False}.get(text)


def _days(text: str) -> RangeValue | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


_PARSERS: Mapping[str, Callable[[str], RangeValue | None]] = {
    "string": _text,
    "int": _whole,
    "long": _whole,
    "boolean": _flag,
    "date": _days,
}
