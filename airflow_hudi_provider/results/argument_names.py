"""Replace names of scripts and flags by names of operators and arguments, in messages for authors of DAGs."""

import importlib
import inspect
import pkgutil
import re
from dataclasses import replace
from functools import cache

from hudi_table_services.contract.result import JobResult

_PACKAGE = "airflow_hudi_provider"
_OTHER_NAMES = {
    "execute": "preview=False",
    "no_source_check": "check_source=False",
    "source_option": "source_options",
}
"""Maps a flag, with underscores, to the argument if their names differ."""

_FLAG = r"--(?P<name>[a-z][a-z-]*[a-z])"
_VALUE = r"(?P<value>[\w./:,-]*\w)"
_FLAG_IN_TEXT = re.compile(rf"(?<![\w-]){_FLAG}(?:={_VALUE})?(?![\w-])")
_FLAG_OF_COMMAND = re.compile(rf"{_FLAG}(?:[ =]{_VALUE})?")
_COMMAND = re.compile(
    r"(?<![\w./'\"-])(?P<script>\w+\.py)(?![\w/-])(?P<flags>(?: --execute| --[a-z-]+[ =][\w./:,-]*\w)*)"
)
_SOURCE_OPTION = re.compile(
    r"(?:(?:the )?source option|--source-option) (?P<name>\w+)(?:=(?:'(?P<quoted>[^']*)'|(?P<value>[^\s.,;]+)))?"
)
_OPTION = re.compile(r"--option (?P<key>hoodie\.[\w.]*\w)=(?P<value>[^\s,;]*[^\s,;.])")
_SAME_TWICE = re.compile(r"\b(\w+) \((`\1`)\)")
_WITHOUT_EXECUTE = re.compile(r"without --execute(?![\w-])")


def with_arguments(text: str, operator: type) -> str:
    """Replace the names of scripts, flags and options in a message by names of operators and arguments.

    Names without a counterpart stay unchanged.

    Names of arguments without values are in backticks, because many of them are English words.

    Args:
        operator: operator class of the task to which the flags in the message belong.
    """
    text = _COMMAND.sub(_as_operator, text)
    known = arguments_of(operator)
    if "preview" in known:
        text = _WITHOUT_EXECUTE.sub("with preview=True", text)
    if "source_options" in known:
        text = _SOURCE_OPTION.sub(_as_source_option, text)
    if "hudi_options" in known:
        text = _OPTION.sub(r'hudi_options={"\g<key>": "\g<value>"}', text)
    text = _FLAG_IN_TEXT.sub(lambda found: _quoted(_as_argument(found, known)), text)
    return _SAME_TWICE.sub(r"\2", text)


def with_argument_names(result: JobResult, operator: type) -> JobResult:
    """Return the result with names of operators and arguments in its warnings."""
    return replace(result, warnings=tuple(with_arguments(each, operator) for each in result.warnings))


@cache
def arguments_of(operator: type) -> frozenset[str]:
    """Return the names of the arguments that this package adds to an operator."""
    kinds = [kind for kind in operator.__mro__ if kind.__module__.startswith(f"{_PACKAGE}.")]
    return frozenset(
        name
        for kind in kinds
        for name in inspect.signature(kind).parameters
        if name not in ("args", "kwargs")
    )


@cache
def operators_by_script() -> dict[str, type]:
    """Map the file name of each script to the operator that runs it."""
    package = importlib.import_module(f"{_PACKAGE}.operators")
    found: dict[str, type] = {}
    for each in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{each.name}")
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "script"):
                found[kind.script] = kind
    return found


def _as_operator(found: re.Match[str]) -> str:
    operator = operators_by_script().get(found["script"])
    if operator is None:
        return found[0]
    known = arguments_of(operator)
    arguments = []
    for flag in _FLAG_OF_COMMAND.finditer(found["flags"]):
        if f"{flag['name']} {flag['value']}" == "base-path TABLE":
            continue  # a placeholder for the path of the table
        argument = _as_argument(flag, known)
        if argument.startswith("--"):
            return found[0]
        arguments.append(argument)
    return f"{operator.__name__}({', '.join(arguments)})" if arguments else operator.__name__


def _as_argument(flag: re.Match[str], known: frozenset[str]) -> str:
    name = flag["name"].replace("-", "_")
    name = _OTHER_NAMES.get(name, name)
    if name.partition("=")[0] not in known:
        return flag[0]
    return f'{name}="{flag["value"]}"' if flag["value"] else name


def _quoted(argument: str) -> str:
    return f"`{argument}`" if argument.isidentifier() else argument


def _as_source_option(found: re.Match[str]) -> str:
    if value := found["quoted"] or found["value"]:
        return f'source_options={{"{found["name"]}": "{value}"}}'
    return f"{found['name']} in source_options"
