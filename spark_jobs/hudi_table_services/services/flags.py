"""Define the flags that all job scripts share, and convert flags to a request."""

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.services.flag_names import naming_flags
from hudi_table_services.services.flag_parser import RequestParser

EXIT_CODES = """
exit codes:
  0 done, previewed or nothing to do   64 the request cannot succeed   65 a corrupt table
  66 no table                          69 table not supported          70 Spark failed, or an unexpected error
  74 storage                           75 conflict: run it again       77 permission denied
The result document contains the details.
"""
"""Last part of the help of service scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """Parsed flags: a request, or the location of a request document.

    Attributes:
        request: the request; None if the flags name a request document.
        request_uri: file or URI of the request document; empty if the flags themselves describe the request.
        prints_request: whether the script only prints the request document.
        remote: address of a Spark Connect server; empty if the environment decides.
        conf: Spark properties for the session of the job.
        flags: maps the field of each given flag to the flag.
    """

    request: JobRequest | None = None
    request_uri: str = ""
    prints_request: bool = False
    remote: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)

    def naming_flags(self, error: HudiTableServiceError) -> HudiTableServiceError:
        """Return the error with the names of the given flags; see `naming_flags`."""
        options = self.request.options if self.request is not None else {}
        return naming_flags(error, self.flags, options)


def command_line_of(
    parser: argparse.ArgumentParser,
    build: Callable[[dict[str, Any]], JobRequest],
    flags: dict[str, Any],
) -> CommandLine:
    """Convert parsed flags to a request.

    Args:
        parser: parser of the flags; messages spell each flag as the parser does.
        build: builds the request from a mapping, which maps field names to the values of the given flags.
        flags: values of the given flags; the function changes this mapping.

    Raises:
        InvalidRequestError: a flag contradicts another flag, or the request is invalid.
    """
    session: dict[str, Any] = {name: flags.pop(name) for name in ("remote", "conf") if name in flags}
    prints_request = bool(flags.pop("print_request", False))
    request_uri = flags.pop("request", None)
    given = {name: flag for name, flag in _spelling(parser).items() if name in flags}
    if request_uri is None:
        try:
            request = build(_with_tuples(flags))
        except HudiTableServiceError as error:
            raise naming_flags(error, given, flags.get("options", {})) from error
        return CommandLine(request=request, prints_request=prints_request, flags=given, **session)
    if flags:
        if any(action.dest == "table" for action in parser._actions):
            given["base_path"] = "TABLE (--base-path)"
        names = ", ".join(given[name] for name in flags)
        raise InvalidRequestError(
            f"--request and {names} cannot be combined.", hint="Put all values into the document."
        )
    return CommandLine(request_uri=request_uri, prints_request=prints_request, **session)


def refuse_missing_flags(
    parser: argparse.ArgumentParser,
    given: Collection[str],
    needed: Sequence[Sequence[str]],
    *,
    advice: str = "",
) -> None:
    """Refuse a command line that lacks at least two needed flags, and name all missing flags.

    If only one flag is missing, the error of the request gives more specific advice.

    Args:
        given: fields of the given flags.
        needed: fields of the needed flags; one field of each group must be given.
        advice: further advice about missing flags.

    Raises:
        InvalidRequestError: several flags are missing.
    """
    spelling = _spelling(parser)
    if any(action.dest == "table" for action in parser._actions):
        spelling["base_path"] += " (or TABLE)"
    missing = [
        _alternatives([spelling[name] for name in group])
        for group in needed
        if not any(name in given for name in group)
    ]
    if len(missing) > 1:
        raise InvalidRequestError(
            f"These flags are missing: {', '.join(missing)}.",
            hint=f"Give all of them; --help describes them. {advice}".strip(),
        )


def _alternatives(flags: Sequence[str]) -> str:
    """Return the first flag, followed by the others in parentheses."""
    return f"{flags[0]} (or {' or '.join(flags[1:])})" if len(flags) > 1 else flags[0]


def _spelling(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Map the field of each flag to the flag."""
    return {each.dest: each.option_strings[-1] for each in parser._actions if each.option_strings}


def _with_tuples(flags: dict[str, Any]) -> dict[str, Any]:
    """Convert the lists of repeated flags to tuples, the type of the request's fields."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in flags.items()}


def names_in(text: str) -> tuple[str, ...]:
    """Split a comma-separated string. Flags that accept several names have this function as their `type`."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


class PairsAction(argparse.Action):
    """A repeatable flag of the form ``key=value``. Messages name only the key, because the value may be a secret."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        flag = self.option_strings[-1]
        key, separator, value = str(values).partition("=")
        if not separator or not key:
            raise InvalidRequestError(
                f"{flag} {key!r} is not of the form key=value.", hint=f"Write {flag} {key or 'KEY'}=VALUE."
            )
        pairs: dict[str, str] = dict(getattr(namespace, self.dest, {}))
        if pairs.setdefault(key, value) != value:
            raise InvalidRequestError(
                f"{flag} gives the key {key!r} twice, with different values.", hint="Give the key only once."
            )
        setattr(namespace, self.dest, pairs)


def new_parser(program: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """Create a parser that also accepts a request document. The result of parsing lacks flags that are not given."""
    parser = RequestParser(
        prog=program,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--request", metavar="FILE_OR_URI", help="request document (JSON) instead of the flags below")
    add(
        "--print-request",
        action="store_true",
        help="only print the request document that the flags describe, including the storage options",
    )
    return parser


def table_group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Create a group of flags whose first flags describe the table."""
    group = parser.add_argument_group(title)
    group.add_argument("--base-path", metavar="URI", help="base path of the table")
    group.add_argument(
        "--table-name", metavar="NAME", help="name that the table must have; default: any name"
    )
    return group


def add_preview(group: argparse._ArgumentGroup, meaning: str) -> None:
    """Add `--preview`. With this flag, the job only reports the changes that it would make."""
    group.add_argument("--preview", action="store_true", help=meaning)


def add_instants(group: argparse._ArgumentGroup, meaning: str) -> None:
    """Add `--instant`, a repeatable flag for requested times."""
    group.add_argument("--instant", action="append", dest="instants", metavar="TIME", help=meaning)


def add_numbers(group: argparse._ArgumentGroup, meanings: dict[str, str]) -> None:
    """Add flags for whole numbers; `meanings` maps each field name to its meaning."""
    for name, meaning in meanings.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=meaning)


def add_run_flags(group: argparse._ArgumentGroup) -> None:
    """Add the flags that every script has."""
    add = group.add_argument
    add(
        "--option",
        action=PairsAction,
        dest="options",
        metavar="hoodie.K=V",
        help="option under Hudi's own key, see docs/options.md; repeatable",
    )
    add(
        "--storage-option",
        action=PairsAction,
        dest="storage_options",
        metavar="K=V",
        help="option of the object store; repeatable. Other users can see the flags of a process, so pass secrets in "
        "the request document or the environment",
    )
    add(
        "--request-id",
        metavar="ID",
        help="id of the request; a second request with the same id does nothing; default: a new id for each run",
    )
    add("--result-path", metavar="FILE_OR_URI", help="location of the result document")
    add(
        "--remote",
        metavar="sc://HOST:PORT",
        help="Spark Connect server that runs the Spark tasks of the job; default: the variable SPARK_REMOTE, else a "
        "local Spark. If the address contains a token, set the variable instead of this flag",
    )
    add(
        "--conf",
        action=PairsAction,
        metavar="spark.K=V",
        help="property of the Spark session if spark-submit does not run the script; repeatable",
    )
