"""Count the requests that loads send to an object store, for each file and for the driver."""

from pathlib import Path

from bench.scenarios import System
from bench.sessions import SessionOptions, open_session
from scale.calibration import Batch
from scale.load_values import Requests
from scale.stores import served
from scale.table_loads import TableLoads

FEW, MANY = 8, 32
"""Numbers of file groups of the two tables of each kind. The difference shows the requests for each file."""

_ROWS_OF_A_GROUP = 200
_FOOTER = 1.0
"""Requests to read one footer."""


def measured_requests(folder: Path) -> Requests:
    """Load batches of every kind into tables on the object store of this package, and return the requests.

    The loads are small, so that a file has few row groups and its writes need no multipart uploads. Larger files need
    more requests, one for about each 8 MiB.
    """
    session = open_session(System.OURS, SessionOptions(cores=2, local_folder=folder / "spark"))
    try:
        counted = {
            (batch, operation, groups): _requests(
                TableLoads(session, batch, groups, operation), folder / f"{batch.name}-{operation}-{groups}"
            )
            for groups in (FEW, MANY)
            for batch, operation in (*((each, "upsert") for each in Batch), (Batch.INSERTS, "insert"))
        }
    finally:
        session.stop()
    return requests_of(counted)


def requests_of(counted: "dict[tuple[Batch, str, int], int]") -> Requests:
    """Derive requests for each file from the requests of loads, by batch, operation and number of file groups."""

    def of_a_file(batch: Batch, operation: str = "upsert") -> float:
        more = counted[batch, operation, MANY] - counted[batch, operation, FEW]
        return more / (MANY - FEW)

    insert = of_a_file(Batch.INSERTS, "insert")
    search = of_a_file(Batch.INSERTS) - insert
    # The footers that the driver reads are part of all numbers.
    footer = min(insert, _FOOTER)
    return Requests(
        driver=counted[Batch.INSERTS, "insert", FEW] - FEW * insert,
        footer=footer,
        search=search,
        rewrite=of_a_file(Batch.UPDATES) - search - footer,
        insert=insert - footer,
        fill=of_a_file(Batch.SMALL_FILES) - search - footer,
        log=of_a_file(Batch.LOGS) - search - footer,
    )


def _requests(loads: TableLoads, table: Path) -> int:
    rows = loads.groups * _ROWS_OF_A_GROUP
    loads.create(str(table), rows)
    with served(table, 0.0) as place:
        before = place.counts().total()
        remote = TableLoads(loads.spark, loads.batch, loads.groups, loads.operation, place.storage_options)
        remote.load(place.uri, rows, rows // 4)
        return place.counts().total() - before
