"""From Hudi's keys to typed options: unknown keys are refused with a suggestion, contradictions by both names."""

from collections.abc import Mapping

from hudi_table_services.contract.job_request import OPERATIONS, UpsertRequest
from hudi_table_services.contract.known_option import Effect, KnownOption
from hudi_table_services.contract.known_options import ALIASES, KNOWN_OPTIONS, find_option, similar_option
from hudi_table_services.contract.option_checks import inapplicable_options, refuse_contradictions
from hudi_table_services.contract.option_reader import OptionReader
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.file_sizing import BLOOM_FOOTER_BYTES_PER_RECORD, FileSizingOptions
from hudi_table_services.model.lock_options import LockOptions
from hudi_table_services.model.table_config import (
    EVENT_TIME_PAYLOADS,
    OVERWRITE_PAYLOAD,
    RecordMergeMode,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_options import (
    ConcurrencyMode,
    FailedWritesPolicy,
    IndexType,
    InsertDupPolicy,
    WriteOptions,
)
from hudi_table_services.model.write_stat import WriteOperation

_WRITE = "hoodie.datasource.write."
_KEY_PREFIX = f"{_WRITE}commitmeta.key.prefix"
_OPERATION = f"{_WRITE}operation"
_MAX_SIZE, _SMALL_LIMIT = "hoodie.parquet.max.file.size", "hoodie.parquet.small.file.limit"
_DEFAULT_MAX_SIZE, _DEFAULT_SMALL_LIMIT = 120 << 20, 100 << 20
_FILTER_MAX_ENTRIES = "hoodie.bloom.index.filter.dynamic.max.entries"
_CODEC, _CODEC_LEVEL = "hoodie.parquet.compression.codec", "hoodie.airflow.parquet.compression.level"
_CODECS = {
    "zstd": "zstd",
    "gzip": "gzip",
    "snappy": "snappy",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "uncompressed": "none",
    "none": "none",
}
_CODEC_LEVELS = {"zstd": 22, "gzip": 9}


def resolve_options(request: UpsertRequest) -> WriteOptions:
    """Check all keys of a request and give them types.

    Raises:
        InvalidRequestError: names the key, its value and what is allowed; or both keys of a contradiction.
        UnsupportedTableError: a table version that this release does not know.
    """
    options = _with_typed_arguments(request)
    prefix = options.get(_KEY_PREFIX, "_")
    noted = {key: value for key, value in options.items() if _is_noted(key, prefix)}
    obeyed = {key: value for key, value in options.items() if key not in noted}
    warnings = _check_known(obeyed)
    obeyed = _under_one_name(obeyed)
    reader = OptionReader(obeyed)
    sizing = _file_sizing(reader)
    index_type = reader.enum("hoodie.index.type", IndexType, IndexType.SIMPLE)
    codec = reader.one_of(_CODEC, "zstd", tuple(_CODECS))
    concurrency = reader.enum("hoodie.write.concurrency.mode", ConcurrencyMode, ConcurrencyMode.SINGLE_WRITER)
    resolved = WriteOptions(
        operation=WriteOperation(reader.one_of(_OPERATION, "upsert", OPERATIONS).upper()),
        ordering_fields=reader.names(f"{_WRITE}precombine.field"),
        table_version=_table_version(reader),
        database_name=reader.text("hoodie.database.name"),
        file_sizing=sizing,
        index_type=index_type,
        update_partition_path=_update_partition_path(reader, index_type),
        combine_before_insert=reader.flag("hoodie.combine.before.insert", False),
        combine_before_upsert=reader.flag("hoodie.combine.before.upsert", True),
        combine_before_delete=reader.flag("hoodie.combine.before.delete", True),
        insert_dup_policy=_insert_dup_policy(reader),
        record_merge_mode=_merge_mode(reader),
        parquet_codec=_CODECS[codec],
        parquet_codec_level=_codec_level(reader, codec),
        parquet_block_size_bytes=reader.whole_number("hoodie.parquet.block.size", 120 << 20, least=1024),
        bloom_fpp=reader.number("hoodie.index.bloom.fpp", 1e-9, above=0, below=1),
        bloom_max_entries=sizing.footer_max_records,
        metadata_enable=_metadata_enable(reader),
        concurrency_mode=concurrency,
        failed_writes_policy=_failed_writes_policy(reader, concurrency),
        lock=LockOptions.of(obeyed),
        retries_on_conflict=reader.whole_number("hoodie.write.num.retries.on.conflict.failures", 3, least=0),
        partitions_to_delete=reader.names(f"{_WRITE}partitions.to.delete"),
        staging_path=_staging_path(reader),
        extra_metadata=noted,
        hoodie_options=obeyed,
        warnings=warnings,
    )
    refuse_contradictions(resolved, reader)
    return resolved.with_warnings(inapplicable_options(resolved, reader))


def _is_noted(key: str, prefix: str) -> bool:
    """Whether an option only goes into the commit's metadata. Hudi itself has keys that begin with the prefix."""
    return bool(prefix) and key.startswith(prefix) and key not in KNOWN_OPTIONS


def _with_typed_arguments(request: UpsertRequest) -> dict[str, str]:
    """The options with the request's own fields as keys; a field and a key that disagree are a contradiction."""
    options = dict(request.options)
    typed = {
        "hoodie.table.name": request.table_name,
        f"{_WRITE}recordkey.field": ",".join(request.record_key),
        f"{_WRITE}partitionpath.field": ",".join(request.partition_by),
        f"{_WRITE}precombine.field": request.ordering_field,
        # The default must not contradict an operation given as a key.
        _OPERATION: "" if request.operation == "upsert" else request.operation,
    }
    for key, value in typed.items():
        if value and not _says_the_same(options.setdefault(key, value), value):
            raise InvalidRequestError(
                f"The request says {value!r}, and its option {key} says {options[key]!r}."
            )
    return options


def _under_one_name(options: Mapping[str, str]) -> dict[str, str]:
    """Other names of a key are replaced by the one this package reads."""
    named = {key: value for key, value in options.items() if key not in ALIASES}
    for alias, value in options.items():
        key = ALIASES.get(alias)
        if key is not None and not _says_the_same(named.setdefault(key, value), value):
            raise InvalidRequestError(
                f"{alias}={value} and {key}={named[key]} contradict each other: they are names of one option.",
                hint="Give one of them.",
            )
    return named


def _says_the_same(one: str, other: str) -> bool:
    """Whether two texts differ at most in case of letters outside names, and in blanks around commas."""
    normal = [[part.strip() for part in text.split(",")] for text in (one, other)]
    is_operation = all(text.strip().lower() in OPERATIONS for text in (one, other))
    return normal[0] == normal[1] or (is_operation and one.strip().lower() == other.strip().lower())


def _check_known(options: Mapping[str, str]) -> tuple[str, ...]:
    """Warnings for keys without effect; errors for unknown ones and those that ask for what cannot be done."""
    warnings = []
    for key, value in sorted(options.items()):
        option = find_option(key)
        if option is None:
            close = similar_option(key)
            hint = f"Did you mean {close}?" if close else "docs/options.md lists the known keys."
            raise InvalidRequestError(f"Unknown option {key}.", hint=hint)
        _check_value(key, value, option)
        if option.effect is Effect.NO_EFFECT:
            warnings.append(f"{key} has no effect here: {option.meaning}.")
    return tuple(warnings)


def _check_value(key: str, value: str, option: KnownOption) -> None:
    text = value.strip().lower()
    if option.effect is Effect.REFUSED:
        raise InvalidRequestError(f"{key} is not supported: {option.meaning}.", hint="Leave it out.")
    if option.effect is Effect.FIXED and text != option.default.lower():
        raise InvalidRequestError(
            f"{key}={value} is not supported; this release writes {option.default} only ({option.meaning})."
        )
    if option.effect is Effect.HONOURED and option.is_flag and text not in ("", "true", "false"):
        raise InvalidRequestError(f"{key}={value} is neither true nor false.")


def _table_version(reader: OptionReader) -> TableVersion | None:
    key = "hoodie.write.table.version"
    if key not in reader:
        return None
    version = TableVersion.parse(reader.text(key))
    if not version.is_writable:
        raise InvalidRequestError(f"{key}={reader.text(key)} cannot be written.", hint="Use 6, 8 or 9.")
    return version


def _file_sizing(reader: OptionReader) -> FileSizingOptions:
    estimate = "hoodie.copyonwrite.record.size.estimate"
    parity = reader.flag("hoodie.airflow.sizing.parity", False)
    return FileSizingOptions(
        max_file_size_bytes=reader.whole_number(_MAX_SIZE, _DEFAULT_MAX_SIZE, least=1),
        small_file_limit_bytes=_small_file_limit(reader, parity),
        insert_split_size=reader.whole_number("hoodie.copyonwrite.insert.split.size", 500_000, least=1),
        insert_auto_split=reader.flag("hoodie.copyonwrite.insert.auto.split", True),
        record_size_estimate_bytes=reader.whole_number(estimate, 1024, least=1),
        record_size_estimate_is_explicit=estimate in reader,
        estimation_threshold=reader.number("hoodie.record.size.estimation.threshold", 1.0, above=-1e-300),
        small_file_candidates_limit=reader.whole_number(
            "hoodie.merge.small.file.group.candidates.limit", 1, least=0
        ),
        estimator_max_commits=reader.whole_number("_hoodie.record.size.estimator.max.commits", 5, least=0),
        estimator_metadata_bytes=reader.whole_number(
            "hoodie.record.size.estimator.average.metadata.size", 0, least=0
        ),
        parity=parity,
        footer_bytes_per_record=0.0 if parity else BLOOM_FOOTER_BYTES_PER_RECORD,
        footer_max_records=reader.whole_number(_FILTER_MAX_ENTRIES, 100_000, least=1),
    )


def _small_file_limit(reader: OptionReader, parity: bool) -> int:
    """0 or less turns padding off. A small max size given alone pulls the default down with it.

    In parity the limit comes down to the max size itself: above that Hudi pads nothing either.
    """
    largest = reader.whole_number(_MAX_SIZE, _DEFAULT_MAX_SIZE, least=1)
    if _SMALL_LIMIT in reader:
        return max(0, reader.whole_number(_SMALL_LIMIT, 0))
    return min(_DEFAULT_SMALL_LIMIT, largest if parity else largest * 5 // 6)


def _update_partition_path(reader: OptionReader, index_type: IndexType) -> bool:
    kind = "bloom" if index_type.uses_footers else "simple"
    return reader.flag(f"hoodie.{kind}.index.update.partition.path", True)


def _insert_dup_policy(reader: OptionReader) -> InsertDupPolicy:
    key, old_key = "hoodie.datasource.insert.dup.policy", f"{_WRITE}insert.drop.duplicates"
    policy = reader.enum(key, InsertDupPolicy, InsertDupPolicy.NONE)
    if not reader.flag(old_key, False):
        return policy
    if key in reader and policy is not InsertDupPolicy.DROP:
        raise InvalidRequestError(f"{old_key}=true and {key}={policy.value} contradict each other.")
    return InsertDupPolicy.DROP


def _merge_mode(reader: OptionReader) -> RecordMergeMode | None:
    key, payload_key = "hoodie.record.merge.mode", f"{_WRITE}payload.class"
    mode = _payload_mode(reader, payload_key)
    if key not in reader:
        return mode
    given = reader.enum(key, RecordMergeMode, RecordMergeMode.EVENT_TIME_ORDERING)
    if given is RecordMergeMode.CUSTOM:
        raise InvalidRequestError(
            f"{key}=CUSTOM cannot be followed.", hint="Use EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING."
        )
    if mode not in (None, given):
        raise InvalidRequestError(
            f"{payload_key}={reader.text(payload_key)} and {key}={given.value} contradict each other."
        )
    return given


def _payload_mode(reader: OptionReader, key: str) -> RecordMergeMode | None:
    payload = reader.text(key)
    if not payload:
        return None
    if payload in EVENT_TIME_PAYLOADS:
        return RecordMergeMode.EVENT_TIME_ORDERING
    if payload == OVERWRITE_PAYLOAD:
        return RecordMergeMode.COMMIT_TIME_ORDERING
    raise InvalidRequestError(
        f"{key}={payload} cannot be followed.",
        hint="Use hoodie.record.merge.mode=EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING.",
    )


def _staging_path(reader: OptionReader) -> str:
    """Below `.hoodie/.aux` no reader looks for rows, and what is deleted there is nobody else's."""
    key, parent = "hoodie.airflow.staging.path", ".hoodie/.aux"
    path = reader.text(key).strip("/") or f"{parent}/staging"
    names = path.removeprefix(f"{parent}/").split("/")
    taken = names[0] == ".bootstrap"
    if not path.startswith(f"{parent}/") or taken or any(name in ("", ".", "..") for name in names):
        raise InvalidRequestError(
            f"{key}={reader.text(key)} is not a folder of its own below {parent}.",
            hint=f"Leave the key out, or give {parent}/<name>.",
        )
    return path


def _codec_level(reader: OptionReader, codec: str) -> int | None:
    if _CODEC_LEVEL not in reader:
        return None
    if codec not in _CODEC_LEVELS:
        raise InvalidRequestError(
            f"{_CODEC_LEVEL}={reader.text(_CODEC_LEVEL)} and {_CODEC}={codec} contradict each other: "
            "this codec has no levels."
        )
    level, highest = reader.whole_number(_CODEC_LEVEL, 1, least=1), _CODEC_LEVELS[codec]
    if level > highest:
        raise InvalidRequestError(f"{_CODEC_LEVEL}={level} is too large, {codec} has levels up to {highest}.")
    return level


def _metadata_enable(reader: OptionReader) -> bool | None:
    if "hoodie.metadata.enable" not in reader:
        return None
    if reader.flag("hoodie.metadata.enable", True):
        raise InvalidRequestError(
            "hoodie.metadata.enable=true: this release does not write the metadata table.",
            hint="Leave the key out, or set it to false to switch an active metadata table off.",
        )
    return False


def _failed_writes_policy(reader: OptionReader, concurrency: ConcurrencyMode) -> FailedWritesPolicy:
    """LAZY where writers run side by side, as Hudi adjusts it too."""
    several = concurrency is ConcurrencyMode.OPTIMISTIC_CONCURRENCY_CONTROL
    default = FailedWritesPolicy.LAZY if several else FailedWritesPolicy.EAGER
    return reader.enum("hoodie.cleaner.policy.failed.writes", FailedWritesPolicy, default)
