"""Settings of the services of the metadata table."""

from dataclasses import replace

from hudi_table_services.options.archival import DEFAULT_ARCHIVAL
from hudi_table_services.options.keys.archival import MAX_COMMITS, MIN_COMMITS
from hudi_table_services.options.keys.metadata_table import (
    COMPACT_DELTA_COMMITS,
    CREATE_BLOOM_FILTERS,
    CREATE_COLUMN_STATS,
    CREATE_PARTITIONED_RECORD_INDEX,
    CREATE_RECORD_INDEX,
    PARTITIONED_INDEX_MIN_GROUPS,
)
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.options.metadata_settings_values import (
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
            bloom_filters=reader[CREATE_BLOOM_FILTERS],
            record_index=reader[CREATE_RECORD_INDEX],
            partitioned_record_index=reader[CREATE_PARTITIONED_RECORD_INDEX],
        ),
        new_partition_groups=reader[PARTITIONED_INDEX_MIN_GROUPS],
    )


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
