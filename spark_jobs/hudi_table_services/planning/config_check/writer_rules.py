"""Rules about several writers: locks, dead writers, and tasks that Airflow runs at the same time."""

from collections.abc import Iterator

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.options.keys.locks import LOCK_EXPIRE, LOCK_PROVIDER
from hudi_table_services.options.keys.writing import (
    CONCURRENCY_MODE,
    FAILED_WRITES_POLICY,
    INSERT_DUP_POLICY,
    OPERATION,
)
from hudi_table_services.options.locks import (
    FILE_SYSTEM_PROVIDER,
    IN_PROCESS_PROVIDER,
    STORAGE_BASED_PROVIDER,
)
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule

_MODE, _PROVIDER = CONCURRENCY_MODE.key, LOCK_PROVIDER.key
_FAILED_WRITES = FAILED_WRITES_POLICY.key
_LOCK_EXPIRE = LOCK_EXPIRE.key
_OPERATION = OPERATION.key
_DUP_POLICY = INSERT_DUP_POLICY.key
_OCC = "OPTIMISTIC_CONCURRENCY_CONTROL"
_FILE_SYSTEM, _STORAGE_BASED, _IN_PROCESS = (
    name.rpartition(".")[2] for name in (FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER, IN_PROCESS_PROVIDER)
)
_FILE_SYSTEM_SCHEMES = ("file", "hdfs", "viewfs", "memory", "webhdfs")
_CONDITIONAL_SCHEMES = ("s3", "s3a", "gs", "abfs", "abfss", "az", "wasb", "wasbs")
_AZURE = ("abfs", "abfss", "az", "wasb", "wasbs")


def _is_occ(settings: Settings) -> bool:
    return settings.text(_MODE).upper() == _OCC


def _is_shared(settings: Settings) -> bool:
    """Whether the options choose a mode for several writers: optimistic or non-blocking (Hudi 1)."""
    return settings.text(_MODE).upper() != "SINGLE_WRITER"


def _several(settings: Settings) -> tuple[str, ...]:
    """Return the names of the facts that show that several processes may write at the same time."""
    facts = settings.facts
    is_concurrent = {"writers": (facts.writers or 0) > 1, "services_apart": bool(facts.services_apart)}
    return tuple(name for name, is_so in is_concurrent.items() if is_so)


def _lock_for(settings: Settings) -> str:
    return (
        STORAGE_BASED_PROVIDER
        if settings.facts.storage_scheme in _CONDITIONAL_SCHEMES
        else FILE_SYSTEM_PROVIDER
    )


@config_rule(
    "writers-without-lock",
    Severity.ERROR,
    "several processes may write, but each Hudi writer assumes that it is the only one: the writers roll back each "
    "other's pending writes, and commits are lost",
    source="Hudi: Concurrency Control; apache/hudi#8670",
    engines="hudi",
)
def _writers_without_lock(settings: Settings) -> Iterator[Problem]:
    writers = settings.facts.writers or 0
    if writers > 1 and not _is_shared(settings):
        yield Problem(
            keys=(_MODE,),
            facts=("writers",),
            reason=f"There are {writers} writers, but the concurrency mode is {settings.text(_MODE)}.",
            cure=f"Set {_MODE}={_OCC}, {_FAILED_WRITES}=LAZY and {_PROVIDER}={_lock_for(settings)} for all writers.",
        )


@config_rule(
    "services-without-lock",
    Severity.ERROR,
    "table services and Hudi's writer run in different processes, and no lock provider is set",
    source="apache/hudi#11564",
    engines="hudi",
)
def _services_without_lock(settings: Settings) -> Iterator[Problem]:
    if settings.facts.services_apart and not settings.has(_PROVIDER):
        yield Problem(
            keys=(_PROVIDER,),
            facts=("services_apart",),
            reason="Without a lock, the writer and the service can choose instants and commit at the same moment.",
            cure=f"Set {_MODE}={_OCC} and {_PROVIDER}={_lock_for(settings)} for the writer and the service.",
        )


@config_rule(
    "occ-without-provider",
    Severity.ERROR,
    "optimistic concurrency control is on, but no lock provider is set: Hudi then uses ZooKeeper, or a lock that it "
    "chooses itself",
    source="HoodieLockConfig; apache/hudi#12193",
)
def _occ_without_provider(settings: Settings) -> Iterator[Problem]:
    if _is_occ(settings) and not settings.has(_PROVIDER):
        yield Problem(
            keys=(_MODE, _PROVIDER),
            reason="All writers of a table must share one lock, and no lock provider is set.",
            cure=f"Set {_PROVIDER}={_lock_for(settings)} for all writers.",
        )


@config_rule(
    "lock-within-process",
    Severity.ERROR,
    "the lock works only within one process, but several processes may write",
    source="InProcessLockProvider",
)
def _lock_within_process(settings: Settings) -> Iterator[Problem]:
    several = _several(settings)
    if settings.class_name(_PROVIDER) == _IN_PROCESS and (several or _is_occ(settings)):
        yield Problem(
            keys=(_PROVIDER, *((_MODE,) if settings.has(_MODE) else ())),
            facts=several,
            reason="Each process has a lock of its own, so no process waits for another process.",
            cure=f"Set {_PROVIDER}={_lock_for(settings)} for all writers.",
        )


@config_rule(
    "file-lock-on-object-store",
    Severity.ERROR,
    "the options select the file-system lock for an object store, where two writers can create the same lock file; "
    "Hudi rejects this combination",
    source="FileSystemBasedLockProvider; apache/hudi#12193",
)
def _file_lock_on_object_store(settings: Settings) -> Iterator[Problem]:
    scheme = settings.facts.storage_scheme
    if settings.class_name(_PROVIDER) == _FILE_SYSTEM and scheme in _CONDITIONAL_SCHEMES:
        yield Problem(
            keys=(_PROVIDER,),
            facts=("storage_scheme",),
            reason="Two writers can both create the lock file.",
            cure=f"Set {_PROVIDER}={STORAGE_BASED_PROVIDER} for all writers.",
        )


@config_rule(
    "storage-lock-on-files",
    Severity.ERROR,
    "the options select the storage-based lock for storage without conditional puts",
    source="StorageBasedLockProvider; docs/concurrency.md",
)
def _storage_lock_on_files(settings: Settings) -> Iterator[Problem]:
    scheme = settings.facts.storage_scheme
    if settings.class_name(_PROVIDER) == _STORAGE_BASED and scheme in _FILE_SYSTEM_SCHEMES:
        yield Problem(
            keys=(_PROVIDER,),
            facts=("storage_scheme",),
            reason=f"A file system ({scheme}) has no conditional put, so it cannot check that the lock file is "
            "unchanged and replace it in one step.",
            cure=f"Set {_PROVIDER}={FILE_SYSTEM_PROVIDER} for all writers.",
        )


@config_rule(
    "storage-lock-too-new",
    Severity.ERROR,
    "this release of Hudi does not have the storage-based lock",
    source="docs/concurrency.md; Hudi 1.0.2 (S3, GCS) and 1.2 (Azure)",
    engines="hudi",
)
def _storage_lock_too_new(settings: Settings) -> Iterator[Problem]:
    release = settings.facts.hudi_release
    needed = (1, 2) if settings.facts.storage_scheme in _AZURE else (1, 0, 2)
    if settings.class_name(_PROVIDER) == _STORAGE_BASED and release and release < needed:
        yield Problem(
            keys=(_PROVIDER,),
            facts=("hudi_version",),
            reason=f"On this storage, the storage-based lock needs Hudi {'.'.join(map(str, needed))} or later.",
            cure="Upgrade Hudi, or let Hudi write only while no other writer runs.",
        )


@config_rule(
    "eager-beside-writers",
    Severity.ERROR,
    "several writers run, and the policy for failed writes is `EAGER`: a writer with this policy rolls back the "
    "pending writes of other writers",
    source="HoodieCleanConfig; docs/concurrency.md",
)
def _eager_beside_writers(settings: Settings) -> Iterator[Problem]:
    several = _several(settings)
    is_eager = settings.text(_FAILED_WRITES).upper() == "EAGER"
    # With several writers, Hudi and the jobs of this project change the default to LAZY.
    chosen = settings.has(_FAILED_WRITES)
    if not is_eager or (_is_shared(settings) and not chosen):
        return
    if _is_shared(settings) or (several and settings.facts.is_hudi):
        yield Problem(
            keys=(_FAILED_WRITES, _MODE),
            facts=several,
            reason="A writer with the policy EAGER treats every pending write as dead.",
            cure=f"Set {_FAILED_WRITES}=LAZY for all writers.",
        )


@config_rule(
    "file-lock-never-expires",
    Severity.WARNING,
    "Hudi's file-system lock never expires: if a writer dies, its lock file blocks all other writers until a "
    "person deletes the file",
    source="FileSystemBasedLockProvider",
    engines="hudi",
)
def _file_lock_never_expires(settings: Settings) -> Iterator[Problem]:
    if settings.class_name(_PROVIDER) == _FILE_SYSTEM and settings.number(_LOCK_EXPIRE) == 0:
        yield Problem(
            keys=(_PROVIDER, _LOCK_EXPIRE),
            reason="With an expiry of 0 minutes, the lock file of a killed writer never expires.",
            cure=f"Set {_LOCK_EXPIRE} to a few minutes more than the longest commit takes.",
        )


@config_rule(
    "runs-overlap",
    Severity.WARNING,
    "Airflow may run two tasks that write the table at the same time",
    source="apache/hudi#8670; Airflow: max_active_runs, max_active_tis_per_dag, pools",
)
def _runs_overlap(settings: Settings) -> Iterator[Problem]:
    facts = settings.facts
    if facts.runs_one_after_another or facts.takes_turns or (facts.max_active_runs or 0) < 2:
        return
    is_alone = facts.is_hudi and not _is_shared(settings)
    yield Problem(
        keys=(_MODE,) if is_alone else (),
        facts=("max_active_runs",),
        reason="Two runs that write the same table conflict"
        + (
            ", and Hudi assumes that it is the only writer."
            if is_alone
            else ": one of them writes its rows again."
        ),
        cure="Set take_turns=True for every task that writes the table (jobs of this project), or set "
        "max_active_tis_per_dag=1, or assign the tasks to a pool with one slot"
        + (f"; or set {_MODE}={_OCC} with a lock." if is_alone else "."),
        severity=Severity.WARNING if is_alone else Severity.ADVICE,
    )


@config_rule(
    "catchup-overlaps",
    Severity.WARNING,
    "a DAG that catches up writes several intervals at once, in no fixed order: if two rows have the same key, the "
    "older row may win",
    source="apache/hudi#8670, apache/airflow#58752",
)
def _catchup_overlaps(settings: Settings) -> Iterator[Problem]:
    facts = settings.facts
    several = facts.max_active_runs is None or facts.max_active_runs > 1
    if facts.catchup and several and not facts.runs_one_after_another:
        yield Problem(
            facts=("catchup", *(("max_active_runs",) if facts.max_active_runs else ())),
            reason="Several runs load missed intervals at the same time.",
            cure="Set max_active_runs=1 or depends_on_past=True, or set an ordering field.",
        )


@config_rule(
    "retry-repeats-insert",
    Severity.WARNING,
    "if a task fails after Hudi's commit, its retry inserts the same rows again",
    source="apache/hudi#9101",
    engines="hudi",
)
def _retry_repeats_insert(settings: Settings) -> Iterator[Problem]:
    drops = settings.text(_DUP_POLICY).lower() in ("drop", "fail")
    if settings.facts.retries and settings.operation in ("insert", "bulk_insert") and not drops:
        yield Problem(
            keys=(_OPERATION,),
            facts=("retries",),
            reason="Hudi does not know that the rows of the first try are in the table.",
            cure="Use upsert or insert_overwrite, or use UpsertWithSizingOperator, which writes each request once.",
        )


WRITER_RULES = (
    _writers_without_lock,
    _services_without_lock,
    _occ_without_provider,
    _lock_within_process,
    _file_lock_on_object_store,
    _storage_lock_on_files,
    _storage_lock_too_new,
    _eager_beside_writers,
    _file_lock_never_expires,
    _runs_overlap,
    _catchup_overlaps,
    _retry_repeats_insert,
)
