"""Convert hoodie.* keys to the typed options of the clean job."""

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.cleaning import CleanOptions, CleanPolicy
from hudi_table_services.options.cleaning_job_options import CleanJobOptions
from hudi_table_services.options.keys.cleaning import (
    CLEAN_PARALLELISM,
    CLEAN_POLICY,
    COMMITS_RETAINED,
    FILE_VERSIONS_RETAINED,
    FLOOR_HOURS,
    HOURS_RETAINED,
    INCREMENTAL,
    MAX_COMMITS_TO_CLEAN,
    PARTITION_REGEX,
    PARTITIONS_TO_CLEAN,
    TRIGGER_MAX_COMMITS,
)
from hudi_table_services.options.keys.writing import TABLE_NAME
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings import metadata_table_settings
from hudi_table_services.options.option import AnyOption, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import (
    failed_writes_policy,
    known_options,
    with_fields,
)

_POLICY_OF_RETENTION = {
    COMMITS_RETAINED: CleanPolicy.KEEP_LATEST_COMMITS,
    HOURS_RETAINED: CleanPolicy.KEEP_LATEST_BY_HOURS,
    FILE_VERSIONS_RETAINED: CleanPolicy.KEEP_LATEST_FILE_VERSIONS,
}


def resolve_clean_options(request: CleanRequest) -> CleanJobOptions:
    """Check all keys of a clean request and convert them to typed options.

    Raises:
        InvalidRequestError: an option is invalid or contradicts another option. The message names the key, its value
            and the allowed values, or both keys of a contradiction.
    """
    fields: dict[AnyOption, object] = {
        TABLE_NAME: request.table_name,
        CLEAN_POLICY: request.policy,
        COMMITS_RETAINED: request.commits_retained,
        HOURS_RETAINED: request.hours_retained,
        FILE_VERSIONS_RETAINED: request.file_versions_retained,
        MAX_COMMITS_TO_CLEAN: request.max_commits_per_run,
    }
    named, warnings = known_options(with_fields(request.options, fields), OptionGroup.CLEANING)
    reader = OptionReader(named)
    _refuse_two_retentions(request, reader)
    return CleanJobOptions(
        clean=_clean_options(reader),
        failed_writes=failed_writes_policy(reader),
        parallelism=reader[CLEAN_PARALLELISM],
        lock=LockOptions.of(named),
        metadata=metadata_table_settings(reader),
        hoodie_options=named,
        warnings=warnings,
    )


def _clean_options(reader: OptionReader) -> CleanOptions:
    return CleanOptions(
        policy=_policy(reader),
        commits_retained=reader[COMMITS_RETAINED],
        hours_retained=reader[HOURS_RETAINED],
        file_versions_retained=reader[FILE_VERSIONS_RETAINED],
        is_incremental=reader[INCREMENTAL],
        trigger_commits=reader[TRIGGER_MAX_COMMITS],
        max_commits_per_run=reader[MAX_COMMITS_TO_CLEAN],
        partition_regex=reader[PARTITION_REGEX] or None,
        partitions_selected=reader[PARTITIONS_TO_CLEAN],
        floor_hours=reader[FLOOR_HOURS],
    )


def _policy(reader: OptionReader) -> CleanPolicy:
    """Return the given policy, or else the policy of the only given retention option, or else Hudi's default."""
    given = [policy for option, policy in _POLICY_OF_RETENTION.items() if option in reader]
    if CLEAN_POLICY not in reader and len(given) == 1:
        return given[0]
    return reader[CLEAN_POLICY]


def _refuse_two_retentions(request: CleanRequest, reader: OptionReader) -> None:
    """Refuse a request with two retention fields and no policy.

    Two retention keys in the options are not refused: the default policy applies, as in Hudi.
    """
    values = (request.commits_retained, request.hours_retained, request.file_versions_retained)
    given = [option for option, value in zip(_POLICY_OF_RETENTION, values, strict=True) if value is not None]
    if len(given) > 1 and CLEAN_POLICY not in reader:
        raise InvalidRequestError(
            f"{' and '.join(option.key for option in given)} are both given, and only one of them can take effect.",
            hint=f"Give only one of them, or also the policy: {', '.join(each.value for each in CleanPolicy)}.",
        )
