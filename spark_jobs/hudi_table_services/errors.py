"""Every error a job can end with, in one tree.

::

    HudiTableServiceError                      exit  retry
    ├─ InvalidRequestError                       64    no    the request can never succeed as it stands
    │  └─ InvalidDataError                       65    no    the rows handed over break a rule of the table
    ├─ TableNotFoundError                        66    no
    ├─ UnsupportedTableError                     69    no    names the version or feature refused
    ├─ CorruptTableError                         65    no    bytes or names contradict the format
    │  ├─ MalformedFileNameError
    │  ├─ MalformedMetadataError                             properties, JSON, Avro, footers
    │  └─ TimelineInvariantError                             e.g. a completed instant of zero bytes
    ├─ CommitConflictError                       75    yes   another writer was first; plan again
    │  ├─ InstantExistsError
    │  ├─ TableExistsError
    │  ├─ FileGroupConflictError
    │  ├─ PendingPlanError                                   a clustering plan for the file groups does not give way
    │  ├─ LockNotAcquiredError
    │  ├─ InstantVanishedError                               our pending instant was rolled back by another writer
    │  └─ InstantHeldError                                   another attempt works on the same plan
    ├─ CommitStateUnknownError                   75    yes   may have happened: delete nothing, run again
    ├─ StorageError                              74    yes
    │  ├─ ObjectNotFoundError
    │  ├─ ObjectExistsError
    │  └─ StoragePermissionError                 77    no
    ├─ ExecutionFailedError                      70    yes   Spark failed before the commit
    ├─ UnhealthyTableError                       76    no    a measure of the health report is beyond its limit
    └─ UnsafeConfigError                         78    no    settings that were checked would harm a table
"""


class HudiTableServiceError(Exception):
    """Base of all errors of this package.

    Attributes:
        exit_code: process exit code of a job that ends with this error (sysexits(3) numbers).
        retryable: whether the same request may succeed when it is simply run again.
        hint: what the reader of the message can do next; may be empty.
        path: the file that the error is about, relative to the base path; empty: the error is about no single file.
        evidence: the report that led to the error, such as all findings of a check, or the outcome of every plan
            where some failed; None: there is none. Only the error that ends a job has one: pickling drops it.
    """

    exit_code = 70
    retryable = False

    def __init__(
        self, message: str, *, hint: str = "", path: str = "", evidence: object | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path
        self.evidence = evidence

    @property
    def kind(self) -> str:
        """The class name: the stable identifier used in result documents."""
        return type(self).__name__

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross from Spark workers to the driver by pickle.
        return (_rebuild, (type(self), self.message, self.hint, self.path))


def _rebuild(
    error_class: type[HudiTableServiceError], message: str, hint: str, path: str
) -> HudiTableServiceError:
    return error_class(message, hint=hint, path=path)


class InvalidRequestError(HudiTableServiceError):
    """The request can never succeed as it stands."""

    exit_code = 64


class InvalidDataError(InvalidRequestError):
    """The rows handed over break a rule of the table (null key, duplicate key where refused, …)."""

    exit_code = 65


class TableNotFoundError(HudiTableServiceError):
    """There is no Hudi table at the base path."""

    exit_code = 66


class UnsupportedTableError(HudiTableServiceError):
    """The table has a version or a feature that this release refuses to write, named in the message."""

    exit_code = 69


class CorruptTableError(HudiTableServiceError):
    """Bytes or names on storage contradict the table format."""

    exit_code = 65


class MalformedFileNameError(CorruptTableError):
    """A name does not follow the grammar of its kind."""


class MalformedMetadataError(CorruptTableError):
    """A metadata file (properties, JSON, Avro, footer) cannot be decoded."""


class TimelineInvariantError(CorruptTableError):
    """The files of the timeline contradict each other."""


class CommitConflictError(HudiTableServiceError):
    """Another writer was first; planning again may succeed."""

    exit_code = 75
    retryable = True


class InstantExistsError(CommitConflictError):
    """An instant file that was to be created is there already."""


class TableExistsError(CommitConflictError):
    """Another writer created the table that was to be created."""


class FileGroupConflictError(CommitConflictError):
    """Another writer changed a file group that this commit changes, or added rows with keys that it adds."""


class PendingPlanError(CommitConflictError):
    """File groups of this write belong to a pending plan, and the write could not release them."""


class LockNotAcquiredError(CommitConflictError):
    """Another writer kept the table lock for the whole waiting time, or took it over."""


class InstantVanishedError(CommitConflictError):
    """The pending instant of this job is gone: another writer rolled it back or completed it."""


class InstantHeldError(CommitConflictError):
    """Another attempt carries out the same plan, and its heartbeat is alive."""


class CommitStateUnknownError(HudiTableServiceError):
    """The commit may or may not have happened. Nothing is deleted; the next run reads the timeline again."""

    exit_code = 75
    retryable = True


class StorageError(HudiTableServiceError):
    """Storage refused or failed an operation; the message names path and operation."""

    exit_code = 74
    retryable = True


class ObjectNotFoundError(StorageError):
    """The object does not exist.

    Retryable: a clean or an archival may have removed it while the job read it, and the next run plans without it.
    """

    retryable = True


class ObjectExistsError(StorageError):
    """Create-if-absent found the object present.

    Retryable: another writer created it first, and the next run starts from what that writer left.
    """

    retryable = True


class StoragePermissionError(StorageError):
    """Storage denied access."""

    exit_code = 77
    retryable = False


class ExecutionFailedError(HudiTableServiceError):
    """Spark failed before the commit; the table is as it was."""

    exit_code = 70
    retryable = True


class UnhealthyTableError(HudiTableServiceError):
    """A measure of the health report is beyond its limit, or the timeline cannot be trusted.

    `evidence` is the whole `HealthReport`.
    """

    exit_code = 76


class UnsafeConfigError(HudiTableServiceError):
    """Settings that were checked have a finding at least as severe as the request refuses.

    `evidence` is the `ConfigReport` with all findings.
    """

    exit_code = 78
