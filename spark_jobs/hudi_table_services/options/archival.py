"""Convert hoodie.* keys to the typed options of the archive job."""

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.model.cleaning import CleanPolicy
from hudi_table_services.options.archival_job_options import ArchiveJobOptions
from hudi_table_services.options.keys.archival import (
    ARCHIVAL_BATCH,
    BEYOND_SAVEPOINT,
    HISTORY_BATCH,
    MANIFESTS_RETAINED,
    MAX_COMMITS,
    MIN_COMMITS,
)
from hudi_table_services.options.keys.cleaning import CLEAN_POLICY, COMMITS_RETAINED
from hudi_table_services.options.keys.compaction import MAX_DELTA_COMMITS
from hudi_table_services.options.keys.writing import TABLE_NAME
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.option import AnyOption, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options, with_fields


def resolve_archive_options(request: ArchiveRequest) -> ArchiveJobOptions:
    """Check all keys of an archive request and convert them to typed options.

    Raises:
        InvalidRequestError: an option is invalid or contradicts another option. The message names the key, its value
            and the allowed values, or both keys of a contradiction.
    """
    fields: dict[AnyOption, object] = {
        TABLE_NAME: request.table_name,
        MIN_COMMITS: request.min_commits,
        MAX_COMMITS: request.max_commits,
    }
    named, warnings = known_options(with_fields(request.options, fields), OptionGroup.ARCHIVAL)
    reader = OptionReader(named)
    options = _archival(reader)
    _refuse_contradictions(options, reader)
    return ArchiveJobOptions(
        archival=options,
        delta_commits=reader[MAX_DELTA_COMMITS],
        lock=LockOptions.of(named),
        warnings=warnings,
    )


def _archival(reader: OptionReader) -> ArchivalOptions:
    return ArchivalOptions(
        min_commits=reader[MIN_COMMITS],
        max_commits=reader[MAX_COMMITS],
        beyond_savepoint=reader[BEYOND_SAVEPOINT],
        batch_size=reader[ARCHIVAL_BATCH],
        merged_files=reader[HISTORY_BATCH],
        manifests_retained=reader[MANIFESTS_RETAINED],
    )


def _refuse_contradictions(options: ArchivalOptions, reader: OptionReader) -> None:
    if options.min_commits >= options.max_commits:
        raise InvalidRequestError(
            f"{MIN_COMMITS}={options.min_commits} is not below {MAX_COMMITS}={options.max_commits}.",
            hint="Set a larger maximum or a smaller minimum.",
        )
    retained = reader[COMMITS_RETAINED]
    if reader[CLEAN_POLICY] is CleanPolicy.KEEP_LATEST_COMMITS and options.min_commits <= retained:
        raise InvalidRequestError(
            f"{MIN_COMMITS}={options.min_commits} is not above {COMMITS_RETAINED}={retained}: archival would "
            "remove commits from the active timeline although cleaning keeps these commits readable.",
            hint=f"Keep more commits, or set {COMMITS_RETAINED} (or {CLEAN_POLICY}) to the value of the clean job.",
        )


DEFAULT_ARCHIVAL = _archival(OptionReader({}))
"""The options of an archival if the request gives no key."""
