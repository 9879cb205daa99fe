"""Every error that can end a job, in one tree.

::

    HudiTableServiceError                      exit  retry
    ├─ InvalidRequestError                       64    no    the request must be changed before it can succeed
    │  └─ InvalidDataError                       65    no    the input rows break a rule of the table
    ├─ TableNotFoundError                        66    no
    ├─ UnsupportedTableError                     69    no    the message names the version or feature
    ├─ CorruptTableError                         65    no    bytes or names contradict the format
    │  ├─ MalformedFileNameError
    │  ├─ MalformedMetadataError                             properties, JSON, Avro, footers
    │  └─ TimelineInvariantError                             e.g. a completed instant of zero bytes
    ├─ CommitConflictError                       75    yes   another writer changed the table first; run the job again
    │  ├─ InstantExistsError
    │  ├─ TableExistsError
    │  ├─ FileGroupConflictError
    │  ├─ PendingPlanError                                   the write could not release file groups from a plan
    │  ├─ LockNotAcquiredError
    │  ├─ InstantVanishedError                               another writer rolled back the pending instant
    │  └─ InstantHeldError                                   another attempt or writer is still running
    ├─ CommitStateUnknownError                   75    yes   the commit may exist: delete nothing, run again
    ├─ StorageError                              74    yes
    │  ├─ ObjectNotFoundError
    │  ├─ ObjectExistsError
    │  └─ StoragePermissionError                 77    no
    ├─ CatalogError                              74    yes   a catalog did not answer, or refused a request
    │  └─ CatalogPermissionError                 77    no
    ├─ ExecutionFailedError                      70    yes   Spark failed before the commit
    ├─ UnhealthyTableError                       76    no    a measure of the health report exceeds its limit
    └─ UnsafeConfigError                         78    no    the checked settings would harm a table
"""


class HudiTableServiceError(Exception):
    """Base of all errors of this package.

    Attributes:
        exit_code: process exit code of a job that ends with this error (sysexits(3) numbers).
        retryable: whether the same request may succeed when it runs again without changes.
        hint: what the reader of the message can do next; may be empty.
        path: the file that the error is about, relative to the base path; empty if the error is not about one file.
        evidence: the report that led to the error, such as all findings of a check, or the outcome of every plan if at
            least one plan failed. None if there is no report. Errors from Spark workers have no report, because
            pickling drops the report.
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
        """Return the class name. Result documents contain this stable identifier."""
        return type(self).__name__

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        # Pickle transfers errors from Spark workers to the driver.
        return (_rebuild, (type(self), self.message, self.hint, self.path))


def _rebuild(
    error_class: type[HudiTableServiceError], message: str, hint: str, path: str
) -> HudiTableServiceError:
    return error_class(message, hint=hint, path=path)


class InvalidRequestError(HudiTableServiceError):
    """The request cannot succeed unless it is changed."""

    exit_code = 64


class InvalidDataError(InvalidRequestError):
    """The input rows break a rule, e.g. a key is null, or a key occurs twice and the job refuses repeated keys."""

    exit_code = 65


class TableNotFoundError(HudiTableServiceError):
    """There is no Hudi table at the base path."""

    exit_code = 66


class UnsupportedTableError(HudiTableServiceError):
    """The table has a version or a feature that this release refuses to write. The message names the cause."""

    exit_code = 69


class CorruptTableError(HudiTableServiceError):
    """Bytes or names on storage contradict the table format."""

    exit_code = 65


class MalformedFileNameError(CorruptTableError):
    """The name of a file does not have the format that names of this kind of file must have."""


class MalformedMetadataError(CorruptTableError):
    """A metadata file (properties, JSON, Avro, footer) cannot be decoded."""


class TimelineInvariantError(CorruptTableError):
    """The files of the timeline contradict each other."""


class CommitConflictError(HudiTableServiceError):
    """Another writer changed the table first. A new attempt plans again and may succeed."""

    exit_code = 75
    retryable = True


class InstantExistsError(CommitConflictError):
    """An instant file that this job wants to create already exists."""


class SharedInstantTimeError(CommitConflictError):
    """Another writer's instant has the same time as the instant of this job, so their files look alike."""


class TableExistsError(CommitConflictError):
    """Another writer created the table that this job wants to create."""


class FileGroupConflictError(CommitConflictError):
    """Another writer changed a file group that this commit changes, or added rows with keys that this commit adds."""


class PendingPlanError(CommitConflictError):
    """File groups of this write belong to a pending plan, and the write could not release them."""


class LockNotAcquiredError(CommitConflictError):
    """Another writer had the table lock during the whole waiting time, or took over this job's lock."""


class InstantVanishedError(CommitConflictError):
    """The pending instant of this job no longer exists: another writer rolled it back or completed it."""


class InstantHeldError(CommitConflictError):
    """Another attempt is executing the same plan, or the writer of an instant that this job would undo is alive."""


class CommitStateUnknownError(HudiTableServiceError):
    """The commit may or may not have happened. The job deletes nothing; the next run reads the timeline again."""

    exit_code = 75
    retryable = True


class StorageError(HudiTableServiceError):
    """The storage refused an operation, or the operation failed. The message names the path and the operation."""

    exit_code = 74
    retryable = True


class ObjectNotFoundError(StorageError):
    """The object does not exist.

    The error is retryable: a clean or an archival may have deleted the object while the job read it. The next run plans
    without the object.
    """


class ObjectExistsError(StorageError):
    """A create-if-absent operation found that the object already exists.

    The error is retryable: another writer created the object first, and the next run takes the object into account.
    """


class StoragePermissionError(StorageError):
    """The storage denied access."""

    exit_code = 77
    retryable = False


class CatalogError(HudiTableServiceError):
    """A Hive Metastore or AWS Glue did not answer, or refused a request. The table itself is unchanged.

    The error is retryable: the next sync makes the changes that are still missing.
    """

    exit_code = 74
    retryable = True


class CatalogPermissionError(CatalogError):
    """The catalog denied access."""

    exit_code = 77
    retryable = False


class ExecutionFailedError(HudiTableServiceError):
    """Spark failed before the commit, so the table is unchanged."""

    exit_code = 70
    retryable = True


class UnhealthyTableError(HudiTableServiceError):
    """A measure of the health report exceeds its limit, or the timeline cannot be trusted.

    `evidence` is the whole `HealthReport`.
    """

    exit_code = 76


class UnsafeConfigError(HudiTableServiceError):
    """A finding about the checked settings has at least the severity `fail_on` of the request.

    `evidence` is the `ConfigReport` with all findings.
    """

    exit_code = 78
