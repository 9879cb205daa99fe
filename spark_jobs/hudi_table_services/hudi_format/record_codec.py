"""Conversion between frozen dataclasses and Avro records, with one table of field names for each class.

An Avro null is read as None if the attribute may be None, otherwise as the attribute's default. None is written as
null. A null is an error only if the attribute has no default and cannot be None.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Generic, TypeVar, get_args

from hudi_table_services.errors import MalformedMetadataError

T = TypeVar("T")
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ValueCodec:
    """Conversion of one value in both directions. The functions are never called with None."""

    to_avro: Convert
    from_avro: Convert


def _same(value: Any) -> Any:
    return value


PLAIN = ValueCodec(_same, _same)


def list_of(items: ValueCodec = PLAIN) -> ValueCodec:
    """Return the codec of a tuple. Nulls inside an Avro array are skipped."""
    return ValueCodec(
        lambda values: [items.to_avro(value) for value in values],
        lambda values: tuple(items.from_avro(value) for value in values if value is not None),
    )


def map_of(values: ValueCodec = PLAIN) -> ValueCodec:
    """Return the codec of a mapping with string keys. Null values of an Avro map are skipped."""
    return ValueCodec(
        lambda mapping: {key: values.to_avro(value) for key, value in mapping.items()},
        lambda mapping: {key: values.from_avro(value) for key, value in mapping.items() if value is not None},
    )


@dataclass(frozen=True, slots=True)
class AvroName:
    """Avro field of an attribute, and the conversion of its value."""

    name: str
    codec: ValueCodec = PLAIN


@dataclass(frozen=True, slots=True)
class RecordCodec(Generic[T]):
    """Converts the values of one dataclass.

    Attributes:
        build: the dataclass.
        names: the Avro field of every attribute.
        constants: Avro fields without an attribute that are always written with the same value.
    """

    build: type[T]
    names: Mapping[str, AvroName]
    constants: Mapping[str, Any]

    def to_avro(self, value: T) -> dict[str, Any]:
        """Convert a value to its record."""
        record = dict(self.constants)
        for attribute, avro in self.names.items():
            item = getattr(value, attribute)
            record[avro.name] = None if item is None else avro.codec.to_avro(item)
        return record

    def from_avro(self, record: Mapping[str, Any]) -> T:
        """Convert a record to its value.

        Raises:
            MalformedMetadataError: a field without a default is null or absent.
        """
        arguments: dict[str, Any] = dict.fromkeys(_nullable(self.build))
        for attribute, avro in self.names.items():
            item = record.get(avro.name)
            if item is not None:
                arguments[attribute] = avro.codec.from_avro(item)
        missing = _required(self.build) - arguments.keys()
        if missing:
            names = sorted(self.names[attribute].name for attribute in missing)
            raise MalformedMetadataError(f"{self.build.__name__}: {', '.join(names)} must not be null.")
        return self.build(**arguments)

    @property
    def value(self) -> ValueCodec:
        """Return the codec for a value of this class inside another record."""
        return ValueCodec(self.to_avro, self.from_avro)


def _required(build: type[Any]) -> set[str]:
    return {
        field.name for field in fields(build) if field.default is MISSING and field.default_factory is MISSING
    }


def _nullable(build: type[Any]) -> set[str]:
    """Return the attributes that may be None. Their codec reads null as None, not as the default."""
    return {field.name for field in fields(build) if type(None) in get_args(field.type)}
