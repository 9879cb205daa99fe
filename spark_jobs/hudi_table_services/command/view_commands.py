"""Define the sub-commands of `hudi-services show`: their flags, and the function that reads each view."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hudi_table_services.command.view_summaries import SHOWN_ROWS
from hudi_table_services.contract.request import check_instants
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.flags import PairsAction
from hudi_table_services.storage.stores.storage import Storage

Flags = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCommand:
    """One view.

    Attributes:
        name: name of the view, the word after ``show``.
        description: help text.
        read: reads the view from the storage of the table; the second argument contains the given flags.
        add_flags: adds the flags that only this view has.
    """

    name: str
    description: str
    read: Callable[[Storage, Flags], object]
    add_flags: Callable[[argparse.ArgumentParser], object] = lambda parser: None


def add_view_flags(parser: argparse.ArgumentParser, view: ViewCommand) -> None:
    """Add the flags that all views have, then the flags of the view."""
    parser.add_argument("--base-path", metavar="URI", help="the same as TABLE")
    parser.add_argument(
        "--storage-option",
        action=PairsAction,
        dest="storage_options",
        metavar="K=V",
        help="option of the object store; repeatable. Other users can see the flags of a process, so pass secrets in "
        "the environment",
    )
    view.add_flags(parser)


def _limit(text: str) -> int:
    if not text.isdecimal() or text == "0":
        raise InvalidRequestError(
            f"--limit is {text!r}, not a whole number above 0.", hint="Give a number such as 20."
        )
    return int(text)


def _add_timeline_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=_limit, metavar="N", help=f"largest number of instants; default: {SHOWN_ROWS}"
    )


def _add_files_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partition",
        action="append",
        dest="partitions",
        metavar="PATH",
        help="only the files of this partition path; repeatable",
    )


def _add_commit_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("instant", nargs="?", metavar="INSTANT", help="requested time of the instant")


def _table(storage: Storage, flags: Flags) -> object:
    from hudi_table_services.tables.views.table_state import read_table_state

    return read_table_state(storage)


def _timeline(storage: Storage, flags: Flags) -> object:
    from hudi_table_services.tables.views.timeline_listing import read_timeline

    return read_timeline(storage, flags.get("limit", SHOWN_ROWS))


def _files(storage: Storage, flags: Flags) -> object:
    from hudi_table_services.tables.views.live_files import read_files

    return read_files(storage, flags.get("partitions", ()))


def _partitions(storage: Storage, flags: Flags) -> object:
    from hudi_table_services.tables.views.live_files import read_partitions

    return read_partitions(storage)


def _schema(storage: Storage, flags: Flags) -> object:
    from hudi_table_services.tables.views.current_schema import read_schema

    return read_schema(storage)


def _commit(storage: Storage, flags: Flags) -> object:
    from hudi_table_services.tables.views.commit_details import read_commit

    instant = flags.get("instant", "")
    if not instant:
        raise InvalidRequestError(
            "No instant is given.", hint="Add its requested time, which `show timeline` lists."
        )
    check_instants((instant,))
    return read_commit(storage, instant)


VIEWS: tuple[ViewCommand, ...] = (
    ViewCommand(
        name="table",
        description="Show name, version, key columns, files, the last write and the pending instants of a table.",
        read=_table,
    ),
    ViewCommand(
        name="timeline",
        description="Show the newest instants of the active timeline, newest first.",
        read=_timeline,
        add_flags=_add_timeline_flags,
    ),
    ViewCommand(
        name="files",
        description="Show the live files, with size, number of rows and the write that wrote them.",
        read=_files,
        add_flags=_add_files_flags,
    ),
    ViewCommand(
        name="partitions",
        description="Show the partitions, with files, small files, size, rows and last write.",
        read=_partitions,
    ),
    ViewCommand(
        name="schema",
        description="Show the columns after the newest write, with type and role.",
        read=_schema,
    ),
    ViewCommand(
        name="commit",
        description="Show one active or archived instant: rows, files and extra metadata; for a pending instant, the "
        "next step.",
        read=_commit,
        add_flags=_add_commit_flags,
    ),
)
"""All views, in the order of the help."""
