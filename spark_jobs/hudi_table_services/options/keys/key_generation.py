"""Options that define record keys and partition paths (HoodieKeyGeneratorConfig; Hudi 0.15 and 1.2)."""

from hudi_table_services.options.kinds import Flag, Names, OrNone, Text
from hudi_table_services.options.option import AnyOption, fixed, option

RECORD_KEY = option(
    "hoodie.datasource.write.recordkey.field",
    "",
    "columns of the record key, `--record-key`",
    Names(),
    "hoodie.table.recordkey.fields",
)
PARTITION_PATH = option(
    "hoodie.datasource.write.partitionpath.field",
    "",
    "partition columns, `--partition-by`",
    Names(),
    "hoodie.table.partition.fields",
)
KEY_GENERATOR_CLASS = option(
    "hoodie.datasource.write.keygenerator.class",
    "",
    "Java class of the key generator",
    Text(),
    "hoodie.table.keygenerator.class",
)
KEY_GENERATOR_TYPE = option(
    "hoodie.datasource.write.keygenerator.type",
    "",
    "key generator: SIMPLE, COMPLEX, NON_PARTITION, TIMESTAMP or CUSTOM; absent: the job infers the key generator as "
    "Hudi does",
    Text(),
    "hoodie.table.keygenerator.type",
)
HIVE_STYLE = option(
    "hoodie.datasource.write.hive_style_partitioning",
    False,
    "if `true`, partition folders are named `column=value`",
    Flag(),
)
URL_ENCODE = option(
    "hoodie.datasource.write.partitionpath.urlencode",
    False,
    "if `true`, partition paths contain special characters of values as %XX",
    Flag(),
)
CONSISTENT_TIMESTAMPS = option(
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
    False,
    "if `true`, record keys and partition paths contain formatted timestamps instead of microseconds",
    Flag(),
)
NEW_KEY_ENCODING = option(
    "hoodie.write.complex.keygen.new.encoding",
    "",
    "COMPLEX generator with one key column: if `true`, a record key is the bare value; if `false`, a record key is "
    "`column:value`; absent: the same form as in the table",
    OrNone(Flag()),
)
TIMEBASED_TIMESTAMP_TYPE = option(
    "hoodie.keygen.timebased.timestamp.type",
    "",
    "TIMESTAMP generator: type of the values in the partition column",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.timestamp.type",
)
TIMEBASED_TIMESTAMP_SCALAR_TIME_UNIT = option(
    "hoodie.keygen.timebased.timestamp.scalar.time.unit",
    "SECONDS",
    "TIMESTAMP generator: time unit of values of the type SCALAR",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.timestamp.scalar.time.unit",
)
TIMEBASED_INPUT_DATEFORMAT = option(
    "hoodie.keygen.timebased.input.dateformat",
    "",
    "TIMESTAMP generator: date patterns of string values",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.input.dateformat",
)
TIMEBASED_INPUT_DATEFORMAT_LIST_DELIMITER_REGEX = option(
    "hoodie.keygen.timebased.input.dateformat.list.delimiter.regex",
    ",",
    "TIMESTAMP generator: regular expression of the delimiter between the date patterns",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.input.dateformat.list.delimiter.regex",
)
TIMEBASED_INPUT_TIMEZONE = option(
    "hoodie.keygen.timebased.input.timezone",
    "",
    "TIMESTAMP generator: time zone of string values without an offset",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.input.timezone",
)
TIMEBASED_OUTPUT_DATEFORMAT = option(
    "hoodie.keygen.timebased.output.dateformat",
    "",
    "TIMESTAMP generator: date pattern of the partition path",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.output.dateformat",
)
TIMEBASED_OUTPUT_TIMEZONE = option(
    "hoodie.keygen.timebased.output.timezone",
    "",
    "TIMESTAMP generator: time zone of the partition path",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.output.timezone",
)
TIMEBASED_TIMEZONE = option(
    "hoodie.keygen.timebased.timezone",
    "",
    "TIMESTAMP generator: time zone of both the string values and the partition path",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.timezone",
)

KEY_GENERATION_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Keys and partitions": (
        RECORD_KEY,
        PARTITION_PATH,
        KEY_GENERATOR_CLASS,
        KEY_GENERATOR_TYPE,
        HIVE_STYLE,
        URL_ENCODE,
        CONSISTENT_TIMESTAMPS,
        NEW_KEY_ENCODING,
        TIMEBASED_TIMESTAMP_TYPE,
        TIMEBASED_TIMESTAMP_SCALAR_TIME_UNIT,
        TIMEBASED_INPUT_DATEFORMAT,
        TIMEBASED_INPUT_DATEFORMAT_LIST_DELIMITER_REGEX,
        TIMEBASED_INPUT_TIMEZONE,
        TIMEBASED_OUTPUT_DATEFORMAT,
        TIMEBASED_OUTPUT_TIMEZONE,
        TIMEBASED_TIMEZONE,
        fixed(
            "hoodie.datasource.write.slash.separated.date.partitioning",
            "false",
            "write dates yyyy-MM-dd as folders yyyy/MM/dd",
        ),
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
