"""Rules that compare the settings with the table's properties, and with the releases that write the table."""

import re
from collections.abc import Iterator

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.keys.compaction import MAX_DELTA_COMMITS
from hudi_table_services.options.keys.key_generation import (
    KEY_GENERATOR_CLASS,
    KEY_GENERATOR_TYPE,
    NEW_KEY_ENCODING,
    PARTITION_PATH,
    RECORD_KEY,
)
from hudi_table_services.options.keys.log_files import TABLE_TYPE
from hudi_table_services.options.keys.writing import ORDERING_FIELDS, TABLE_VERSION
from hudi_table_services.options.registry import KNOWN_OPTIONS
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule
from hudi_table_services.planning.table.key_generator import key_generator_config
from hudi_table_services.planning.table.refused_features import refused_features

_WRITE = "hoodie.datasource.write."
_VERSION, _BOOTSTRAP = "hoodie.table.version", "hoodie.bootstrap.base.path"
_TABLE_TYPE, _MERGE_ON_READ = "hoodie.table.type", "MERGE_ON_READ"
_INLINE_COMPACTION = "hoodie.compact.inline"

_AS_IN_TABLE = {
    "hoodie.table.name": ("hoodie.table.name",),
    TABLE_TYPE.key: ("hoodie.table.type",),
    RECORD_KEY.key: ("hoodie.table.recordkey.fields",),
    PARTITION_PATH.key: ("hoodie.table.partition.fields",),
    ORDERING_FIELDS.key: ("hoodie.table.ordering.fields", "hoodie.table.precombine.field"),
    KEY_GENERATOR_CLASS.key: ("hoodie.table.keygenerator.class",),
    KEY_GENERATOR_TYPE.key: ("hoodie.table.keygenerator.type",),
    "hoodie.datasource.write.hive_style_partitioning": ("hoodie.datasource.write.hive_style_partitioning",),
    "hoodie.datasource.write.partitionpath.urlencode": ("hoodie.datasource.write.partitionpath.urlencode",),
    "hoodie.record.merge.mode": ("hoodie.record.merge.mode",),
    "hoodie.table.base.file.format": ("hoodie.table.base.file.format",),
}
_KEY_PROPERTIES = (
    "hoodie.table.keygenerator.type",
    "hoodie.table.keygenerator.class",
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
)
_CURE = "Keep writing the table with Hudi; health reports, sensors and the hook can read it."
_CURE_OF_LOG_FILES = (
    "Keep writing the table with Hudi; cleans, archival, rollbacks, restores, savepoints, repairs and health reports "
    "of this project work on the table."
)
_PROPERTY = re.compile(r"hoodie(?:\.\w+)+")
_CASE_SENSITIVE_KEYS = {
    "hoodie.table.name",
    *(f"{_WRITE}{n}.field" for n in ("recordkey", "partitionpath", "precombine")),
}


@config_rule(
    "differs-from-table",
    Severity.ERROR,
    "an option contradicts the table's properties",
    source="HoodieWriterUtils.validateTableConfig",
)
def _differs_from_table(settings: Settings) -> Iterator[Problem]:
    if settings.table is None:
        return
    for key, names in _AS_IN_TABLE.items():
        name = next((each for each in names if settings.table.properties.get(each)), None)
        if name is None or not settings.has(key):
            continue
        own, given = settings.table.properties[name], settings.text(key)
        if _comparable_items(key, own) != _comparable_items(key, given):
            yield Problem(
                keys=(key,),
                properties=(name,),
                reason=f"The table's property is {own}, but the option is {given}.",
                cure="Leave the option out: the job reads the property, and a write cannot change it.",
            )


def _comparable_items(key: str, text: str) -> tuple[str, ...]:
    """Split the value of an option into items, in a form in which the items can be compared.

    The items have no blanks, and no types of the custom key generator. Unless case is significant for this key, the
    items are lower-case and have no Java package.
    """
    parts = [part.split(":")[0].strip() for part in text.split(",") if part.strip()]
    if key in _CASE_SENSITIVE_KEYS:
        return tuple(parts)
    return tuple(part.rpartition(".")[2].lower() for part in parts)


@config_rule(
    "table-not-written",
    Severity.ERROR,
    "jobs of this project do not write a table of this version or with this feature",
    source="docs/on-disk.md",
    engines="native",
)
def _table_not_written(settings: Settings) -> Iterator[Problem]:
    if settings.table is None:
        return
    config = TableConfig(settings.table.properties)
    try:
        refused = refused_features(config, merge_on_read=True)
        problems = [(name, f"The table {feature}.") for feature, name in refused.items()]
        if not config.table_version.is_writable:
            version = int(config.table_version)
            problems.append((_VERSION, f"Jobs of this project can only read tables of version {version}."))
    except HudiTableServiceError as error:
        problems = [(next(iter(_properties_in(error.message)), _VERSION), str(error))]
    for name, problem in problems:
        yield Problem(
            properties=(name,),
            reason=problem,
            cure=_CURE_OF_LOG_FILES if name == _TABLE_TYPE and "merge-on-read" in problem else _CURE,
        )


def _properties_in(message: str) -> tuple[str, ...]:
    return tuple(_PROPERTY.findall(message))


@config_rule(
    "keys-not-written",
    Severity.ERROR,
    "writes of this project reject the table, because they cannot build its record keys or partition paths from its "
    "properties and the options. For example, Hudi generates the keys, or the type of a time column is not known",
    source="docs/key-generators.md",
    engines="native",
)
def _keys_not_written(settings: Settings) -> Iterator[Problem]:
    if settings.table is None:
        return
    config = TableConfig(settings.table.properties)
    # The rule `differs-from-table` reports options that contradict the table.
    different = {key for problem in _differs_from_table.check(settings) for key in problem.keys}
    options = {key: value for key, value in settings.options.items() if key not in different}
    if not _is_writable(config):
        return
    try:
        key_generator_config(config, options, existing_key="")
    except HudiTableServiceError as error:
        names = _properties_in(f"{error.message} {error.hint}")
        known = [name for name in names if name in KNOWN_OPTIONS]
        yield Problem(
            keys=tuple(dict.fromkeys(known)),
            properties=tuple(name for name in _KEY_PROPERTIES if name in settings.table.properties),
            reason=error.message,
            cure=error.hint or "Write the table with the program that created it.",
        )


def _is_writable(config: TableConfig) -> bool:
    try:
        return config.table_version.is_writable
    except HudiTableServiceError:
        return False  # the rule `table-not-written` reports the version


@config_rule(
    "bootstrapped-table",
    Severity.WARNING,
    "the table was bootstrapped from other files: Hudi's clustering may set columns to null",
    source="apache/hudi#8342",
    engines="hudi",
)
def _bootstrapped_table(settings: Settings) -> Iterator[Problem]:
    if settings.table is not None and settings.table.properties.get(_BOOTSTRAP):
        yield Problem(
            properties=(_BOOTSTRAP,),
            reason="Rows that were only bootstrapped are in files outside the table.",
            cure="On a copy of the table, compare row counts and columns before and after the first clustering.",
        )


@config_rule(
    "compaction-in-every-writer",
    Severity.WARNING,
    "the table is merge-on-read, and hoodie.compact.inline is not set: Hudi's Spark writer switches inline compaction "
    "on for batch writes, although the documented default is `false`",
    source=f"HoodieSparkSqlWriter: batch writes of merge-on-read tables compact after {MAX_DELTA_COMMITS}",
    engines="hudi",
)
def _compaction_in_every_writer(settings: Settings) -> Iterator[Problem]:
    is_table = settings.table is not None and settings.table.properties.get(_TABLE_TYPE) == _MERGE_ON_READ
    is_new_table = settings.table is None and settings.text(f"{_WRITE}table.type").upper() == _MERGE_ON_READ
    if (is_table or is_new_table) and not settings.has(_INLINE_COMPACTION):
        yield Problem(
            keys=(_INLINE_COMPACTION,),
            properties=(_TABLE_TYPE,) if is_table else (),
            reason="After every fifth delta commit, including those of other writers, a batch write of Hudi compacts "
            "all file slices with log files before it ends.",
            cure=f"Set {_INLINE_COMPACTION}=false for Hudi's writers if a separate task compacts the table. Set it to "
            "true if the writer shall compact.",
        )


@config_rule(
    "hudi-too-old",
    Severity.ERROR,
    "this release of Hudi cannot read this table version",
    source="HoodieTableVersion",
    engines="hudi",
)
def _hudi_too_old(settings: Settings) -> Iterator[Problem]:
    version, release = _table_version(settings), settings.facts.hudi_release
    needed = (1, 1) if version >= 9 else (1, 0) if version >= 7 else ()
    if release and release < needed:
        yield Problem(
            facts=("hudi_version",),
            properties=(_VERSION,) if settings.table is not None else (),
            reason=f"Table version {version} needs Hudi {'.'.join(map(str, needed))} or later.",
            cure="Upgrade Hudi for all writers and readers before a writer upgrades or creates the table.",
        )


@config_rule(
    "hudi-upgrades-table",
    Severity.WARNING,
    "the first write by this release of Hudi upgrades the table, and older readers and writers fail from then on",
    source=f"HoodieWriteConfig: hoodie.write.auto.upgrade, {TABLE_VERSION}",
    engines="hudi",
)
def _hudi_upgrades_table(settings: Settings) -> Iterator[Problem]:
    version, release = _table_version(settings), settings.facts.hudi_release
    newest = 9 if release >= (1, 1) else 8 if release >= (1, 0) else 0
    pinned = settings.has(TABLE_VERSION.key) or settings.is_off("hoodie.write.auto.upgrade")
    if settings.table is not None and 0 < version < newest and not pinned:
        yield Problem(
            facts=("hudi_version",),
            properties=(_VERSION,),
            reason=f"The table has version {version}, but this release writes version {newest}.",
            cure="Set hoodie.write.auto.upgrade=false until all readers and writers are upgraded.",
        )


def _table_version(settings: Settings) -> int:
    """Return the version of the table, or else the version that the options give to a new table; 0 if unknown."""
    if settings.table is not None:
        text = settings.table.properties.get(_VERSION, "")
    else:
        text = settings.options.get(TABLE_VERSION.key, "")
    return int(text) if text.strip().isdecimal() else 0


@config_rule(
    "hudi-without-spark",
    Severity.ERROR,
    "this release of Hudi has no bundle for this release of Spark",
    source="Hudi: Spark quick start, supported versions; apache/hudi#13429, apache/hudi#12772",
    engines="hudi",
)
def _hudi_without_spark(settings: Settings) -> Iterator[Problem]:
    release, spark = settings.facts.hudi_release, settings.facts.spark_release
    if not release or not spark:
        return
    too_new = spark >= (4,) and release < (1, 1)
    too_old = spark < (3, 3) and release >= (1, 0)
    if too_new or too_old:
        yield Problem(
            facts=("hudi_version", "spark_version"),
            reason="Spark 4 needs Hudi 1.1 or later." if too_new else "Hudi 1.x needs Spark 3.3 or later.",
            cure="Upgrade Hudi, or use Spark 3." if too_new else "Upgrade Spark, or stay with Hudi 0.15.",
        )


@config_rule(
    "hudi-hides-failures",
    Severity.WARNING,
    "Hudi's clustering job reports success although it failed with an exception",
    source="apache/hudi#10050, fixed in 0.14.1",
    engines="hudi",
)
def _hudi_hides_failures(settings: Settings) -> Iterator[Problem]:
    release = settings.facts.hudi_release
    if release and release < (0, 14, 1):
        yield Problem(
            facts=("hudi_version",),
            reason="In this release, HoodieClusteringJob ends with exit code 0 even if it failed.",
            cure="Check the timeline, for example with HudiInstantSensor after the task; or upgrade Hudi.",
        )


@config_rule(
    "complex-key-text",
    Severity.WARNING,
    "Hudi's releases differ in how they encode a complex key of one column: after a change of the release, an upsert "
    "does not find the existing rows",
    source=f"docs/key-generators.md; {NEW_KEY_ENCODING}",
    engines="hudi",
)
def _complex_key_text(settings: Settings) -> Iterator[Problem]:
    properties = settings.table.properties if settings.table is not None else {}
    keys = settings.text(RECORD_KEY.key) or properties.get("hoodie.table.recordkey.fields", "")
    parts = settings.text(PARTITION_PATH.key) or properties.get("hoodie.table.partition.fields", "")
    generator = "".join(
        settings.text(f"{_WRITE}keygenerator.{n}") or properties.get(f"hoodie.table.keygenerator.{n}", "")
        for n in ("class", "type")
    ).lower()
    is_complex = "complex" in generator or (not generator and "," in parts)
    is_open = not settings.has(NEW_KEY_ENCODING.key) and _table_version(settings) < 9
    if keys and "," not in keys and is_complex and is_open and settings.facts.hudi_release:
        short = (0, 14, 1) <= settings.facts.hudi_release <= (1, 0, 2)
        yield Problem(
            keys=tuple(k for k in (RECORD_KEY.key, KEY_GENERATOR_CLASS.key) if settings.has(k)),
            facts=("hudi_version",),
            reason="This release encodes a complex key of one column as "
            f"`{'value' if short else 'column:value'}`. Releases 0.14.1 to 1.0.2 encode it as `value`, all other "
            "releases as `column:value`.",
            cure="Use only releases with the same encoding, or check the encoding in the column _hoodie_record_key and "
            f"set {NEW_KEY_ENCODING} accordingly (Hudi 1.1 and later).",
        )


TABLE_RULES = (
    _differs_from_table,
    _table_not_written,
    _keys_not_written,
    _bootstrapped_table,
    _compaction_in_every_writer,
    _hudi_too_old,
    _hudi_upgrades_table,
    _hudi_without_spark,
    _hudi_hides_failures,
    _complex_key_text,
)
