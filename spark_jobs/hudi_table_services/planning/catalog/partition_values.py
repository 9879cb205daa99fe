"""Derive partition values from partition paths (implementations of PartitionValueExtractor, Hudi 1.2)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import PartitionExtractor
from hudi_table_services.options.keys.catalog import PARTITION_EXTRACTOR, PARTITION_FIELDS

_DATE_PARTS = {PartitionExtractor.SLASH_ENCODED_DAY: 3, PartitionExtractor.SLASH_ENCODED_HOUR: 4}
_DIGITS = re.compile(r"\d+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRule:
    """Rule that converts the partition paths of a table to values of the catalog's partition columns.

    Attributes:
        fields: names of the partition columns.
        extractor: method that splits a path into values.
        decodes: whether ``%XX`` in values is decoded.
    """

    fields: tuple[str, ...]
    extractor: PartitionExtractor
    decodes: bool

    def values_of(self, path: str) -> tuple[str, ...]:
        """Return one value for each partition column.

        Raises:
            InvalidRequestError: the path does not have the form that the extractor requires.
        """
        values = _EXTRACTORS[self.extractor](self.extractor, path)
        if len(values) != len(self.fields):
            raise InvalidRequestError(
                f"The partition path {path!r} has {len(values)} values for the partition columns "
                f"{', '.join(self.fields) or '(none)'}.",
                hint=f"Set {PARTITION_FIELDS} and {PARTITION_EXTRACTOR} to values that match the partition paths.",
            )
        return tuple(map(unquote, values)) if self.decodes else values


def inferred_extractor(field_count: int) -> PartitionExtractor:
    """Return the extractor that fits a number of partition columns, as HoodieSyncConfig of Hudi 1.2 chooses it.

    There is one difference: for one column and Hive-style paths, Hudi chooses `HIVE_STYLE`, which accepts only one
    folder level. `SINGLE_PART` also accepts formatted times such as ``day=2026/01/02``.
    """
    if field_count == 0:
        return PartitionExtractor.NON_PARTITIONED
    return PartitionExtractor.SINGLE_PART if field_count == 1 else PartitionExtractor.MULTI_PART


def _value(segment: str) -> str:
    """Return the part after the first ``=``, or the whole segment."""
    name, separator, value = segment.partition("=")
    return value if separator else name


def _none(extractor: PartitionExtractor, path: str) -> tuple[str, ...]:
    return ()


def _hive_style(extractor: PartitionExtractor, path: str) -> tuple[str, ...]:
    parts = path.split("=")
    if len(parts) != 2:
        raise _refused(extractor, path, "column=value")
    return (parts[1],)


def _multi_part(extractor: PartitionExtractor, path: str) -> tuple[str, ...]:
    return tuple(map(_value, path.split("/"))) if path else ()


def _single_part(extractor: PartitionExtractor, path: str) -> tuple[str, ...]:
    return (_value(path).replace("/", "-"),)


def _date(extractor: PartitionExtractor, path: str) -> tuple[str, ...]:
    parts = tuple(map(_value, path.split("/")))
    if len(parts) != _DATE_PARTS[extractor] or not all(map(_DIGITS.fullmatch, parts)):
        form = "/".join(("yyyy", "mm", "dd", "HH")[: _DATE_PARTS[extractor]])
        raise _refused(extractor, path, form)
    return ("-".join([parts[0].zfill(4), *(part.zfill(2) for part in parts[1:])]),)


def _refused(extractor: PartitionExtractor, path: str, form: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The partition path {path!r} does not have the form {form}, which {extractor.value} requires.",
        hint=f"Choose another {PARTITION_EXTRACTOR}, or leave the key out.",
    )


_EXTRACTORS: dict[PartitionExtractor, Callable[[PartitionExtractor, str], tuple[str, ...]]] = {
    PartitionExtractor.NON_PARTITIONED: _none,
    PartitionExtractor.HIVE_STYLE: _hive_style,
    PartitionExtractor.MULTI_PART: _multi_part,
    PartitionExtractor.SINGLE_PART: _single_part,
    PartitionExtractor.SLASH_ENCODED_DAY: _date,
    PartitionExtractor.SLASH_ENCODED_HOUR: _date,
}
