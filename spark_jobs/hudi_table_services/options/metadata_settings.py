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
    CREATE_RECORD_INDEX,
)
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.options.metadata_settings_values import (
    IndexSettings,
    MetadataTableSettings,
    NewIndexes,
    ServiceSettings,
)
from hudi_table_services.options.reader import OptionReader


def metadata_table_settings(reader: OptionReader) -> MetadataTableSettings:
    """Options of a request.

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
            settings=index_settings(reader),
        ),
    )


def index_settings(reader: OptionReader) -> IndexSettings:
    """Settings of the indexes that a job builds.

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
        growth_factor=reader[RECORD_INDEX_GROWTH],
        max_group_bytes=reader[RECORD_INDEX_MAX_GROUP_BYTES],
    )
    if settings.min_groups > settings.max_groups:
        raise InvalidRequestError(
            f"{RECORD_INDEX_MIN_GROUPS}={settings.min_groups} is above {RECORD_INDEX_MAX_GROUPS}="
            f"{settings.max_groups}."
        )
    return settings


def metadata_service_settings(reader: OptionReader) -> ServiceSettings:
    """Settings of a request.

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
"""Settings if no key is given."""

DEFAULT_METADATA_SETTINGS = metadata_table_settings(OptionReader({}))
"""Options if no key is given."""
