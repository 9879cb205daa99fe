"""Settings of the metadata table: its services, and the indexes that a job builds."""

from dataclasses import replace

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.archival import DEFAULT_ARCHIVAL
from hudi_table_services.options.keys.archival import MAX_COMMITS, MIN_COMMITS
from hudi_table_services.options.keys.metadata_index import (
    BLOOM_FILTER_GROUPS,
    COLUMN_STATS_COLUMNS,
    COLUMN_STATS_GROUPS,
    COLUMN_STATS_MAX_COLUMNS,
    PARTITION_STATS_GROUPS,
    PARTITIONED_INDEX_MAX_GROUPS,
    RECORD_INDEX_GROWTH,
    RECORD_INDEX_MAX_GROUP_BYTES,
    RECORD_INDEX_MAX_GROUPS,
    RECORD_INDEX_MIN_GROUPS,
)
from hudi_table_services.options.keys.metadata_table import (
    COMPACT_DELTA_COMMITS,
    CREATE_BLOOM_FILTERS,
    CREATE_COLUMN_STATS,
    CREATE_PARTITION_STATS,
    CREATE_PARTITIONED_RECORD_INDEX,
    CREATE_RECORD_INDEX,
    PARTITIONED_INDEX_MIN_GROUPS,
)
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.options.metadata_settings_values import (
    IndexSettings,
    MetadataTableSettings,
    NewIndexes,
    ServiceSettings,
)
from hudi_table_services.options.option import AnyOption
from hudi_table_services.options.reader import OptionReader


def metadata_table_settings(reader: OptionReader) -> MetadataTableSettings:
    """Return the settings of the metadata table from the options of a request.

    Raises:
        InvalidRequestError: an option is invalid.
    """
    return MetadataTableSettings(
        enable=reader[METADATA_ENABLE],
        services=metadata_service_settings(reader),
        new_indexes=NewIndexes(
            column_stats=reader[CREATE_COLUMN_STATS],
            partition_stats=reader[CREATE_PARTITION_STATS],
            bloom_filters=reader[CREATE_BLOOM_FILTERS],
            record_index=reader[CREATE_RECORD_INDEX],
            partitioned_record_index=reader[CREATE_PARTITIONED_RECORD_INDEX],
            settings=index_settings(reader),
        ),
        new_partition_groups=reader[PARTITIONED_INDEX_MIN_GROUPS],
    )


def index_settings(reader: OptionReader) -> IndexSettings:
    """Return the settings of the indexes that a job builds.

    Raises:
        InvalidRequestError: an option is invalid, or the bounds of the record index contradict each other.
    """
    has_number = COLUMN_STATS_MAX_COLUMNS in reader
    settings = IndexSettings(
        columns=reader[COLUMN_STATS_COLUMNS],
        max_columns=reader[COLUMN_STATS_MAX_COLUMNS] if has_number else None,
        column_stats_groups=reader[COLUMN_STATS_GROUPS],
        partition_stats_groups=reader[PARTITION_STATS_GROUPS],
        bloom_filter_groups=reader[BLOOM_FILTER_GROUPS],
        min_groups=reader[RECORD_INDEX_MIN_GROUPS],
        max_groups=reader[RECORD_INDEX_MAX_GROUPS],
        min_partition_groups=reader[PARTITIONED_INDEX_MIN_GROUPS],
        max_partition_groups=reader[PARTITIONED_INDEX_MAX_GROUPS],
        is_partitioned_index=_is_partitioned_index(reader),
        growth_factor=reader[RECORD_INDEX_GROWTH],
        max_group_bytes=reader[RECORD_INDEX_MAX_GROUP_BYTES],
    )
    _refuse_bounds(RECORD_INDEX_MIN_GROUPS, settings.min_groups, RECORD_INDEX_MAX_GROUPS, settings.max_groups)
    _refuse_bounds(
        PARTITIONED_INDEX_MIN_GROUPS,
        settings.min_partition_groups,
        PARTITIONED_INDEX_MAX_GROUPS,
        settings.max_partition_groups,
    )
    return settings


def _refuse_bounds(least_key: AnyOption, least: int, most_key: AnyOption, most: int) -> None:
    if least > most:
        raise InvalidRequestError(f"{least_key}={least} is above {most_key}={most}.")


def _is_partitioned_index(reader: OptionReader) -> bool | None:
    partitioned, whole = reader[CREATE_PARTITIONED_RECORD_INDEX], reader[CREATE_RECORD_INDEX]
    if partitioned and whole:
        raise InvalidRequestError(
            f"{CREATE_PARTITIONED_RECORD_INDEX}=true and {CREATE_RECORD_INDEX}=true contradict each other: a table has "
            "one record index."
        )
    return partitioned if partitioned or whole else None


def metadata_service_settings(reader: OptionReader) -> ServiceSettings:
    """Return the settings of the services of the metadata table from the options of a request.

    Raises:
        InvalidRequestError: an option is invalid.
    """
    return ServiceSettings(
        max_delta_commits=reader[COMPACT_DELTA_COMMITS],
        archival=replace(
            DEFAULT_ARCHIVAL,
            min_commits=reader[MIN_COMMITS] + 1,
            max_commits=reader[MAX_COMMITS] + 1,
        ),
    )


DEFAULT_SERVICE_SETTINGS = metadata_service_settings(OptionReader({}))
"""The settings of the services of the metadata table if the request gives no key."""

DEFAULT_METADATA_SETTINGS = metadata_table_settings(OptionReader({}))
"""The settings of the metadata table if the request gives no key."""
