"""Checks and values of options that several services share."""

from collections.abc import Mapping

from hudi_table_services.contract.writing import OPERATIONS
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.base_files import BaseFileOptions
from hudi_table_services.options.keys.base_files import (
    BLOCK_SIZE,
    BLOOM_FPP,
    BLOOM_MAX_ENTRIES,
    CODEC,
    CODEC_LEVEL,
    CODECS,
)
from hudi_table_services.options.keys.writing import (
    CONCURRENCY_MODE,
    FAILED_WRITES_POLICY,
    STAGING_PATH,
)
from hudi_table_services.options.option import AnyOption, Effect, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.registry import ALIASES, advice_on_key, find_option, is_listed
from hudi_table_services.options.writing_values import ConcurrencyMode, FailedWritesPolicy

_HIGHEST_LEVELS = {"zstd": 22, "gzip": 9}


def with_fields(options: Mapping[str, str], fields: Mapping[AnyOption, object]) -> dict[str, str]:
    """Return the options of a request, plus the fields of the request that correspond to an option.

    Args:
        fields: maps each option to the value of its field in the request. Values that are None or an empty string are
            ignored.

    Raises:
        InvalidRequestError: a field and its option have different values.
    """
    named = dict(options)
    for option, value in fields.items():
        text = "" if value is None else str(value)
        if text and option.parse(named.setdefault(option.key, text)) != option.parse(text):
            raise InvalidRequestError(
                f"{option.flag or 'A field of the request'} is {text!r}, but its option {option.key} is "
                f"{named[option.key]!r}.",
                hint=f"Give either {option.flag or 'the field'} or the option.",
            )
    return named


def known_options(options: Mapping[str, str], group: OptionGroup) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options, each under its main name, and warnings for options without effect in jobs of the group.

    Raises:
        InvalidRequestError: a key is unknown, or the jobs do not support a value.
    """
    warnings = _check_known(options, group)
    return _under_one_name(options), warnings


def _under_one_name(options: Mapping[str, str]) -> dict[str, str]:
    """Replace each alias by the key that this package reads."""
    named = {key: value for key, value in options.items() if key not in ALIASES}
    for alias, value in options.items():
        key = ALIASES.get(alias)
        if key is not None and not are_equal_values(named.setdefault(key, value), value):
            raise InvalidRequestError(
                f"{alias}={value} and {key}={named[key]} contradict each other: they are names of one option.",
                hint="Give the option under only one name.",
            )
    return named


def are_equal_values(one: str, other: str) -> bool:
    """Whether two values are equal. Ignores blanks around commas and, for write operations, letter case."""
    normal = [[part.strip() for part in text.split(",")] for text in (one, other)]
    is_operation = all(text.strip().lower() in OPERATIONS for text in (one, other))
    return normal[0] == normal[1] or (is_operation and one.strip().lower() == other.strip().lower())


def _check_known(options: Mapping[str, str], group: OptionGroup) -> tuple[str, ...]:
    """Return a warning for each key without effect. Raise InvalidRequestError for unknown keys and invalid values."""
    warnings = []
    for key, value in sorted(options.items()):
        option = find_option(key)
        if option is None or not is_listed(key, group):
            hint = advice_on_key(key) or "docs/options.md lists the known keys."
            raise InvalidRequestError(f"Unknown option {key}.", hint=hint)
        if option.effect is Effect.HONOURED and group not in option.services:
            warnings.append(
                f"{key} has no effect here: it is for {option.services[0].value}.{_why_invalid(value, option)}"
            )
            continue
        _check_value(key, value, option)
        if option.effect is Effect.NO_EFFECT:
            warnings.append(f"{key} has no effect here: {option.meaning}.")
    return tuple(warnings)


def _why_invalid(value: str, option: AnyOption) -> str:
    """Return a sentence if the jobs that read the option would refuse its value; else an empty string."""
    try:
        option.parse(value)
    except InvalidRequestError as refusal:
        return f" Its value is invalid, too: {refusal.message}"
    return ""


def _check_value(key: str, value: str, option: AnyOption) -> None:
    text = value.strip().lower()
    if option.effect is Effect.REFUSED:
        raise InvalidRequestError(f"{key} is not supported: {option.meaning}.", hint="Leave the option out.")
    if option.effect is Effect.FIXED and text != option.default.lower():
        raise InvalidRequestError(
            f"{key}={value} is not supported: jobs of this project support only the value {option.default} of this "
            f"option ({option.meaning}).",
            hint=f"Leave the option out, or set it to {option.default}.",
        )
    if option.is_flag and text not in ("", "true", "false"):
        raise InvalidRequestError(
            f"{key}={value} is neither true nor false.", hint=f"Set {key} to true or false."
        )
    if key in option.aliases and text:
        option.kind.parse(key, value.strip())  # the error names the alias; a later parse would name the key


def base_file_options(reader: OptionReader) -> BaseFileOptions:
    """Return the options for encoding, row groups and bloom filters of base files."""
    codec = reader[CODEC]
    return BaseFileOptions(
        codec=CODECS[codec],
        codec_level=_codec_level(reader, codec),
        block_size_bytes=reader[BLOCK_SIZE],
        bloom_fpp=reader[BLOOM_FPP],
        bloom_max_entries=reader[BLOOM_MAX_ENTRIES],
    )


def _codec_level(reader: OptionReader, codec: str) -> int | None:
    if CODEC_LEVEL not in reader:
        return None
    if codec not in _HIGHEST_LEVELS:
        raise InvalidRequestError(
            f"{CODEC_LEVEL}={reader.text(CODEC_LEVEL)} and {CODEC}={codec} contradict each other: "
            "this codec has no levels."
        )
    level, highest = reader[CODEC_LEVEL], _HIGHEST_LEVELS[codec]
    if level is not None and level > highest:
        raise InvalidRequestError(f"{CODEC_LEVEL}={level} is too large: {codec} has levels up to {highest}.")
    return level


def failed_writes_policy(reader: OptionReader) -> FailedWritesPolicy:
    """Return the policy for failed writes. As in Hudi, the default is LAZY if writers can write concurrently."""
    several = reader[CONCURRENCY_MODE] is ConcurrencyMode.OPTIMISTIC_CONCURRENCY_CONTROL
    if several and FAILED_WRITES_POLICY not in reader:
        return FailedWritesPolicy.LAZY
    return reader[FAILED_WRITES_POLICY]


def staging_path(reader: OptionReader) -> str:
    """Return the folder of staged rows, which is below `.hoodie/.aux`. Readers ignore files below that folder."""
    parent, path = ".hoodie/.aux", reader[STAGING_PATH].strip("/")
    names = path.removeprefix(f"{parent}/").split("/")
    taken = names[0] == ".bootstrap"
    if not path.startswith(f"{parent}/") or taken or any(name in ("", ".", "..") for name in names):
        raise InvalidRequestError(
            f"{STAGING_PATH}={reader.text(STAGING_PATH)} is not a separate folder below {parent}.",
            hint=f"Leave the key out, or give {parent}/<name>.",
        )
    return path
