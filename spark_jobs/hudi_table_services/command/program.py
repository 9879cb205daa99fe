"""Run a command line: find the sub-command, read its flags and run the sub-command."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import argcomplete
from argcomplete.shell_integration import shellcode

from hudi_table_services.cli import missing_package, run_script
from hudi_table_services.command.output import discard_output, print_text
from hudi_table_services.command.parsers import (
    COMPLETION,
    JOBS,
    PROGRAM,
    SHOW,
    job_parser,
    output_flags,
    view_parser,
    whole_parser,
    with_table,
)
from hudi_table_services.command.presentation import CommandPresentation
from hudi_table_services.command.view_commands import VIEWS, ViewCommand
from hudi_table_services.command.view_summaries import SUMMARIES
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError, TableNotFoundError
from hudi_table_services.services.service import Script
from hudi_table_services.storage.nearby_tables import with_nearby_tables
from hudi_table_services.storage.stores.factory import open_storage

_INTERRUPTED_EXIT_CODE = 130
_UNEXPECTED_EXIT_CODE = 70


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Returns:
        The exit code. A job returns the exit code of its script; a view returns 0, or the exit code of its error.
    """
    argcomplete.autocomplete(whole_parser())  # ends the process if a shell asks for completions
    words = list(arguments)
    try:
        return _run(words)
    except HudiTableServiceError as error:
        CommandPresentation(_name_of(words)).show_error(error)
        return error.exit_code
    except BrokenPipeError:
        discard_output()
        return 0
    except KeyboardInterrupt:
        print(f"{PROGRAM} was interrupted.", file=sys.stderr)
        return _INTERRUPTED_EXIT_CODE
    except Exception:
        CommandPresentation(_name_of(words)).show_unexpected_error()
        return _UNEXPECTED_EXIT_CODE


def _name_of(words: list[str]) -> str:
    """Return the name of the sub-command, for messages."""
    match words:
        case [name, *_] if name in JOBS:
            return name
        case [name, view, *_] if name == SHOW:
            return f"{name} {view}"
    return PROGRAM


def _run(words: list[str]) -> int:
    match words:
        case [name, *rest] if name in JOBS:
            return _run_job(JOBS[name], rest)
        case [name, view, *rest] if name == SHOW and not view.startswith("-"):
            return _show(_find_view(view), rest)
        case [name, *_] if not name.startswith("-") and name not in (SHOW, COMPLETION):
            raise _unknown("command", name, (*JOBS, SHOW, COMPLETION))
    parser = whole_parser()
    given = parser.parse_args(words)
    if given.command != COMPLETION:
        parser.parse_args([*words, "--help"])
    print_text(shellcode([PROGRAM], shell=given.shell))
    return 0


def _find_view(name: str) -> ViewCommand:
    found = next((view for view in VIEWS if view.name == name), None)
    if found is None and ("/" in name or os.path.isdir(name)):
        hint = f"Did you mean: {PROGRAM} {SHOW} table {name}?"
        raise InvalidRequestError(f"There is no view {name!r}.", hint=hint)
    if found is None:
        raise _unknown("view", name, [view.name for view in VIEWS])
    return found


def _unknown(kind: str, name: str, known: Iterable[str]) -> InvalidRequestError:
    names = tuple(known)
    hint = did_you_mean(name, names, otherwise=f"Valid names: {', '.join(names)}.")
    return InvalidRequestError(f"There is no {kind} {name!r}.", hint=hint)


def _run_job(script: Script[JobRequest], arguments: Sequence[str]) -> int:
    parser = job_parser(script)
    flags = with_table(parser.parse_intermixed_args(arguments))
    presentation = CommandPresentation(script.command_name, table=_table_in(flags), **output_flags(flags))
    return run_script(script, lambda: script.command_line(parser, flags), presentation)


def _table_in(flags: argparse.Namespace) -> str:
    return str(vars(flags).get("base_path", ""))


def _show(view: ViewCommand, arguments: Sequence[str]) -> int:
    flags = with_table(view_parser(view).parse_intermixed_args(arguments))
    presentation = CommandPresentation(f"{SHOW} {view.name}", **output_flags(flags))
    presentation.start_logging()
    values = vars(flags)
    try:
        storage = open_storage(values.get("base_path", ""), values.get("storage_options"))
        shown: Any = view.read(storage, values)
    except TableNotFoundError as error:
        raise with_nearby_tables(error, values["base_path"], values.get("storage_options")) from error
    except ModuleNotFoundError as error:
        raise missing_package(error) from error
    if presentation.prints_json:
        print_text(json.dumps({"view": view.name, **asdict(shown)}, indent=2))
    else:
        presentation.print_summary(SUMMARIES[type(shown)](shown))
    return 0
