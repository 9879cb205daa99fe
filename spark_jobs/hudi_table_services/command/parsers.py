"""Build the parsers of the sub-commands from the records of the scripts and views."""

import argparse
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hudi_table_services.command.view_commands import VIEWS, ViewCommand, add_view_flags
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.flag_parser import RequestParser
from hudi_table_services.services.registry import SERVICES
from hudi_table_services.services.service import Script

PROGRAM = "hudi-services"
SHOW = "show"
COMPLETION = "completion"
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
JOBS = {script.command_name: script for service in SERVICES for script in service.scripts}
"""Maps the name of each sub-command that runs a job to its script."""

_DISTRIBUTION = "airflow-provider-hudi"
_TABLE_HELP = "base path of the table: a folder, or a URI such as s3://lake/flights"


def job_parser(script: Script[JobRequest]) -> argparse.ArgumentParser:
    """Create the parser of a sub-command that runs a job: TABLE, the flags of the script, and the output flags."""
    program = f"{PROGRAM} {script.command_name}"
    examples = script.examples.replace("{program} --base-path", program).replace("{program}", program)
    parser = script.parser(program, examples)
    _add_table(parser)
    return parser


def view_parser(view: ViewCommand) -> argparse.ArgumentParser:
    """Create the parser of one view."""
    parser = RequestParser(
        prog=f"{PROGRAM} {SHOW} {view.name}",
        description=view.description,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
        flags_elsewhere=_flags_of_other_views(view),
    )
    _add_table(parser)
    add_view_flags(parser, view)
    return parser


def _flags_of_other_views(view: ViewCommand) -> dict[str, str]:
    """Map each flag that only other views have to a sentence that names the view."""
    found: dict[str, str] = {}
    for other in VIEWS:
        parser = argparse.ArgumentParser(add_help=False)
        other.add_flags(parser)
        for action in parser._actions:
            for flag in action.option_strings:
                found[flag] = f"`{PROGRAM} {SHOW} {other.name}` has the flag {flag}: {action.help}."
    own = argparse.ArgumentParser(add_help=False)
    view.add_flags(own)
    return {flag: advice for flag, advice in found.items() if flag not in own._option_string_actions}


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", nargs="?", metavar="TABLE", help=_TABLE_HELP)
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", dest="as_json", help="print JSON, which a pipe gets by default")
    add("--verbose", action="store_true", help="print the log instead of a progress bar")
    add("--wide", action="store_true", help="print each row of a table on one line, however long the line is")


def output_flags(flags: argparse.Namespace) -> dict[str, Any]:
    """Remove the output flags from the parsed flags, and return them as arguments of `CommandPresentation`."""
    return {name: vars(flags).pop(name, False) for name in ("as_json", "verbose", "wide")}


def with_table(flags: argparse.Namespace) -> argparse.Namespace:
    """Store TABLE under the name of `--base-path`.

    `show commit` accepts TABLE and INSTANT in any order, and with `--base-path` it accepts INSTANT alone.
    """
    values = vars(flags)
    if "table" not in values:
        return flags
    table = values.pop("table")
    if "instants" in values and _is_instant(table):
        raise InvalidRequestError(
            f"{table} is an instant time, not a table.",
            hint=f"Repeat the flag for each instant: --instant {table}.",
        )
    if "instant" in values and _is_instant(table) and not _is_instant(values["instant"]):
        table, values["instant"] = values["instant"], table
    if "base_path" in values:
        if _is_instant(table) and "instant" not in values:
            values["instant"] = table
            return flags
        raise InvalidRequestError("The table is given twice: as TABLE and with --base-path.")
    values["base_path"] = table
    return flags


def _is_instant(word: str) -> bool:
    return word.isascii() and word.isdecimal() and 14 <= len(word) <= 20


def whole_parser() -> argparse.ArgumentParser:
    """Create the parser of all sub-commands, for the help and for completions."""
    parser = RequestParser(
        prog=PROGRAM,
        description="Write, maintain and show Apache Hudi tables.",
        epilog=f"`{PROGRAM} COMMAND --help` describes a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {_version()}")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=_CREATED_BY
    )
    for name, script in JOBS.items():
        _add(commands, name, script.description, partial(job_parser, script))
    shown = _add(commands, SHOW, f"Show a table: {', '.join(view.name for view in VIEWS)}.", _show_parser)
    views = shown.add_subparsers(title="views", dest="view", metavar="VIEW", parser_class=_CREATED_BY)
    for view in VIEWS:
        _add(views, view.name, view.description, partial(view_parser, view))
    _add(commands, COMPLETION, "Print the code that switches completion on in a shell.", _completion_parser)
    return parser


def _created_by(create: Callable[[], argparse.ArgumentParser], prog: str) -> argparse.ArgumentParser:
    """Create a sub-parser. Argparse calls this function instead of a parser class; `create` sets the program name."""
    return create()


_CREATED_BY: Any = _created_by


def _add(commands: Any, name: str, description: str, create: Callable[[], Any]) -> argparse.ArgumentParser:
    first_sentence = description.partition(". ")[0].rstrip(".")
    added: argparse.ArgumentParser = commands.add_parser(name, help=first_sentence, create=create)
    return added


def _show_parser() -> argparse.ArgumentParser:
    return RequestParser(
        prog=f"{PROGRAM} {SHOW}", description="Show a table, without Spark.", allow_abbrev=False
    )


def _completion_parser() -> argparse.ArgumentParser:
    parser = RequestParser(
        prog=f"{PROGRAM} {COMPLETION}",
        description="Print the code that switches completion on in a shell.",
        epilog=f'In bash: eval "$({PROGRAM} {COMPLETION} bash)"',
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    return parser


def _version() -> str:
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return "(not installed)"
