"""From Hudi's keys to typed options: unknown keys are refused with a suggestion, contradictions by both names."""

import difflib
from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from hudi_table_services.contract.job_request import UpsertRequest
from hudi_table_services.contract.known_options import KNOWN_OPTIONS, Effect
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
    FailedWritesPolicy,
    IndexType,
    InsertDupPolicy,
    WriteOptions,
)
from hudi_table_services.model.write_stat import WriteOperation

EnumT = TypeVar("EnumT", bound=Enum)

_WRITE = "hoodie.datasource.write."
_KEY_PREFIX = f"{_WRITE}commitmeta.key.prefix"
_CODECS = {
    "zstd": "zstd",
    "gzip": "gzip",
    "snappy": "snappy",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "uncompressed": "none",
    "none": "none",
}
_SAME_MEANING = (
    (f"{_WRITE}precombine.field", "hoodie.table.precombine.field"),
    (f"{_WRITE}precombine.field", "hoodie.table.ordering.fields"),
    ("hoodie.cleaner.policy.failed.writes", "hoodie.clean.failed.writes.policy"),
)


def resolve_options(request: UpsertRequest) -> WriteOptions:
    """Check all keys of a request and give them types.

    Raises:
        InvalidRequestError: names the key, its value and what is allowed; or both keys of a contradiction.
    """
    options = _with_typed_arguments(request)
    prefix = options.get(_KEY_PREFIX, "_")
    warnings = _check_known(options, prefix)
    reader = _Reader(options)
    operation = WriteOperation(reader.one_of(f"{_WRITE}operation", "upsert", _OPERATIONS).upper())
    index_type = reader.enum("hoodie.index.type", IndexType, IndexType.SIMPLE)
    resolved = WriteOptions(
        operation=operation,
        ordering_fields=reader.names(f"{_WRITE}precombine.field"),
        table_version=_table_version(reader),
        database_name=reader.text("hoodie.database.name"),
        file_sizing=_file_sizing(reader),
        index_type=index_type,
        update_partition_path=_update_partition_path(reader, index_type),
        combine_before_insert=reader.flag("hoodie.combine.before.insert", False),
        combine_before_upsert=reader.flag("hoodie.combine.before.upsert", True),
        combine_before_delete=reader.flag("hoodie.combine.before.delete", True),
        insert_dup_policy=reader.enum("hoodie.datasource.insert.dup.policy", InsertDupPolicy, InsertDupPolicy.NONE),
        record_merge_mode=_merge_mode(reader),
        parquet_codec=_CODECS[reader.one_of("hoodie.parquet.compression.codec", "zstd", tuple(_CODECS))],
        parquet_block_size_bytes=reader.number("hoodie.parquet.block.size", 125829120, least=1024),
        bloom_fpp=reader.fraction("hoodie.index.bloom.fpp", 1e-9),
        bloom_max_entries=reader.number("hoodie.bloom.index.filter.dynamic.max.entries", 100_000, least=1),
        metadata_enable=_metadata_enable(reader),
        failed_writes_policy=reader.enum(
            "hoodie.cleaner.policy.failed.writes", FailedWritesPolicy, FailedWritesPolicy.EAGER
        ),
        lock=LockOptions.of(options),
        partitions_to_delete=reader.names(f"{_WRITE}partitions.to.delete"),
        staging_path=reader.text("hoodie.airflow.staging.path") or ".hoodie/.aux/staging",
        extra_metadata={k: v for k, v in options.items() if prefix and k.startswith(prefix)},
        hoodie_options={k: v for k, v in options.items() if k.startswith("hoodie.")},
        warnings=warnings,
    )
    _check_together(resolved)
    return resolved


_OPERATIONS = (
    "upsert",
    "insert",
    "bulk_insert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
)


def _with_typed_arguments(request: UpsertRequest) -> dict[str, str]:
    """The options with the request's own fields as keys; a field and a key that disagree are a contradiction."""
    options = dict(request.options)
    typed = {
        "hoodie.table.name": request.table_name,
        f"{_WRITE}recordkey.field": ",".join(request.record_key),
        f"{_WRITE}partitionpath.field": ",".join(request.partition_by),
        f"{_WRITE}precombine.field": request.ordering_field,
    }
    if request.operation != "upsert" or f"{_WRITE}operation" not in options:
        typed[f"{_WRITE}operation"] = request.operation
    for key, value in typed.items():
        if value and options.setdefault(key, value) != value:
            raise InvalidRequestError(f"The request says {value!r} and its option {key} says {options[key]!r}.")
    for key, alias in _SAME_MEANING:
        if alias in options and options.setdefault(key, options[alias]) != options[alias]:
            raise InvalidRequestError(f"{key}={options[key]} and {alias}={options[alias]} contradict each other.")
    return options


def _check_known(options: Mapping[str, str], prefix: str) -> tuple[str, ...]:
    warnings = []
    for key, value in sorted(options.items()):
        if prefix and key.startswith(prefix):
            continue
        option = KNOWN_OPTIONS.get(key)
        if option is None:
            close = difflib.get_close_matches(key, KNOWN_OPTIONS, n=1, cutoff=0.7)
            hint = f"Did you mean {close[0]}?" if close else "docs/options.md lists the known keys."
            raise InvalidRequestError(f"Unknown option {key}.", hint=hint)
        if option.effect is Effect.FIXED and value.strip().lower() != option.default.lower():
            raise InvalidRequestError(
                f"{key}={value} is not supported; this release writes {option.default} only ({option.meaning})."
            )
        if option.effect is Effect.NO_EFFECT:
            warnings.append(f"{key} has no effect here: {option.meaning}.")
    return tuple(warnings)


class _Reader:
    """Typed access to option texts; each error names key, value and what is allowed."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def __contains__(self, key: str) -> bool:
        return key in self._options

    def text(self, key: str) -> str:
        return self._options.get(key, "").strip()

    def names(self, key: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.text(key).split(",") if part.strip())

    def one_of(self, key: str, default: str, allowed: tuple[str, ...]) -> str:
        value = (self.text(key) or default).lower()
        if value not in allowed:
            raise InvalidRequestError(f"{key}={self.text(key)} is not one of {', '.join(allowed)}.")
        return value

    def enum(self, key: str, kind: type[EnumT], default: EnumT) -> EnumT:
        if not (text := self.text(key)):
            return default
        for member in kind:
            if str(member.value).lower() == text.lower():
                return member
        raise InvalidRequestError(
            f"{key}={text} is not supported.", hint=f"Supported: {', '.join(str(m.value) for m in kind)}."
        )

    def flag(self, key: str, default: bool) -> bool:
        return self.one_of(key, str(default).lower(), ("true", "false")) == "true"

    def number(self, key: str, default: int, *, least: int) -> int:
        text = self.text(key) or str(default)
        try:
            value = int(text)
        except ValueError:
            raise InvalidRequestError(f"{key}={text} is not a whole number.") from None
        if value < least:
            raise InvalidRequestError(f"{key}={text} is below {least}.")
        return value

    def fraction(self, key: str, default: float) -> float:
        text = self.text(key) or str(default)
        try:
            value = float(text)
        except ValueError:
            raise InvalidRequestError(f"{key}={text} is not a number.") from None
        if not 0 < value < 1:
            raise InvalidRequestError(f"{key}={text} is not between 0 and 1.")
        return value


def _table_version(reader: _Reader) -> TableVersion | None:
    if not (text := reader.text("hoodie.write.table.version")):
        return None
    version = TableVersion.parse(text)
    if not version.is_writable:
        raise InvalidRequestError(f"hoodie.write.table.version={text} cannot be written; use 6, 8 or 9.")
    return version


def _file_sizing(reader: _Reader) -> FileSizingOptions:
    estimate = "hoodie.copyonwrite.record.size.estimate"
    threshold = reader.text("hoodie.record.size.estimation.threshold") or "1.0"
    parity = reader.flag("hoodie.airflow.sizing.parity", False)
    try:
        estimation_threshold = float(threshold)
    except ValueError:
        raise InvalidRequestError(
            f"hoodie.record.size.estimation.threshold={threshold} is not a number."
        ) from None
    return FileSizingOptions(
        max_file_size_bytes=reader.number("hoodie.parquet.max.file.size", 125829120, least=1),
        small_file_limit_bytes=_small_file_limit(reader),
        insert_split_size=reader.number("hoodie.copyonwrite.insert.split.size", 500_000, least=1),
        insert_auto_split=reader.flag("hoodie.copyonwrite.insert.auto.split", True),
        record_size_estimate_bytes=reader.number(estimate, 1024, least=1),
        record_size_estimate_is_explicit=estimate in reader,
        estimation_threshold=estimation_threshold,
        small_file_candidates_limit=reader.number("hoodie.merge.small.file.group.candidates.limit", 1, least=0),
        parity=parity,
        footer_bytes_per_record=0.0 if parity else BLOOM_FOOTER_BYTES_PER_RECORD,
        footer_max_records=reader.number("hoodie.bloom.index.filter.dynamic.max.entries", 100_000, least=1),
    )


def _small_file_limit(reader: _Reader) -> int:
    """A max size given alone below Hudi's default limit pulls the limit down with it, in Hudi's proportion."""
    key, max_key = "hoodie.parquet.small.file.limit", "hoodie.parquet.max.file.size"
    largest = reader.number(max_key, 125829120, least=1)
    if key not in reader:
        return min(104857600, largest * 5 // 6)
    limit = int(reader.text(key)) if reader.text(key).lstrip("-").isdigit() else -1
    if limit < 0 and not reader.text(key).startswith("-"):
        raise InvalidRequestError(f"{key}={reader.text(key)} is not a whole number.")
    if limit > largest:
        raise InvalidRequestError(
            f"{key}={limit} is above {max_key}={largest}: full files would count as small.",
            hint="Lower the limit or raise the max file size.",
        )
    return max(0, limit)


def _update_partition_path(reader: _Reader, index_type: IndexType) -> bool:
    kind = "bloom" if index_type.uses_footers else "simple"
    return reader.flag(f"hoodie.{kind}.index.update.partition.path", True)


def _merge_mode(reader: _Reader) -> RecordMergeMode | None:
    mode: RecordMergeMode | None = None
    if "hoodie.record.merge.mode" in reader:
        mode = reader.enum("hoodie.record.merge.mode", RecordMergeMode, RecordMergeMode.EVENT_TIME_ORDERING)
    payload = reader.text(f"{_WRITE}payload.class")
    if not payload:
        return mode
    if payload in EVENT_TIME_PAYLOADS:
        meant = RecordMergeMode.EVENT_TIME_ORDERING
    elif payload == OVERWRITE_PAYLOAD:
        meant = RecordMergeMode.COMMIT_TIME_ORDERING
    else:
        raise InvalidRequestError(
            f"{_WRITE}payload.class={payload} cannot be followed.",
            hint="Use hoodie.record.merge.mode=EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING.",
        )
    if mode not in (None, meant):
        raise InvalidRequestError(
            f"{_WRITE}payload.class={payload} and hoodie.record.merge.mode={reader.text('hoodie.record.merge.mode')} "
            "contradict each other."
        )
    return meant


def _metadata_enable(reader: _Reader) -> bool | None:
    if "hoodie.metadata.enable" not in reader:
        return None
    if reader.flag("hoodie.metadata.enable", True):
        raise InvalidRequestError(
            "hoodie.metadata.enable=true: this release does not write the metadata table.",
            hint="Leave the key out, or set it to false to switch an active metadata table off.",
        )
    return False


def _check_together(options: WriteOptions) -> None:
    if options.operation is WriteOperation.DELETE_PARTITION and not options.partitions_to_delete:
        raise InvalidRequestError(
            "Operation delete_partition names no partitions.", hint=f"Give {_WRITE}partitions.to.delete."
        )
    policy = options.insert_dup_policy
    if policy is not InsertDupPolicy.NONE and options.operation is not WriteOperation.INSERT:
        raise InvalidRequestError(
            f"hoodie.datasource.insert.dup.policy={policy.value} and operation "
            f"{options.operation.value.lower()} contradict each other: the policy is for insert."
        )
    if options.record_merge_mode is RecordMergeMode.CUSTOM:
        raise InvalidRequestError("hoodie.record.merge.mode=CUSTOM cannot be followed.")
