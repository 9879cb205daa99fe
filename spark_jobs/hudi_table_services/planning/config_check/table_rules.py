"""Rules about the table the settings are for: its properties, its timeline, its partitions, and who can write it."""

import re
from collections.abc import Iterator, Sequence

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.keys.archival import MAX_COMMITS
from hudi_table_services.options.keys.cleaning import PARTITION_REGEX, PARTITIONS_TO_CLEAN
from hudi_table_services.options.keys.clustering import (
    PARTITION_PATTERN,
    SELECTED_PARTITIONS,
    UPDATES_STRATEGY,
)
from hudi_table_services.options.keys.key_generation import (
    KEY_GENERATOR_CLASS,
    KEY_GENERATOR_TYPE,
    NEW_KEY_ENCODING,
    PARTITION_PATH,
    RECORD_KEY,
)
from hudi_table_services.options.keys.writing import (
    METADATA_ENABLE,
    OPERATION,
    ORDERING_FIELDS,
    PARTITIONS_TO_DELETE,
    TABLE_VERSION,
)
from hudi_table_services.planning.config_check.settings import Problem, Settings, TableFacts, config_rule
from hudi_table_services.planning.table.refused_features import refused_features

_WRITE = "hoodie.datasource.write."
_OPERATION, _TO_DELETE = OPERATION.key, PARTITIONS_TO_DELETE.key
_METADATA, _UPDATES, _KEEP_MAX = METADATA_ENABLE.key, UPDATES_STRATEGY.key, MAX_COMMITS.key
_METADATA_PARTITIONS = "hoodie.table.metadata.partitions"
_VERSION, _BOOTSTRAP = "hoodie.table.version", "hoodie.bootstrap.base.path"

_AS_IN_TABLE = {
    "hoodie.table.name": ("hoodie.table.name",),
    "hoodie.datasource.write.table.type": ("hoodie.table.type",),
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
_LETTERS_COUNT = {
    "hoodie.table.name",
    *(f"{_WRITE}{n}.field" for n in ("recordkey", "partitionpath", "precombine")),
}


@config_rule(
    "differs-from-table",
    Severity.ERROR,
    "an option says something else than the table's properties",
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
        if _plain(key, own) != _plain(key, given):
            yield Problem(
                keys=(key,),
                properties=(name,),
                reason=f"The table has {own}, the option says {given}.",
                cure="Leave the option out: the table knows. What it says cannot be changed by a write.",
            )


def _plain(key: str, text: str) -> tuple[str, ...]:
    """Items without blanks, types of the custom key generator, and letters' case where it does not count."""
    parts = [part.split(":")[0].strip() for part in text.split(",") if part.strip()]
    return tuple(parts if key in _LETTERS_COUNT else [part.rpartition(".")[2].lower() for part in parts])


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
        problems = [f"The table {feature}." for feature in refused_features(config)]
        if not config.table_version.is_writable:
            problems.append(f"Version {int(config.table_version)} can be read only.")
    except HudiTableServiceError as error:
        problems = [str(error)]
    for each in problems:
        yield Problem(
            properties=(_VERSION,),
            reason=each,
            cure="Keep writing it with Hudi; health, sensors and the hook can read it all the same.",
        )


@config_rule(
    "bootstrapped-table",
    Severity.WARNING,
    "the table was bootstrapped from other files: clustering by Hudi may leave columns null",
    source="apache/hudi#8342",
    engines="hudi",
)
def _bootstrapped_table(settings: Settings) -> Iterator[Problem]:
    if settings.table is not None and settings.table.properties.get(_BOOTSTRAP):
        yield Problem(
            properties=(_BOOTSTRAP,),
            reason="Rows that were only bootstrapped lie in files outside of the table.",
            cure="Compare counts and columns before and after the first clustering, on a copy.",
        )


@config_rule(
    "metadata-table-stale",
    Severity.ERROR,
    "the table has an active metadata table, which jobs of this project do not write: they refuse the table, or "
    "switch it off if the options say so (a warning)",
    source="docs/on-disk.md",
    engines="native",
)
def _metadata_table_stale(settings: Settings) -> Iterator[Problem]:
    listed = settings.table.properties.get(_METADATA_PARTITIONS, "") if settings.table is not None else ""
    if not listed.strip():
        return
    is_off = settings.is_off(_METADATA)
    yield Problem(
        keys=(_METADATA,) if settings.has(_METADATA) else (),
        properties=(_METADATA_PARTITIONS,),
        reason="The first job deletes it; readers list files, and indexes in it have to be built anew by Hudi."
        if is_off
        else "A commit that leaves it stale would lose rows for readers that trust it, so jobs refuse the table.",
        cure="Set it to false in Hudi's writers as well, or the next one builds it anew."
        if is_off
        else f"Set {_METADATA}=false here and in Hudi's writers of this table.",
        severity=Severity.WARNING if is_off else Severity.ERROR,
    )


@config_rule(
    "metadata-settings-differ",
    Severity.WARNING,
    "the table has a metadata table and the options switch it off: a service with other settings than the writer "
    "deletes what the writer maintains, or fails",
    source="apache/hudi#8475",
    engines="hudi",
)
def _metadata_settings_differ(settings: Settings) -> Iterator[Problem]:
    if settings.table is None or not settings.table.properties.get(_METADATA_PARTITIONS, "").strip():
        return
    if settings.is_off(_METADATA):
        yield Problem(
            keys=(_METADATA,),
            properties=(_METADATA_PARTITIONS,),
            reason="The next job with these options deletes the metadata table; a writer with the default rebuilds it.",
            cure=f"Give all writers and services of the table the same {_METADATA}.",
        )


@config_rule(
    "hudi-too-old",
    Severity.ERROR,
    "the release of Hudi cannot read the version of the table",
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
            reason=f"Table version {version} came with Hudi {'.'.join(map(str, needed))}.",
            cure="Upgrade Hudi for all writers and readers before anything writes the newer version.",
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
            reason=f"The table has version {version}, this release writes {newest}.",
            cure="Set hoodie.write.auto.upgrade=false until all readers and writers are upgraded.",
        )


def _table_version(settings: Settings) -> int:
    """Version of the table; without a table the version of a new one; 0: unknown."""
    if settings.table is not None:
        text = settings.table.properties.get(_VERSION, "")
    else:
        text = settings.options.get(TABLE_VERSION.key, "")
    return int(text) if text.strip().isdecimal() else 0


@config_rule(
    "hudi-without-spark",
    Severity.ERROR,
    "the release of Hudi has no bundle for this release of Spark",
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
            reason="Spark 4 came with Hudi 1.1." if too_new else "Hudi 1.x needs Spark 3.3.",
            cure="Use Hudi 1.1 or later there." if too_new else "Upgrade Spark, or stay with Hudi 0.15.",
        )


@config_rule(
    "hudi-hides-failures",
    Severity.WARNING,
    "Hudi's clustering job ends as succeeded although it threw",
    source="apache/hudi#10050, mended in 0.14.1",
    engines="hudi",
)
def _hudi_hides_failures(settings: Settings) -> Iterator[Problem]:
    release = settings.facts.hudi_release
    if release and release < (0, 14, 1):
        yield Problem(
            facts=("hudi_version",),
            reason="Exit code 0 of HoodieClusteringJob says nothing in this release.",
            cure="Let the timeline judge, such as by HudiInstantSensor after the task; or upgrade.",
        )


@config_rule(
    "complex-key-text",
    Severity.WARNING,
    "releases of Hudi write different keys for a complex key of one column: an upsert no longer finds its rows",
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
            reason=f"This release writes {'value' if short else 'column:value'}; 0.14.1 to 1.0.2 write value, "
            "others column:value.",
            cure="Stay on one side of that border, or look at _hoodie_record_key and set "
            f"{NEW_KEY_ENCODING} by it (Hudi 1.1 and later).",
        )


@config_rule(
    "selector-matches-nothing",
    Severity.WARNING,
    "a partition that is named, or a pattern, fits no partition path as it is stored",
    source="apache/hudi#10165",
)
def _selector_matches_nothing(settings: Settings) -> Iterator[Problem]:
    there = settings.table.partitions if settings.table is not None else None
    if not there:
        return
    example = f"Partitions are stored as {', '.join(map(repr, there[:2]))}: give paths like these."
    for key, names in _selected(settings):
        if lost := [each for each in names if not _fitting(each, there, key == _TO_DELETE)]:
            yield Problem(keys=(key,), reason=f"The table has no partition {', '.join(lost)}.", cure=example)
    for key in _PATTERNS:
        if settings.has(key) and not _matching(settings.text(key), there):
            yield Problem(keys=(key,), reason="No partition path fits the whole pattern.", cure=example)


_NAMES = (SELECTED_PARTITIONS.key, PARTITIONS_TO_CLEAN.key, _TO_DELETE)
_PATTERNS = (PARTITION_PATTERN.key, PARTITION_REGEX.key)
SELECTORS = (*_NAMES, *_PATTERNS)
"""Options that choose partitions: only they make it worth listing them."""


def _selected(settings: Settings) -> Iterator[tuple[str, list[str]]]:
    for key in _NAMES:
        yield key, [name.strip() for name in settings.text(key).split(",") if name.strip()]


def _fitting(name: str, paths: Sequence[str], has_stars: bool) -> list[str]:
    if not has_stars:
        return [path for path in paths if path == name]
    pattern = ".*".join(map(re.escape, name.split("*")))
    return [path for path in paths if re.fullmatch(pattern, path)]


def _matching(pattern: str, paths: Sequence[str]) -> bool:
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return True  # another rule reports it
    return any(map(compiled.fullmatch, paths))


@config_rule(
    "overwrite-under-plan",
    Severity.ERROR,
    "partitions are to be overwritten or deleted while a clustering or compaction of them is pending: one of the two "
    "is lost. Advice where jobs of this project write: their plans give way",
    source="apache/hudi#18830",
)
def _overwrite_under_plan(settings: Settings) -> Iterator[Problem]:
    hit = _plans_hit(settings, settings.table) if settings.table is not None else []
    if not hit:
        return
    gives_way = not settings.facts.is_hudi and not settings.has(_UPDATES)
    yield Problem(
        keys=(_OPERATION, *((_UPDATES,) if settings.has(_UPDATES) else ())),
        reason=f"Pending: {', '.join(hit)}.",
        cure="Execute or cancel it first.",
        severity=Severity.ADVICE if gives_way else Severity.ERROR,
    )


def _plans_hit(settings: Settings, table: TableFacts) -> list[str]:
    """Pending plans that the write may meet. Which partitions insert_overwrite replaces is for its rows to say."""
    if settings.operation in ("insert_overwrite", "insert_overwrite_table"):
        return sorted(table.pending_plans)
    if settings.operation != "delete_partition":
        return []
    names = [name.strip() for name in settings.text(_TO_DELETE).split(",") if name.strip()]
    return sorted(
        time
        for time, paths in table.pending_plans.items()
        if any(_fitting(name, sorted(paths), has_stars=True) for name in names)
    )


@config_rule(
    "timeline-too-long",
    Severity.WARNING,
    "many more commits are active than archival should leave: readers and planning are slow, and clustering waits "
    "better until they are archived",
    source="apache/hudi#17903",
)
def _timeline_too_long(settings: Settings) -> Iterator[Problem]:
    most = settings.number(_KEEP_MAX)
    active = settings.table.active_commits if settings.table is not None else None
    if most is not None and active is not None and active > 2 * most:
        yield Problem(
            keys=(_KEEP_MAX,),
            reason=f"{active} commits are active, and archival should leave {most:g} at most.",
            cure="Run ArchiveOperator or archive.py; table_health.py reports what holds archival back.",
        )


TABLE_RULES = (
    _differs_from_table,
    _table_not_written,
    _bootstrapped_table,
    _metadata_table_stale,
    _metadata_settings_differ,
    _hudi_too_old,
    _hudi_upgrades_table,
    _hudi_without_spark,
    _hudi_hides_failures,
    _complex_key_text,
    _selector_matches_nothing,
    _overwrite_under_plan,
    _timeline_too_long,
)
