"""Check a write in about a second, without Spark: the table, the source, and whether the columns of both agree.

The write job makes the same checks again with the columns that Spark reads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError, StorageError
from hudi_table_services.execution.sources.parquet_footer import ParquetFooter
from hudi_table_services.execution.sources.source_columns import (
    SourceColumns,
    chooses_files,
    columns_or_reason,
)
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.jobs.writing.new_table import new_table_config, refuse_incomplete_request
from hudi_table_services.jobs.writing.table_access import check_table
from hudi_table_services.jobs.writing.write_opening import check_column_names, open_write
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.schema import STRING, Field, StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.key_generator import partition_columns_of_times
from hudi_table_services.planning.table.null_keys import refuse_null_keys
from hudi_table_services.planning.table.source_casts import cast_query
from hudi_table_services.planning.table.source_columns import (
    advice_on_first_line,
    misread_columns,
    refuse_invalid_flags,
    refuse_misspelled,
    with_advice_on_types,
)
from hudi_table_services.planning.table.source_formats import other_format
from hudi_table_services.planning.table.time_partition_advice import warn_of_times
from hudi_table_services.planning.table.time_partition_type import gives_timestamp_type
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.source_files import SourceFile, first_source_files
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import find_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.request_lookup import find_completed_anywhere
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

_FILE_FORMATS = frozenset({"parquet", "csv", "json", "orc", "avro", "text", "xml"})
_EXAMINED_FILES = 20
_OBJECT_STORES = frozenset({"s3", "s3a", "gs", "abfs", "abfss", "az"})


@dataclass(frozen=True, slots=True)
class CheckedWrite:
    """Findings about a write that passed the checks.

    Attributes:
        notes: a sentence for each check that was not possible in this process.
        warnings: sentences about a write that can succeed, but which the user rarely intends.
    """

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def check_write(request: UpsertRequest, *, source_is_local: bool = True) -> CheckedWrite:
    """Refuse a write that the job would refuse because of its table, its source or their columns.

    Args:
        source_is_local: whether a source path without scheme is on the file system of this process.

    Raises:
        InvalidRequestError, UnsupportedTableError: the write cannot succeed unless request, source or table change.
        InvalidDataError: rows of the source have no record key.
        CorruptTableError, StorageError: the table cannot be read.
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
    if request.source is None or not request.check_source:
        return CheckedWrite()
    if config is None:
        refuse_incomplete_request(storage, request, options)
    refuse_misspelled(request.source)
    refuse_invalid_flags(request.source)
    columns, notes = _source_columns(request, request.source, source_is_local)
    if columns is None:
        return CheckedWrite(notes)
    if config is None:
        _refuse_time_texts(options, columns, request.source)
    try:
        found = _settings_with_advice(storage, options, config, columns, request.source)
    except (
        ModuleNotFoundError
    ) as missing:  # the key generator depends on a key in a base file, and pyarrow is missing
        reason = _without_pyarrow(missing)
        note = f"The columns are not compared with the table before Spark starts, because {reason}."
        return CheckedWrite((*notes, note))
    key_generator = found.key_generator if isinstance(found, WriteSettings) else found
    if columns.footer is not None:
        _refuse_null_keys(columns.footer, key_generator.record_key_fields)
    warnings = (columns.warning,) if columns.warning else ()
    if config is not None:
        return CheckedWrite(notes, warnings)
    if isinstance(found, WriteSettings):
        new_table_config(storage, request, options, found)
    return CheckedWrite(notes, (*warnings, *warn_of_times(key_generator, columns.times, request.source)))


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
        )
    has_needed = would_suffice(columns.names)
    return "" if has_needed else advice_on_first_line(columns.first_row, source)


def _refuse_null_keys(footer: ParquetFooter, key_fields: tuple[str, ...]) -> None:
    refuse_null_keys(key_fields, footer.null_counts(key_fields), footer.row_count, footer.uri)


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
    if isinstance(found, str):
        return None, (f"The columns are not checked before Spark starts, because {found}.",)
    if found.reason:
        which = "the columns" if found.types is None else "some columns"
        return found, (f"The types of {which} are not checked before Spark starts, because {found.reason}.",)
    return found, ()


def _without_pyarrow(missing: ModuleNotFoundError) -> str:
    """Why a check is not possible in a process without pyarrow. Raises the error again if it names another package."""
    if (missing.name or "").split(".")[0] != "pyarrow":
        raise missing
    return "this process has no package pyarrow, which reads Parquet files"


def _refuse_mixed_formats(source: SourceSpec, files: Sequence[SourceFile]) -> None:
    """Refuse a source with files of another format among its first files."""
    stated = [(each.uri, other_format(each.stored.name, source.format)) for each in files]
    (first, found), *others = stated
    wrong = next(((uri, other) for uri, other in others if other), None)
    if found or wrong is None:
        return  # if the first file has the wrong format, reading its columns raises a more precise error
    raise InvalidRequestError(
        f"The source has files of several formats, such as {first} and {wrong[0]}, but the request reads all of them "
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
