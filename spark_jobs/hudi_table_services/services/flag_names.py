"""In errors, replace keys of options and fields of a request by the flags that the user typed.

Conversely, `option_for` finds the option that a user means by an unknown flag.
"""

import re
from collections.abc import Collection, Mapping

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.option import AnyOption, Effect, OptionGroup
from hudi_table_services.options.registry import KNOWN_OPTIONS

# Scripts of different services can have the same flag for different keys.
_FLAGS_AND_KEYS = tuple((option.flag, option.key) for option in KNOWN_OPTIONS.values() if option.flag)
_SOURCE_OPTION = re.compile(r"(?:the )?source option (?=\w+=)")
_REPEATED = re.compile(r"(--[a-z-]+) \(\1\)")


def naming_flags(
    error: HudiTableServiceError, flags: Mapping[str, str], options: Collection[str]
) -> HudiTableServiceError:
    """Return the error with the flags that the user typed; a key follows its flag in parentheses.

    Args:
        flags: maps the field of each given flag to the flag, such as ``commits_retained`` to ``--commits-retained``.
        options: keys that the user gave as options; the function does not replace these keys.
    """
    message, hint = (_naming_flags(text, flags, options) for text in (error.message, error.hint))
    if (message, hint) == (error.message, error.hint):
        return error
    return type(error)(message, hint=hint, path=error.path, evidence=error.evidence)


def _naming_flags(text: str, flags: Mapping[str, str], options: Collection[str]) -> str:
    for field, flag in flags.items():
        for key in (key for own, key in _FLAGS_AND_KEYS if own == flag and key not in options):
            text = _with_flag_of_key(text, key, flag)
        text = _with_flag_of_field(text, field, flag)
    if any(field.startswith("source_") for field in flags):
        text = _SOURCE_OPTION.sub("--source-option ", text)
    return _REPEATED.sub(r"\1", text)


def _with_flag_of_key(text: str, key: str, flag: str) -> str:
    # A key in parentheses already follows its flag, so it stays. The end of the pattern excludes longer keys.
    pattern = rf"(?<![\w.(])(?:[Oo]ption )?{re.escape(key)}(?P<value>=\S*[^\s.,:;])?(?!\.?\w)"
    return re.sub(pattern, lambda found: f"{flag}{found['value'] or ''} ({key})", text)


def _with_flag_of_field(text: str, field: str, flag: str) -> str:
    """Replace the name of a field. A name that is an English word is replaced at the start of the text only."""
    if "_" in field:
        return re.sub(rf"(?<![\w/.'\"-]){field}(?![\w/'\"]|\.\w)", flag, text)
    return re.sub(rf"^{field}(?= is | and )", flag, text)


def option_for(flag: str) -> AnyOption | None:
    """Return the option whose key is the flag in Hudi's notation; None if no key, or more than one key, matches.

    The first words of a key may be missing: ``--table-version`` means ``hoodie.write.table.version``.
    """
    name = flag.removeprefix("--")
    found = {option.key: option for key, option in KNOWN_OPTIONS.items() if name in _short_names(key)}
    usable = [
        option
        for option in found.values()
        if option.effect is Effect.HONOURED and option.services != (OptionGroup.COMPACTION,)
    ]
    return usable[0] if len(usable) == 1 else None


def _short_names(key: str) -> Collection[str]:
    """Return the key without ``hoodie``, and without one more word, if at least two words remain."""
    words = re.split(r"[._]", key.removeprefix("hoodie."))
    return ["-".join(words[skipped:]) for skipped in (0, 1) if len(words) - skipped > 1]
