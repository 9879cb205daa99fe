"""From Hudi's keys to the typed options of the clean job."""

import re

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clean import CleanOptions, CleanPolicy
from hudi_table_services.options.clean_job_options import CleanJobOptions
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.option import Service
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import (
    concurrency_mode,
    failed_writes_policy,
    metadata_enable,
    obeyed_options,
    says_the_same,
)

_KEY = "hoodie.clean."
POLICY = f"{_KEY}policy"
COMMITS, HOURS, VERSIONS = (f"{_KEY}{name}.retained" for name in ("commits", "hours", "fileversions"))
_RUN_LIMIT = f"{_KEY}max.commits.to.clean"
_OF_RETENTION = {
    COMMITS: CleanPolicy.KEEP_LATEST_COMMITS,
    HOURS: CleanPolicy.KEEP_LATEST_BY_HOURS,
    VERSIONS: CleanPolicy.KEEP_LATEST_FILE_VERSIONS,
}


def resolve_clean_options(request: CleanRequest) -> CleanJobOptions:
    """Check all keys of a clean request and give them types.

    Raises:
        InvalidRequestError: names the key, its value and what is allowed; or both keys of a contradiction.
    """
    obeyed, warnings = obeyed_options(_with_typed_arguments(request), Service.CLEANING)
    reader = OptionReader(obeyed)
    return CleanJobOptions(
        clean=_clean_options(reader),
        failed_writes=failed_writes_policy(reader, concurrency_mode(reader)),
        parallelism=reader.whole_number(f"{_KEY}parallelism", 200, least=1),
        lock=LockOptions.of(obeyed),
        metadata_enable=metadata_enable(reader),
        hoodie_options=obeyed,
        warnings=warnings,
    )


def _with_typed_arguments(request: CleanRequest) -> dict[str, str]:
    """The options with the request's own fields as keys; a field and a key that disagree are a contradiction."""
    options = dict(request.options)
    typed = {
        "hoodie.table.name": request.table_name,
        POLICY: request.policy,
        COMMITS: request.commits_retained,
        HOURS: request.hours_retained,
        VERSIONS: request.file_versions_retained,
        _RUN_LIMIT: request.max_commits_per_run,
    }
    for key, value in typed.items():
        text = "" if value is None else str(value)
        if text and not says_the_same(options.setdefault(key, text), text):
            raise InvalidRequestError(
                f"The request says {text} where {key}={options[key]} says otherwise.",
                hint="Give one of them.",
            )
    return options


def _clean_options(reader: OptionReader) -> CleanOptions:
    return CleanOptions(
        policy=_policy(reader),
        commits_retained=reader.whole_number(COMMITS, 10, least=1),
        hours_retained=reader.whole_number(HOURS, 24, least=1),
        file_versions_retained=reader.whole_number(VERSIONS, 3, least=1),
        is_incremental=reader.flag(f"{_KEY}incremental.enabled", True),
        trigger_commits=reader.whole_number(f"{_KEY}trigger.max.commits", 1, least=1),
        max_commits_per_run=reader.whole_number(_RUN_LIMIT, 1, least=1) if _RUN_LIMIT in reader else None,
        partition_regex=_pattern(reader, f"{_KEY}partition.filter.regex"),
        partitions_selected=reader.names(f"{_KEY}partition.filter.selected"),
        floor_hours=reader.number("hoodie.airflow.clean.floor.hours", 1.0, above=-1e-300),
    )


def _pattern(reader: OptionReader, key: str) -> str | None:
    text = reader.text(key)
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidRequestError(f"{key}={text} is no regular expression: {error}.") from error
    return text or None


def _policy(reader: OptionReader) -> CleanPolicy:
    """The one given, else the one that the only retention given belongs to, as Hudi infers it."""
    given = [policy for key, policy in _OF_RETENTION.items() if key in reader]
    inferred = given[0] if len(given) == 1 else CleanPolicy.KEEP_LATEST_COMMITS
    return reader.enum(POLICY, CleanPolicy, inferred)
