"""From Hudi's keys to the typed options of the archive job."""

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.model.clean import CleanPolicy
from hudi_table_services.options.archive_job_options import ArchiveJobOptions
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.option import Service
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import obeyed_options, says_the_same

MIN, MAX = "hoodie.keep.min.commits", "hoodie.keep.max.commits"
_RETAINED, _POLICY = "hoodie.clean.commits.retained", "hoodie.clean.policy"


def resolve_archive_options(request: ArchiveRequest) -> ArchiveJobOptions:
    """Check all keys of an archive request and give them types.

    Raises:
        InvalidRequestError: names the key, its value and what is allowed; or both keys of a contradiction.
    """
    obeyed, warnings = obeyed_options(_with_typed_arguments(request), Service.ARCHIVAL)
    reader = OptionReader(obeyed)
    return ArchiveJobOptions(archival=_archival(reader), lock=LockOptions.of(obeyed), warnings=warnings)


def _with_typed_arguments(request: ArchiveRequest) -> dict[str, str]:
    """The options with the request's own fields as keys; a field and a key that disagree are a contradiction."""
    options = dict(request.options)
    typed = {"hoodie.table.name": request.table_name, MIN: request.min_commits, MAX: request.max_commits}
    for key, value in typed.items():
        text = "" if value is None else str(value)
        if text and not says_the_same(options.setdefault(key, text), text):
            raise InvalidRequestError(
                f"The request says {text} where {key}={options[key]} says otherwise.",
                hint="Give one of them.",
            )
    return options


def _archival(reader: OptionReader) -> ArchivalOptions:
    options = ArchivalOptions(
        min_commits=reader.whole_number(MIN, 20, least=1),
        max_commits=reader.whole_number(MAX, 30, least=1),
        beyond_savepoint=reader.flag("hoodie.archive.beyond.savepoint", False),
        batch_size=reader.whole_number("hoodie.commits.archival.batch", 10, least=1),
        merged_files=reader.whole_number("hoodie.timeline.compaction.batch.size", 10, least=2),
        manifests_retained=reader.whole_number("hoodie.timeline.manifest.retained.versions", 3, least=1),
    )
    if options.min_commits >= options.max_commits:
        raise InvalidRequestError(
            f"{MIN}={options.min_commits} is not below {MAX}={options.max_commits}.",
            hint="Give a larger maximum, or a smaller minimum.",
        )
    policy = reader.enum(_POLICY, CleanPolicy, CleanPolicy.KEEP_LATEST_COMMITS)
    retained = reader.whole_number(_RETAINED, 10, least=1)
    if policy is CleanPolicy.KEEP_LATEST_COMMITS and options.min_commits <= retained:
        raise InvalidRequestError(
            f"{MIN}={options.min_commits} is not above {_RETAINED}={retained}: what cleaning still keeps readable "
            "would leave the active timeline.",
            hint=f"Keep more commits; or give {_RETAINED} (or {_POLICY}) as the clean job has it.",
        )
    return options
