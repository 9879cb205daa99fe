"""Keys that say how record keys and partition paths are made (HoodieKeyGeneratorConfig; Hudi 0.15 and 1.2)."""

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
    "key generator by Java class",
    Text(),
    "hoodie.table.keygenerator.class",
)
KEY_GENERATOR_TYPE = option(
    "hoodie.datasource.write.keygenerator.type",
    "",
    "SIMPLE, COMPLEX, NON_PARTITION, TIMESTAMP or CUSTOM; absent: inferred as in Hudi",
    Text(),
    "hoodie.table.keygenerator.type",
)
HIVE_STYLE = option(
    "hoodie.datasource.write.hive_style_partitioning",
    False,
    "partition folders are called column=value",
    Flag(),
)
URL_ENCODE = option(
    "hoodie.datasource.write.partitionpath.urlencode",
    False,
    "special characters of partition values as %XX",
    Flag(),
)
CONSISTENT_TIMESTAMPS = option(
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
    False,
    "timestamps in keys as text instead of microseconds",
    Flag(),
)
NEW_KEY_ENCODING = option(
    "hoodie.write.complex.keygen.new.encoding",
    "",
    "keys of a one-column COMPLEX generator: true = value, false = column:value; absent: as in the table",
    OrNone(Flag()),
)
TIMEBASED_TIMESTAMP_TYPE = option(
    "hoodie.keygen.timebased.timestamp.type",
    "",
    "what a timestamp partition column holds",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.timestamp.type",
)
TIMEBASED_TIMESTAMP_SCALAR_TIME_UNIT = option(
    "hoodie.keygen.timebased.timestamp.scalar.time.unit",
    "SECONDS",
    "unit of type SCALAR",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.timestamp.scalar.time.unit",
)
TIMEBASED_INPUT_DATEFORMAT = option(
    "hoodie.keygen.timebased.input.dateformat",
    "",
    "patterns of text",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.input.dateformat",
)
TIMEBASED_INPUT_DATEFORMAT_LIST_DELIMITER_REGEX = option(
    "hoodie.keygen.timebased.input.dateformat.list.delimiter.regex",
    ",",
    "what separates the patterns",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.input.dateformat.list.delimiter.regex",
)
TIMEBASED_INPUT_TIMEZONE = option(
    "hoodie.keygen.timebased.input.timezone",
    "",
    "zone of text without offset",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.input.timezone",
)
TIMEBASED_OUTPUT_DATEFORMAT = option(
    "hoodie.keygen.timebased.output.dateformat",
    "",
    "pattern of the partition path",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.output.dateformat",
)
TIMEBASED_OUTPUT_TIMEZONE = option(
    "hoodie.keygen.timebased.output.timezone",
    "",
    "zone of the partition path",
    Text(),
    "hoodie.deltastreamer.keygen.timebased.output.timezone",
)
TIMEBASED_TIMEZONE = option(
    "hoodie.keygen.timebased.timezone",
    "",
    "both zones at once",
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
            "yyyy-MM-dd as yyyy/MM/dd folders",
        ),
    ),
}
"""Keys by heading, in the order of the documentation."""
