"""What the options of all jobs have in common: which keys are known, and those that every writer of files obeys."""

from collections.abc import Mapping

from hudi_table_services.contract.writing import OPERATIONS
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.base_files import BaseFileOptions
from hudi_table_services.options.option import Effect, KnownOption, Service
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.registry import ALIASES, find_option, similar_option
from hudi_table_services.options.writing_values import ConcurrencyMode, FailedWritesPolicy

_OWN_FAMILIES = {
    Service.CLUSTERING: ("hoodie.clustering.*",),
    Service.CLEANING: ("hoodie.clean.*", "hoodie.cleaner.*"),
    Service.ARCHIVAL: ("hoodie.archive.*",),
}
"""Services know their own keys one by one."""

FILTER_MAX_ENTRIES = "hoodie.bloom.index.filter.dynamic.max.entries"
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


def obeyed_options(options: Mapping[str, str], service: Service) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options under one name each, and a warning for each that is known and means nothing to this service.

    Raises:
        InvalidRequestError: an unknown key, or a value that asks for what cannot be done.
    """
    warnings = _check_known(options, service)
    return _under_one_name(options), warnings


def _under_one_name(options: Mapping[str, str]) -> dict[str, str]:
    """Other names of a key are replaced by the one this package reads."""
    named = {key: value for key, value in options.items() if key not in ALIASES}
    for alias, value in options.items():
        key = ALIASES.get(alias)
        if key is not None and not says_the_same(named.setdefault(key, value), value):
            raise InvalidRequestError(
                f"{alias}={value} and {key}={named[key]} contradict each other: they are names of one option.",
                hint="Give one of them.",
            )
    return named


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts differ at most in case of letters outside names, and in blanks around commas."""
    normal = [[part.strip() for part in text.split(",")] for text in (one, other)]
    is_operation = all(text.strip().lower() in OPERATIONS for text in (one, other))
    return normal[0] == normal[1] or (is_operation and one.strip().lower() == other.strip().lower())


def _check_known(options: Mapping[str, str], service: Service) -> tuple[str, ...]:
    """Warnings for keys without effect; errors for unknown ones and those that ask for what cannot be done."""
    warnings = []
    for key, value in sorted(options.items()):
        option = find_option(key)
        if option is None or option.key in _OWN_FAMILIES.get(service, ()):
            close = similar_option(key)
            hint = f"Did you mean {close}?" if close else "docs/options.md lists the known keys."
            raise InvalidRequestError(f"Unknown option {key}.", hint=hint)
        if option.effect is Effect.HONOURED and service not in option.services:
            warnings.append(f"{key} has no effect here: it is for {option.services[0].value}.")
            continue
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


def base_file_options(reader: OptionReader) -> BaseFileOptions:
    """Encoding, row groups and bloom filters."""
    codec = reader.one_of(_CODEC, "zstd", tuple(_CODECS))
    return BaseFileOptions(
        codec=_CODECS[codec],
        codec_level=_codec_level(reader, codec),
        block_size_bytes=reader.whole_number("hoodie.parquet.block.size", 120 << 20, least=1024),
        bloom_fpp=reader.number("hoodie.index.bloom.fpp", 1e-9, above=0, below=1),
        bloom_max_entries=reader.whole_number(FILTER_MAX_ENTRIES, 100_000, least=1),
    )


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


def concurrency_mode(reader: OptionReader) -> ConcurrencyMode:
    """Whether other writers may be at work."""
    return reader.enum("hoodie.write.concurrency.mode", ConcurrencyMode, ConcurrencyMode.SINGLE_WRITER)


def metadata_enable(reader: OptionReader) -> bool | None:
    """False: switch an active metadata table off; None: refuse such a table."""
    if "hoodie.metadata.enable" not in reader:
        return None
    if reader.flag("hoodie.metadata.enable", True):
        raise InvalidRequestError(
            "hoodie.metadata.enable=true: this release does not write the metadata table.",
            hint="Leave the key out, or set it to false to switch an active metadata table off.",
        )
    return False


def failed_writes_policy(reader: OptionReader, concurrency: ConcurrencyMode) -> FailedWritesPolicy:
    """LAZY where writers run side by side, as Hudi adjusts it too."""
    several = concurrency is ConcurrencyMode.OPTIMISTIC_CONCURRENCY_CONTROL
    default = FailedWritesPolicy.LAZY if several else FailedWritesPolicy.EAGER
    return reader.enum("hoodie.cleaner.policy.failed.writes", FailedWritesPolicy, default)


def staging_path(reader: OptionReader) -> str:
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
