"""The parser of command-line flags. It raises errors of this project.

For a misspelled flag or value, the hint of the error names the most similar known flag or value.
"""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.option import AnyOption
from hudi_table_services.services.flag_names import option_for

_NO_NUMBER = re.compile(
    r"argument (?P<flag>\S+): invalid (?P<type>int|float) value: (?P<value>.*)", re.DOTALL
)
"""Matches the message of argparse about a value that is not a number."""

_INSTANT_TIME = re.compile(r"\d{14}(\d{3})?")


class _StoreOnce(argparse._StoreAction):
    """The action of a flag with one value. A second, different value is an error; argparse would replace the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None and getattr(namespace, self.dest, self.default) not in (
            self.default,
            values,
        ):
            hint = (
                f"Separate several names by commas: {option_string} a,b." if "," in str(self.metavar) else ""
            )
            raise InvalidRequestError(f"{option_string} is given twice, with different values.", hint=hint)
        super().__call__(parser, namespace, values, option_string)


class RequestParser(argparse.ArgumentParser):
    """A parser that raises InvalidRequestError where argparse would end the process.

    Args:
        flags_elsewhere: maps flags of other commands to advice about them.
    """

    def __init__(self, *, flags_elsewhere: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._flags_elsewhere = flags_elsewhere or {}
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)

    def error(self, message: str) -> NoReturn:
        if (found := _NO_NUMBER.fullmatch(message)) is not None:
            kind = "a whole number" if found["type"] == "int" else "a number"
            raise InvalidRequestError(
                f"{found['flag']} is {found['value']}, not {kind}.",
                hint=f"Give {kind}, as in {found['flag']} 3.",
            )
        raise InvalidRequestError(f"{message[:1].upper()}{message[1:]}.", hint="See --help.")

    # One signature replaces the three overloads of argparse.
    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        return self._parse(self.parse_known_args, args, namespace)

    def parse_intermixed_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        return self._parse(self.parse_known_intermixed_args, args, namespace)

    def _parse(self, parse: Callable[..., Any], args: Sequence[str] | None, namespace: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        parsed, unknown = parse(words, namespace)
        if unknown:
            shown = " ".join(unknown)
            raise InvalidRequestError(
                f"Unrecognized arguments: {shown}.",
                hint=" ".join(
                    dict.fromkeys(self._hint(words, each) for each in _unknown_flags(unknown))
                ).strip()
                or "See --help.",
            )
        return parsed

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        name = argparse.ArgumentError(action, "").argument_name
        raise InvalidRequestError(
            f"Argument {name}: invalid choice: {value!r}.",
            hint=did_you_mean(str(value), known, otherwise=f"Use one of {', '.join(known)}."),
        )

    def _hint(self, words: list[str], unknown: str) -> str:
        if not unknown.startswith("-"):
            return self._hint_for_further_value(words, unknown)
        flag = unknown.partition("=")[0].replace("_", "-")
        if flag in self._flags_elsewhere:
            return self._flags_elsewhere[flag]
        flags = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        if "--option" in flags and (option := option_for(flag)) is not None:
            return _advice_on_option(option, flags)
        containing = [name for name in flags if flag.strip("-") in name]
        if len(containing) > 1:
            # The most similar name may be the wrong choice, such as hours instead of commits.
            return f"Did you mean one of {', '.join(containing)}?"
        return did_you_mean(flag, containing or flags) or _with_same_words(flag, flags)

    def _hint_for_further_value(self, words: list[str], unknown: str) -> str:
        """If the word follows the value of a repeatable flag, say that the flag must be repeated."""
        flags = [word.partition("=")[0] for word in words[: words.index(unknown)] if word.startswith("-")]
        for action in self._actions:
            if flags and flags[-1] in action.option_strings and isinstance(action, argparse._AppendAction):
                return f"Repeat the flag for each value: {flags[-1]} {unknown}."
        known = {name for action in self._actions for name in action.option_strings}
        flag = next((name for name in ("--instant", "--savepoint") if name in known), "")
        if flag and _INSTANT_TIME.fullmatch(unknown):
            return f"Name an instant with the flag: {flag} {unknown}."
        if not any(action.dest == "table" for action in self._actions):
            return ""
        source = " Give the source with --source-path." if "--source-path" in known else ""
        return f"Only the table is given without a flag.{source}"


def _advice_on_option(option: AnyOption, flags: Sequence[str]) -> str:
    if option.flag in flags:
        return f"Did you mean {option.flag}?"
    return f"Did you mean --option {option.key}=VALUE?"


def _with_same_words(flag: str, flags: Sequence[str]) -> str:
    """Return advice about the known flag that has the most words in common with an unknown flag.

    For ``--retain-commits``, this is ``--commits-retained``. Words count as equal if their first four letters are
    equal. If several flags have the most words in common, there is no advice.
    """
    words = {word[:4] for word in flag.strip("-").split("-")}
    common = {name: len(words & {word[:4] for word in name.strip("-").split("-")}) for name in flags}
    most = max(common.values(), default=0)
    meant = [name for name, count in common.items() if count == most]
    return f"Did you mean {meant[0]}?" if most and len(meant) == 1 else ""


def _unknown_flags(unknown: Sequence[str]) -> Sequence[str]:
    """Return the flags among the unknown words; if there is none, return the first unknown word."""
    return [word for word in unknown if word.startswith("--")] or unknown[:1]
