"""Convert hoodie.* keys to the typed options of a compaction plan."""

from collections.abc import Mapping

from hudi_table_services.model.compaction.compaction_settings import CompactionOptions
from hudi_table_services.options.keys import compaction as keys
from hudi_table_services.options.keys.writing import MAX_FILE_SIZE
from hudi_table_services.options.reader import OptionReader


def compaction_options(options: Mapping[str, str]) -> CompactionOptions:
    """Convert keys and their values. Keys that the planner does not read are ignored.

    Raises:
        InvalidRequestError: an option is invalid. The message names the key, its value and the allowed values.
    """
    reader = OptionReader(options)
    return CompactionOptions(
        trigger=reader[keys.COMPACTION_TRIGGER],
        max_delta_commits=reader[keys.MAX_DELTA_COMMITS],
        max_delta_seconds=reader[keys.MAX_DELTA_SECONDS],
        strategy=reader[keys.COMPACTION_STRATEGY],
        target_io_mb=reader[keys.TARGET_IO],
        min_log_bytes=reader[keys.LOG_FILE_SIZE_THRESHOLD],
        min_log_files=reader[keys.LOG_FILE_NUM_THRESHOLD],
        target_partitions=reader[keys.TARGET_PARTITIONS],
        partition_pattern=reader[keys.PARTITION_PATTERN],
        selected_partitions=reader[keys.SELECTED_PARTITIONS],
        ranks_by_benefit=reader[keys.RANK_BY_BENEFIT],
        min_log_ratio=reader[keys.MIN_LOG_RATIO],
        max_log_age_seconds=reader[keys.MAX_LOG_AGE_SECONDS],
        max_task_seconds=reader[keys.MAX_TASK_SECONDS],
        default_bytes_per_second=reader[keys.BYTES_PER_SECOND],
        new_base_file_bytes=reader[MAX_FILE_SIZE],
    )


DEFAULT_COMPACTION = compaction_options({})
"""The options of a compaction plan if the request gives no key."""
