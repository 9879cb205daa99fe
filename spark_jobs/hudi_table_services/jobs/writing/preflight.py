"""Check a write in about a second, without Spark: the table, the source, and whether the columns of both agree.

The write job makes the same checks again with the columns that Spark reads.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from hudi_table_services.contract.completed_request import result_of_completed
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import NO_SOURCE_ROWS, SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError, StorageError
from hudi_table_services.execution.sources.parquet_footer import ParquetFooter, read_parquet_footer
from hudi_table_services.execution.sources.source_columns import (
    SourceColumns,
    TextRows,
    chooses_files,
    columns_or_reason,
)
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.jobs.writing.new_table import new_table_config, refuse_incomplete_request
from hudi_table_services.jobs.writing.table_access import check_table, delete_leftovers
from hudi_table_services.jobs.writing.write_opening import check_column_names, open_write
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.key_generator import KeyGeneratorConfig, check_key_types
from hudi_table_services.model.schema import STRING, Field, StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.key_generator import partition_columns_of_times
from hudi_table_services.planning.table.null_keys import refuse_null_keys
from hudi_table_services.planning.table.ordering_texts import warn_of_ordering_texts
from hudi_table_services.planning.table.source_casts import cast_query
from hudi_table_services.planning.table.source_columns import (
    advice_on_first_line,
    advice_on_types,
    advice_on_unit_of_time,
    misread_columns,
    refuse_invalid_flags,
    refuse_misspelled,
    refuse_query_without_view,
    with_advice_on_types,
)
from hudi_table_services.planning.table.time_partition_advice import warn_of_times
from hudi_table_services.planning.table.time_partition_type import gives_timestamp_type
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.request_identity import find_completed
from hudi_table_services.storage.source_files import SourceFile, first_source_files
from hudi_table_services.storage.source_formats import other_format
from hudi_table_services.storage.stores.factory import open_storage, refuse_single_slash
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import find_table_config, refuse_unwritable
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.request_lookup import find_completed_anywhere
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_FILE_FORMATS = frozenset({"parquet", "csv", "json", "orc", "avro", "text", "xml"})
_EXAMINED_FILES = 20
_OBJECT_STORES = frozenset({"s3", "s3a", "gs", "abfs", "abfss", "az"})


@dataclass(frozen=True, slots=True)
class CheckedWrite:
    """Findings about a write that passed the checks.

    Attributes:
        notes: a sentence for each check that was not possible in this process.
        warnings: sentences about a write that can succeed, but which the user rarely intends.
        result: the result of a write that has nothing left to do; None if the job must run.
    """

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    result: JobResult | None = None


def check_write(request: UpsertRequest, *, source_is_local: bool = True) -> CheckedWrite:
    """Refuse a write that the job would refuse because of its table, its source or their columns.

    If the job would have nothing left to do, the returned value contains the result of the write. For a request that
    is already completed, this function deletes temporary files of dead attempts, as the job does.

    Args:
        source_is_local: whether paths without scheme are on the file system of this process.

    Raises:
        InvalidRequestError, UnsupportedTableError: the write cannot succeed unless request, source or table change.
        InvalidDataError: rows of the source have no record key.
        CorruptTableError, StorageError: the table cannot be read, or its folder cannot be created.
    """
    options = resolve_options(request)
    storage = open_storage(request.base_path, request.storage_options)
    config = find_table_config(storage)
    try:
        return _check(storage, request, options, config, source_is_local)
    except HudiTableServiceError:
        if config is not None and _is_completed(storage, config, request):
            # The job reports the commit, and needs neither the source nor a table that can be written.
            return CheckedWrite()
        raise


def _check(
    storage: Storage,
    request: UpsertRequest,
    options: WriteOptions,
    config: TableConfig | None,
    source_is_local: bool,
) -> CheckedWrite:
    if config is not None:
        check_table(request, options, config)
        if (done := _completed(storage, config, request, options)) is not None:
            return CheckedWrite(warnings=done.warnings, result=done)
    if request.source is None or not request.check_source:
        return CheckedWrite()
    if config is None:
        refuse_incomplete_request(storage, request, options)
        if source_is_local and not request.dry_run:
            refuse_unwritable(storage)
    refuse_single_slash(request.source.path)
    refuse_misspelled(request.source)
    refuse_invalid_flags(request.source)
    refuse_query_without_view(request.source)
    columns, notes = _source_columns(request, request.source, source_is_local)
    if columns is None:
        return CheckedWrite(notes)
    try:
        found = _check_columns(storage, request, options, config, columns)
    except (
        ModuleNotFoundError
    ) as missing:  # the key generator depends on a key in a base file, and pyarrow is missing
        reason = _without_pyarrow(missing)
        note = f"The columns are not compared with the table before Spark starts, because {reason}."
        return CheckedWrite((*notes, note))
    return replace(found, notes=notes)


def _check_columns(
    storage: Storage,
    request: UpsertRequest,
    options: WriteOptions,
    config: TableConfig | None,
    columns: SourceColumns,
) -> CheckedWrite:
    """Check the columns of the source; also check its rows, as far as the footers of its files describe them."""
    source = request.source
    assert source is not None  # noqa: S101 - the columns are those of the source
    if config is None:
        _refuse_time_texts(options, columns, source)
    found = _settings_with_advice(storage, options, config, columns, source)
    key_generator = found.key_generator if isinstance(found, WriteSettings) else found
    warnings = (columns.warning,) if columns.warning else ()
    if config is None:
        warnings = (*warnings, *warn_of_times(key_generator, columns.times, source))
    if isinstance(found, WriteSettings):
        if config is None:
            new_table_config(storage, request, options, found)
            ordering = warn_of_ordering_texts(
                found.combine_fields, columns.texts, columns.names, base_path=request.base_path
            )
            warnings = (*warnings, *ordering)
        check_key_types(key_generator, found.staged_schema, columns.untyped)
    if (rows := columns.footer or columns.text_rows) is not None:
        _refuse_null_keys(rows, key_generator.record_key_fields)
    if not isinstance(found, WriteSettings):
        return CheckedWrite(warnings=warnings)
    if columns.has_no_rows and _writes_nothing_without_rows(storage, config, request, options):
        warnings = tuple(dict.fromkeys((*options.warnings, *found.warnings, *warnings)))
        return CheckedWrite(warnings=warnings, result=_nothing_to_do(request, options, warnings))
    return CheckedWrite(warnings=warnings)


def _completed(
    storage: Storage, config: TableConfig, request: UpsertRequest, options: WriteOptions
) -> JobResult | None:
    """Return the result of the write on the active timeline that completed the request; None if there is none.

    The function does not search the archive: the job searches it, and an archive can be large.
    """
    if request.dry_run or not request.can_be_repeated:
        return None
    table = TableAccess(storage=storage, clock=SystemClock(), config=config)
    found = find_completed(table.timeline_store, table.load_timeline(), request.request_id)
    if found is None:
        return None
    _LOG.info("Request %s was already completed by %s.", request.request_id, found[0].requested_time)
    delete_leftovers(table, request, options)
    return replace(result_of_completed(request, *found), warnings=tuple(options.warnings))


def _writes_nothing_without_rows(
    storage: Storage, config: TableConfig | None, request: UpsertRequest, options: WriteOptions
) -> bool:
    """Whether the job of a source without rows would change nothing, and roll back no pending write."""
    if request.dry_run or options.operation is WriteOperation.INSERT_OVERWRITE_TABLE:
        return False
    if config is None:
        return True
    pending = TimelineStore(storage, config, SystemClock()).load().pending
    return not pending and not options.commits_without_rows(True, ())


def _nothing_to_do(request: UpsertRequest, options: WriteOptions, warnings: tuple[str, ...]) -> JobResult:
    return replace(
        JobResult.of(request, Outcome.NOTHING_TO_DO),
        operation=options.operation.value.lower(),
        reason=NO_SOURCE_ROWS,
        warnings=warnings,
    )


def _settings_with_advice(
    storage: Storage,
    options: WriteOptions,
    config: TableConfig | None,
    columns: SourceColumns,
    source: SourceSpec,
) -> WriteSettings | KeyGeneratorConfig:
    """Return the result of `_settings`. If columns are missing because of the file, add advice to the error."""
    try:
        return _settings(storage, options, config, columns, source)
    except InvalidRequestError as refusal:

        def would_suffice(names: Sequence[str]) -> bool:
            try:
                check_column_names(storage, options, config, names, source)
            except InvalidRequestError:
                return False
            return True

        if hint := _advice_on_file(columns, source, would_suffice):
            raise InvalidRequestError(refusal.message, hint=hint) from refusal
        times = (*columns.times, *columns.dates)
        is_new = config is None and not columns.first_row and columns.footer is None
        if is_new and (hint := advice_on_unit_of_time(refusal.evidence, columns.names, times, source)):
            raise InvalidRequestError(refusal.message, hint=hint) from refusal
        raise


def _advice_on_file(
    columns: SourceColumns, source: SourceSpec, would_suffice: Callable[[Sequence[str]], bool]
) -> str:
    """Return advice about columns that the write lacks because of the header or index of the file; else empty.

    Args:
        would_suffice: whether columns with certain names would be all columns that the write needs.
    """
    index = columns.footer.range_index if columns.footer is not None else ""
    if index and index not in columns.names and would_suffice((*columns.names, index)):
        return (
            f"{index!r} is the index of a pandas DataFrame, which the file does not contain as a column. Write the "
            "file with reset_index(), as in frame.reset_index().to_parquet(path)."
        )
    if columns.first_row and would_suffice(columns.first_row):
        return (
            "The first line of the file contains the names of the columns: set the source option header=true."
            f"{advice_on_types(source)}"
        )
    has_needed = would_suffice(columns.names)
    return "" if has_needed else advice_on_first_line(columns.first_row, source)


def _refuse_null_keys(rows: ParquetFooter | TextRows, key_fields: tuple[str, ...]) -> None:
    refuse_null_keys(key_fields, rows.null_counts(key_fields), rows.row_count, rows.uri)


def _refuse_time_texts(options: WriteOptions, columns: SourceColumns, source: SourceSpec) -> None:
    """Refuse to partition rows of JSON files by a unit of time: JSON files contain times as strings or numbers."""
    if source.format.lower() != "json" or gives_timestamp_type(options.hoodie_options):
        return
    for name in partition_columns_of_times(None, options.hoodie_options):
        if name in columns.names:
            query = cast_query(columns.names, {name: "TIMESTAMP"})
            raise InvalidRequestError(
                f"The table is to be partitioned by a unit of time of the column {name!r}, which JSON files contain as "
                "strings or numbers.",
                hint=f"If the column contains no times, leave out the unit, such as :day, after {name!r}. If it does, "
                f"give this source query (--source-sql): {query}",
            )


def _is_completed(storage: Storage, config: TableConfig, request: UpsertRequest) -> bool:
    if request.dry_run or not request.can_be_repeated:
        return False
    store = TimelineStore(storage, config, SystemClock())
    return find_completed_anywhere(storage, config, store, store.load(), request.request_id) is not None


def _source_columns(
    request: UpsertRequest, source: SourceSpec, source_is_local: bool
) -> tuple[SourceColumns | None, tuple[str, ...]]:
    """Return the columns of the source, and a sentence about each check that is not possible.

    The columns are None if they are not known without Spark.
    """
    if (reason := _why_unreachable(request, source, source_is_local)) is not None:
        return None, (f"The source is not checked before Spark starts, because {reason}.",)
    try:
        files = first_source_files(source.path, request.storage_options, _EXAMINED_FILES)
        _refuse_mixed_formats(source, files)
        if source.sql is not None:
            return None, ("The columns are not checked before Spark starts, because a query defines them.",)
        found = columns_or_reason(source, files[0], is_only_file=len(files) == 1)
    except ModuleNotFoundError as missing:
        found = _without_pyarrow(missing)
    except StorageError as error:
        return None, (f"The source is not checked before Spark starts: {error.message}",)
    if isinstance(found, SourceColumns) and _are_empty(files, found.footer):
        found = replace(found, has_no_rows=True)
    if isinstance(found, str):
        return None, (f"The columns are not checked before Spark starts, because {found}.",)
    if found.reason:
        which = "the columns" if found.types is None else "some columns"
        return found, (f"The types of {which} are not checked before Spark starts, because {found.reason}.",)
    return found, ()


def _are_empty(files: Sequence[SourceFile], first: ParquetFooter | None) -> bool:
    """Whether `files` are all files of the source, and their footers show that they have no rows."""
    if first is None or first.row_count or len(files) >= _EXAMINED_FILES:
        return False
    return not any(read_parquet_footer(each).row_count for each in files[1:])


def _without_pyarrow(missing: ModuleNotFoundError) -> str:
    """Why a check is not possible in a process without pyarrow. Raises the error again if it names another package."""
    if (missing.name or "").split(".")[0] != "pyarrow":
        raise missing
    return "this process has no package pyarrow, which reads Parquet files"


def _refuse_mixed_formats(source: SourceSpec, files: Sequence[SourceFile]) -> None:
    """Refuse a source with files of another format among its first files."""
    stated = [(each.uri, other_format(each.stored.name, source.format)) for each in files]
    right = next((uri for uri, other in stated if not other), None)
    wrong = next((uri for uri, other in stated if other), None)
    if right is None or wrong is None:
        return  # if all files have the wrong format, reading the columns of the first one raises a more precise error
    raise InvalidRequestError(
        f"The source has files of several formats, such as {right} and {wrong}, but the request reads all of them "
        f"as {source.format}.",
        hint=f"Give a pattern that matches only files of one format, such as *.{source.format.lower()}, or set the "
        "source option pathGlobFilter.",
    )


def _why_unreachable(request: UpsertRequest, source: SourceSpec, source_is_local: bool) -> str | None:
    """Return why this process cannot check the files of the source; None if it can."""
    if source.format.lower() not in _FILE_FORMATS or not source.path:
        return f"its format is {source.format}"
    if chooses_files(source):
        return "its options select some of its files"
    address = urlsplit(source.path)
    if address.scheme == "file" or (not address.scheme and source_is_local):
        return None
    if address.scheme not in _OBJECT_STORES:
        return "this process may not see the file system of the source"
    # Spark may have credentials of its own for another bucket.
    if not request.storage_options and address.netloc != urlsplit(request.base_path).netloc:
        return "it is in another bucket than the table, and the request has no storage options"
    return None


def _settings(
    storage: Storage,
    options: WriteOptions,
    config: TableConfig | None,
    columns: SourceColumns,
    source: SourceSpec,
) -> WriteSettings | KeyGeneratorConfig:
    """Return the settings of the write, or only the key generator if the types of the columns are not known.

    Raises the errors of `open_write`.
    """
    if columns.types is None:
        return check_column_names(storage, options, config, columns.names, source)
    typed = {each.name: each for each in columns.types.fields}
    batch = StructType(tuple(typed.get(name, Field(name, STRING)) for name in columns.names))
    try:
        return open_write(storage, options, config, batch, source, columns.untyped)[0]
    except InvalidRequestError as refusal:
        schema_json = load_snapshot(storage, ()).schema_json if config is not None else None
        texts = {field.name for field in columns.types.fields if field.type == STRING}
        if schema_json and misread_columns(source, texts, from_avro_json(schema_json)):
            raise with_advice_on_types(refusal) from refusal
        raise
