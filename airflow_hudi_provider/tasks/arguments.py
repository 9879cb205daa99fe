"""Convert rendered arguments of tasks into the values of requests."""

import ast
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.tables.connection import TableLocation, locate_table
from airflow_hudi_provider.tasks.templates import is_filled_in_later
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.options.registry import find_option

_FLAGS = (
    *("all_failed", "check_source", "declare_asset", "deep", "deferrable", "dry_run_only", "emit_partitions"),
    *("ignore_trigger", "preview", "skip_unchanged", "take_turns"),
)
"""Attributes of operators that are true or false."""


def names_of(given: str | Sequence[str] | None, argument: str) -> tuple[str, ...]:
    """Read names from a sequence, or from a string in which commas separate the names.

    Args:
        argument: name of the argument, for the error.

    Raises:
        InvalidRequestError: the value is neither a string nor a sequence of strings.
    """
    if given is None or given == "":
        return ()
    names = given.split(",") if isinstance(given, str) else given
    if isinstance(names, Mapping) or not isinstance(names, Iterable):
        raise _no_names(argument, given)
    listed = tuple(names)
    if not all(isinstance(name, str) for name in listed):
        raise _no_names(argument, given)
    return tuple(name.strip() for name in listed)


def _no_names(argument: str, given: object) -> InvalidRequestError:
    return InvalidRequestError(f"{argument} must be a string or a list of strings, not {_short(given)}.")


def mapping_of(given: Mapping[str, Any] | None, argument: str) -> dict[str, str]:
    """Convert the values of a dictionary to strings as `text_of` does.

    Raises:
        InvalidRequestError: the value is not a dictionary.
    """
    if not isinstance(given or {}, Mapping):
        raise InvalidRequestError(
            f"{argument} must be a dictionary, not {_short(given)}.",
            hint=f'Write, for example, {argument}={{"header": "true"}}.'
            if argument == "source_options"
            else "",
        )
    return {key: text_of(value) for key, value in (given or {}).items()}


def string_of(given: str | None, argument: str) -> str | None:
    """Return the value. Raises InvalidRequestError if the value is neither a string nor None."""
    if given is not None and not isinstance(given, str):
        raise InvalidRequestError(f"{argument} must be a string, not {_short(given)}.")
    return given


def text_of(value: Any) -> str:
    """Convert a value to a string as Hudi does: ``True`` becomes ``true``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_of(hudi_options: Mapping[str, Any] | None, typed: Mapping[str, Any]) -> dict[str, str]:
    """Combine ``hudi_options`` with the keys that other arguments of the task set; convert all values to strings.

    Args:
        typed: maps each key to the value of its argument, or to None if the argument is not given.

    Raises:
        InvalidRequestError: an argument and its key have different values.
    """
    options = {key: text_of(value) for key, value in (hudi_options or {}).items()}
    for key, value in typed.items():
        if value is not None and options.setdefault(key, text_of(value)) != text_of(value):
            raise InvalidRequestError(
                f"An argument of the task sets {key} to {value}, but hudi_options sets it to {options[key]}.",
                hint="Give the argument or the key, not both.",
            )
    return options


def whole_number_of(name: str, value: int | str) -> int:
    """Parse a whole number; a template may have rendered the number as a string.

    Raises:
        InvalidRequestError: the value is not a whole number, or is below 0.
    """
    try:
        number = int(str(value).strip())
    except ValueError:
        raise InvalidRequestError(f"{name}={value!r} is not a whole number.") from None
    if number < 0:
        raise InvalidRequestError(f"{name}={value!r} is below 0.")
    return number


def check_choice(
    task_id: str,
    name: str,
    value: object,
    known: Sequence[str],
    *,
    is_templated: bool = False,
    normal: Callable[[str], str] = str,
) -> None:
    """Check an argument that accepts only certain words.

    Args:
        known: the words; an empty string permits an empty value.
        is_templated: whether Airflow renders the argument. If so, templates and outputs of other tasks are not checked.
        normal: converts the value before the comparison, such as `str.lower` if case does not matter.

    Raises:
        ValueError: the value is not one of the words. The message names the most similar word.
    """
    text = str(value)
    if (is_templated and is_filled_in_later(value)) or normal(text) in known:
        return
    words = [word for word in known if word]
    listed = f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
    raise ValueError(f"{task_id}: {name}={value!r} must be {listed}. {did_you_mean(text, words)}".strip())


def check_base_path(task_id: str, base_path: object, hudi_conn_id: object) -> None:
    """Check, when Airflow parses the DAG, a base path that contains no template and needs no connection.

    Raises:
        ValueError: the path is empty or relative. The message begins with the task's id.
    """
    if base_path is None or hudi_conn_id is not None or is_filled_in_later(base_path):
        return
    if not str(base_path).strip():
        raise ValueError(f"{task_id}: base_path is empty.")
    try:
        locate_table(str(base_path), None, None)
    except HudiTaskRefusedError as error:
        raise ValueError(f"{task_id}: {error}") from error


def instants_of(given: object, *, how_to_select_all: str = "") -> tuple[str, ...]:
    """Read instant times from an argument: the return value of another task, a list, one time, or a string.

    A rendered template is a string that contains times separated by commas, or a list or return value in JSON or Python
    notation. Return an empty tuple for a list or return value that contains no instant time.

    Args:
        how_to_select_all: a sentence for the error about an empty argument; empty if the operator cannot select all
            instants.

    Raises:
        InvalidRequestError: the argument is empty, or has an unknown form.
    """
    if isinstance(given, str) and given.strip()[:1] in ("[", "{", "("):
        given = _parsed(given.strip())
    if isinstance(given, int) and not isinstance(given, bool):  # the DAG renders templates as native objects
        given = str(given)
    if isinstance(given, Mapping):
        if "instants" not in given:
            raise InvalidRequestError(
                f"instant={_short(given)} is not the return value of a task that plans, because it has no key "
                "'instants'."
            )
        given = given["instants"]
    if given is None or (isinstance(given, str) and given.strip() in ("", "None", "null")):
        raise InvalidRequestError(
            "The argument 'instant' is empty after Airflow rendered its template. An empty value selects nothing.",
            hint=f"Check the template and the values to which it refers. {how_to_select_all}".strip(),
        )
    if isinstance(given, str):
        return tuple(name.strip() for name in given.split(",") if name.strip())
    if not isinstance(given, Sequence) or not all(isinstance(item, str | int) for item in given):
        raise InvalidRequestError(
            f"instant={_short(given)} is neither an instant time nor a list of instant times."
        )
    return tuple(str(item) for item in given)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise InvalidRequestError(f"instant={_short(text)} cannot be read.") from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


class JobTask(Protocol):
    """The part of an operator that `check_job_arguments` reads."""

    task_id: str
    hudi_options: Mapping[str, Any] | None

    def refuse_unknown_key(self, key: str) -> None:
        """Raise InvalidRequestError if the job does not know this key of ``hudi_options``."""

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> JobRequest:
        """Build the job's request from the arguments. Raises InvalidRequestError."""


def check_job_arguments(task: JobTask, *, is_complete: bool) -> None:
    """Reject unknown keys, wrong values and contradicting values.

    Args:
        is_complete: whether all arguments are known now. Arguments that contain a template are checked after rendering.

    Raises:
        ValueError: the message begins with the task's id.
    """
    options = task.hudi_options
    if not (is_filled_in_later(options) or isinstance(options or {}, Mapping)):
        raise ValueError(f"{task.task_id}: hudi_options must be a dictionary, not {options!r}.")
    for name in _FLAGS:
        value = getattr(task, name, False)
        if not isinstance(value, bool) and not is_filled_in_later(value):
            raise ValueError(
                f"{task.task_id}: {name.removesuffix('_only')} must be True or False, not {value!r}."
            )
    try:
        for key in options if isinstance(options, Mapping) else ():
            if find_option(key) is None:
                task.refuse_unknown_key(key)
        if is_complete:
            task.build_request(TableLocation(base_path="/"), "parse", "")
    except HudiTableServiceError as error:
        raise ValueError(f"{task.task_id}: {error}") from error
