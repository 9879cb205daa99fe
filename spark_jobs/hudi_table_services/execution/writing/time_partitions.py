"""Build the partition paths of the timestamp-based key generator (TimestampBasedAvroKeyGenerator; Hudi 0.15, 1.2)."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.errors import InvalidDataError, InvalidRequestError
from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.schema import DATE, STRING, TIMESTAMP, Field
from hudi_table_services.model.time_pattern import PatternPart, input_expression, parse_output_pattern
from hudi_table_services.options.keys.key_generation import TIMEBASED_TIMESTAMP_TYPE

_US = pa.timestamp("us")
_FLOORS = (("S", "millisecond"), ("s", "second"), ("m", "minute"), ("H", "hour"))


class TimePartition:
    """Formats one partition column.

    Args:
        config: time zones and options; ``config.timestamp`` must be set.
        field: the column, of type int, long, date (unit DAYS), timestamp (unit MICROSECONDS) or string (for timestamp
            types that parse strings).

    Raises:
        InvalidRequestError: the column's type does not fit the timestamp type. Hudi writes a wrong date in this case.
    """

    def __init__(self, config: KeyGeneratorConfig, field: Field) -> None:
        if config.timestamp is None:
            raise InvalidRequestError(f"Column {field.name!r} needs the options hoodie.keygen.timebased.*.")
        self._options = config.timestamp
        self._default_zone = config.default_time_zone
        self._reads_instants = config.consistent_logical_timestamp and field.type == TIMESTAMP
        self._field = field
        self._output = parse_output_pattern(config.timestamp.output_format)
        if not config.reads_times_of(field.type):
            raise InvalidRequestError(
                f"Partition column {field.name!r} is {field.type}, and values of this type cannot be read as "
                f"{config.timestamp.timestamp_type.value}."
            )

    def coded(self, column: pa.ChunkedArray) -> pa.DictionaryArray:
        """Return the formatted values, dictionary-encoded, without nulls. As in Hudi, null becomes a time in 1970.

        Raises:
            InvalidDataError: no input format matches a string, or a year is outside 1 to 9999.
        """
        if self._field.type == STRING:
            return self._coded_text(column)
        local = self._local(self._instants(column), self._output_zone(None))
        if local.null_count:
            local = pc.fill_null(local, self._local_of_null())
        # Truncate to the finest unit of the output, so that few distinct values remain to be formatted.
        whole = self._one(pc.dictionary_encode(pc.floor_temporal(local, unit=_finest_unit(self._output))))
        return pa.DictionaryArray.from_arrays(whole.indices, self._formatted(whole.dictionary))

    def _instants(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return microseconds since 1970 in UTC. As in Java's TimeUnit, truncate them toward zero to milliseconds."""
        unit_us = 1 if self._reads_instants else self._options.unit_us
        if unit_us is None:
            raise InvalidRequestError(f"Column {self._field.name!r} is not a string.")
        numbers = column
        if column.type != pa.int64():
            numbers = pc.cast(pc.cast(column, pa.int32()) if self._field.type == DATE else column, pa.int64())
        if unit_us == 1:
            return pc.multiply(pc.divide(numbers, 1000), 1000)
        try:
            return pc.multiply_checked(numbers, unit_us)
        except pa.ArrowInvalid as error:
            raise self._out_of_range() from error

    def _local_of_null(self) -> pa.Scalar:
        """Return the local time that Hudi formats for null.

        For numbers and dates, this time is one time unit after the start of 1970, or the start of 1970 itself if the
        unit is shorter than a millisecond. For strings, this time is the start of 1970 as read with the first input
        format.
        """
        options = self._options
        if options.unit_us is not None:
            number = 1 if options.unit_us >= 1000 else 0
            return self._local(pa.array([number * options.unit_us], pa.int64()), self._output_zone(None))[0]
        written = pa.array([0], pa.int64()).cast(_US)
        carries_zone = options.input_time_zone is not None or "Z" in options.input_formats[0]
        if carries_zone:
            return self._local(
                pa.array([0], pa.int64()), self._output_zone(options.input_time_zone or "UTC")
            )[0]
        if options.output_time_zone is None:
            return written[0]
        instant = pc.cast(self._assumed(written, self._default_zone), pa.int64())
        return self._local(instant, options.output_time_zone)[0]

    def _output_zone(self, otherwise: str | None) -> str:
        return self._options.output_time_zone or otherwise or self._default_zone

    def _local(self, instants_us: pa.ChunkedArray | pa.Array, zone: str) -> pa.ChunkedArray | pa.Array:
        instants = pc.cast(instants_us, pa.timestamp("us", tz="UTC"))
        if zone == "UTC":
            return pc.cast(instants, _US)
        return pc.local_timestamp(pc.cast(instants, pa.timestamp("us", tz=zone)))

    def _coded_text(self, column: pa.ChunkedArray) -> pa.DictionaryArray:
        coded = self._one(pc.dictionary_encode(column, null_encoding="encode"))
        formatted = self._formatted(self._read(coded.dictionary))
        return pa.DictionaryArray.from_arrays(coded.indices, formatted)

    def _read(self, texts: pa.Array) -> pa.Array:
        """Return the local time of each string, in the output time zone or else in the input time zone.

        If neither time zone is set, the result is the time as the string contains it.
        """
        result = pa.nulls(len(texts), _US)
        for pattern in self._options.input_formats:
            result = pc.coalesce(result, self._read_by(texts, pattern))
        unread = pc.and_(pc.is_valid(texts), pc.is_null(result))
        if pc.any(unread).as_py():
            raise InvalidDataError(
                f"Partition column {self._field.name!r}: no input format matches "
                f"{texts[pc.index(unread, True).as_py()].as_py()!r}.",
                hint=f"Formats: {', '.join(self._options.input_formats)}.",
            )
        return pc.fill_null(result, self._local_of_null()) if texts.null_count else result

    def _read_by(self, texts: pa.Array, pattern: str) -> pa.Array:
        found = pc.extract_regex(texts, input_expression(pattern))
        written = _written_time(found)
        offset_us = _offset_us(found)
        if offset_us is None:
            zone = self._options.input_time_zone or self._default_zone
            instants = pc.cast(self._assumed(written, zone), pa.int64())
        else:
            instants = pc.subtract(pc.cast(written, pa.int64()), offset_us)
        shown_in = self._options.output_time_zone or self._options.input_time_zone
        if shown_in is None:
            return written
        return self._local(instants, shown_in)

    def _assumed(self, written: pa.Array, zone: str) -> pa.Array:
        try:
            return pc.assume_timezone(written, zone, ambiguous="earliest", nonexistent="raise")
        except pa.ArrowInvalid as error:
            raise InvalidDataError(
                f"Partition column {self._field.name!r} has a local time that does not exist in {zone}: {error}."
            ) from error

    def _formatted(self, local: pa.Array) -> pa.Array:
        years = pc.min_max(pc.year(local))
        if years["min"].as_py() is not None and not 1 <= years["min"].as_py() <= years["max"].as_py() <= 9999:
            raise self._out_of_range()
        return pc.binary_join_element_wise(*[_shown(local, part) for part in self._output], "")

    def _out_of_range(self) -> InvalidDataError:
        return InvalidDataError(
            f"Partition column {self._field.name!r} has a time outside the years 1 to 9999 if read as "
            f"{self._options.timestamp_type.value}.",
            hint=f"Check that {TIMEBASED_TIMESTAMP_TYPE} matches the unit of the column.",
        )

    @staticmethod
    def _one(values: pa.ChunkedArray | pa.Array) -> pa.Array:
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _finest_unit(parts: Sequence[PatternPart]) -> str:
    letters = {part.letter for part in parts}
    return next((unit for letter, unit in _FLOORS if letter in letters), "day")


def _shown(local: pa.Array, part: PatternPart) -> pa.Array | pa.Scalar:
    match part.letter:
        case "":
            return pa.scalar(part.text)
        case "S":
            digits = _padded(pc.add(pc.multiply(pc.millisecond(local), 1000), pc.microsecond(local)), 6)
            return pc.utf8_slice_codeunits(digits, 0, part.width)
    take = {
        "y": pc.year,
        "M": pc.month,
        "d": pc.day,
        "D": pc.day_of_year,
        "H": pc.hour,
        "m": pc.minute,
        "s": pc.second,
    }[part.letter]
    return _padded(take(local), part.width)


def _padded(numbers: pa.Array, width: int) -> pa.Array:
    return pc.utf8_lpad(pc.cast(numbers, pa.string()), width, "0")


def _written_time(found: pa.StructArray) -> pa.Array:
    """Return the local time in each string, without time zone; null if the pattern does not match."""
    names = [member.name for member in found.type]

    def digits(letter: str, width: int, default: str) -> pa.Array | pa.Scalar:
        if letter not in names:
            return pa.scalar(default)
        return pc.utf8_lpad(pc.struct_field(found, letter), width, "0")

    fraction = pc.utf8_rpad(pc.struct_field(found, "S"), 6, "0") if "S" in names else pa.scalar("000000")
    day = [digits("y", 4, "1970"), "-", digits("M", 2, "01"), "-", digits("d", 2, "01")]
    time = ["T", digits("H", 2, "00"), ":", digits("m", 2, "00"), ":", digits("s", 2, "00"), ".", fraction]
    text = pc.binary_join_element_wise(*[pa.scalar(p) if isinstance(p, str) else p for p in day + time], "")
    try:
        return pc.cast(text, _US)
    except pa.ArrowInvalid as error:
        raise InvalidDataError(f"A partition column has an impossible date or time: {error}.") from error


def _offset_us(found: pa.StructArray) -> pa.Array | None:
    """Return the offset from UTC in each string, in microseconds; None if the pattern has no offset."""
    if found.type.get_field_index("Z") < 0:
        return None
    text = pc.replace_substring(
        pc.replace_substring_regex(pc.struct_field(found, "Z"), "^Z$", "+0000"), ":", ""
    )
    hours = pc.cast(pc.utf8_slice_codeunits(text, 1, 3), pa.int64())
    minutes = pc.cast(pc.utf8_slice_codeunits(text, 3, 5), pa.int64())
    size = pc.add(pc.multiply(hours, 3_600_000_000), pc.multiply(minutes, 60_000_000))
    return pc.if_else(pc.starts_with(text, "-"), pc.negate(size), size)
