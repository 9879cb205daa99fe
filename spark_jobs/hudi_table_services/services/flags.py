"""What the command lines of all job scripts have in common."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError

EXIT_CODES = """
exit codes:
  0 done, previewed or nothing to do   64 the request cannot succeed   65 a corrupt table
  66 no table                          69 table not supported          70 Spark failed, or an unexpected error
  74 storage                           75 conflict: run it again       77 permission denied
The result document says more than the exit code.
"""
"""Last part of the help of service scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What the flags say: a request, or where its document is.

    Attributes:
        request: None if the flags name a document.
        request_uri: file or URI of the document; empty if the flags are the request.
        prints_request: print the request document and do nothing else.
    """

    request: JobRequest | None = None
    request_uri: str = ""
    prints_request: bool = False


def command_line_of(
    parser: argparse.ArgumentParser,
    build: Callable[[dict[str, object]], JobRequest],
    arguments: Sequence[str] | None,
) -> CommandLine:
    """Read the flags; ``--help`` prints and exits.

    Args:
        build: makes the request of the flags that were given.
        arguments: without the program's name; None: those of the process.

    Raises:
        InvalidRequestError: a flag is unknown, lacks its value or contradicts another.
    """
    flags = vars(parser.parse_args(arguments))
    prints_request = bool(flags.pop("print_request", False))
    request_uri = flags.pop("request", None)
    if request_uri is None:
        return CommandLine(request=build(flags), prints_request=prints_request)
    if flags:
        names = ", ".join("--" + name.replace("_", "-") for name in flags)
        raise InvalidRequestError(
            f"--request and {names} exclude each other.", hint="The document says all that flags can say."
        )
    return CommandLine(request_uri=request_uri, prints_request=prints_request)


def names_in(text: object) -> tuple[str, ...]:
    """Items between commas."""
    return tuple(part.strip() for part in str(text or "").split(",") if part.strip())


def pairs_in(flag: str, items: object) -> dict[str, str]:
    """Repeated ``key=value``. Messages name the key only: the value may be a secret."""
    pairs: dict[str, str] = {}
    for item in items if isinstance(items, list) else []:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise InvalidRequestError(f"{flag} {key!r} is not of the form key=value.")
        if pairs.setdefault(key, value) != value:
            raise InvalidRequestError(f"{flag} gives {key} twice, with different values.")
    return pairs


class RequestParser(argparse.ArgumentParser):
    """Errors end as every other error of a request does, not in an exit of argparse's own."""

    def error(self, message: str) -> NoReturn:
        raise InvalidRequestError(f"{message[:1].upper()}{message[1:]}.", hint="See --help.")


def new_parser(program: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """A parser that takes a request document instead of flags; flags not given leave no trace in its result."""
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
        help="print the request document that the flags stand for, storage options included, and end",
    )
    return parser


def add_table_flags(group: argparse._ArgumentGroup) -> None:
    """Which table."""
    group.add_argument("--base-path", metavar="URI", help="where the table is")
    group.add_argument("--table-name", metavar="NAME", help="checked against the table's name")


def common_fields(flags: dict[str, object]) -> dict[str, object]:
    """Fields of every request. Flags not given are absent, so that the defaults are those of the document."""
    texts: dict[str, object] = {
        name: flags[name] for name in ("table_name", "request_id", "result_path") if name in flags
    }
    pairs = {
        "options": pairs_in("--option", flags.get("option")),
        "storage_options": pairs_in("--storage-option", flags.get("storage_option")),
    }
    return {"base_path": flags.get("base_path", ""), **texts, **pairs}


def add_run_flags(group: argparse._ArgumentGroup) -> None:
    """Flags of every script."""
    add = group.add_argument
    add(
        "--option", action="append", metavar="hoodie.K=V", help="Hudi's own keys, docs/options.md; repeatable"
    )
    add(
        "--storage-option",
        action="append",
        metavar="K=V",
        help="option of the object store; repeatable. Others can see the flags of a process: keep secrets in the "
        "request document or the environment",
    )
    add(
        "--request-id",
        metavar="ID",
        help="the same id never acts twice; default: one that never comes again",
    )
    add("--result-path", metavar="FILE_OR_URI", help="where the result document goes")
