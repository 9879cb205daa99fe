"""Prepare the inputs of all scenarios as parquet files before any measurement."""

import json
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.checksum import NOTHING, Content, content_of_batch
from bench.scenarios import (
    BATCH_COUNT,
    BATCH_ROWS,
    FILE_NUMBER,
    LINEITEM,
    MILLION,
    MILLION_ROWS,
    SHIP_YEAR,
    SMALL_FILE_COUNT,
    SMALL_FILE_ROWS,
    SMALL_FILES,
    Scenario,
    batch_name,
    update_name,
)

LAYOUT = 3  # raise this number when inputs change, so that inputs on disk are created again
_FILES_OF_LARGE_INPUTS = 4
_ROW_GROUP_ROWS = 250_000
_NEW_KEY_OFFSET = 1_000_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One prepared input: the content of its rows, and of the rows in the base table that this input replaces."""

    written: Content
    replaced: Content = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All prepared inputs of one scale factor."""

    folder: Path
    columns: tuple[str, ...]
    by_name: dict[str, Input]

    def path(self, name: str) -> Path:
        """Return the folder with the parquet files of an input."""
        return self.folder / name

    def expected(self, scenario: Scenario) -> Content:
        """Return the expected content of the table after the scenario."""
        content = self.by_name[LINEITEM].written if scenario.on_base else NOTHING
        for name in scenario.inputs:
            content = content + self.by_name[name].written - self.by_name[name].replaced
        return content


def prepare_inputs(folder: Path, scale: float, tpchgen: str) -> Inputs:
    """Create the inputs, or use the inputs on disk if they are complete.

    Args:
        folder: folder of the inputs. The function empties the folder if inputs are missing or their layout is old.
        scale: TPC-H scale factor; 1 is 6.0 million rows.
        tpchgen: the ``tpchgen-cli`` command.
    """
    manifest = folder / "manifest.json"
    if manifest.exists() and json.loads(manifest.read_text())["layout"] == LAYOUT:
        return _read_manifest(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = _make_inputs(folder, _generate(folder, scale, tpchgen))
    _write_manifest(manifest, made)
    return made


def _generate(folder: Path, scale: float, tpchgen: str) -> pa.Table:
    """Generate lineitem with the year of shipping, as one Arrow table."""
    command = [tpchgen, "parquet", "-s", f"{scale:g}", "--tables", "lineitem", "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    source = folder / "lineitem.parquet"
    table = pq.read_table(source)
    source.unlink()
    plain = [
        pa.field(field.name, pa.string() if pa.types.is_string_view(field.type) else field.type)
        for field in table.schema
    ]
    table = table.cast(pa.schema(plain))
    return table.append_column(SHIP_YEAR, pc.year(table["l_shipdate"]).cast(pa.int32()))


def _make_inputs(folder: Path, lineitem: pa.Table) -> Inputs:
    columns = tuple(name for name in lineitem.column_names if name != SHIP_YEAR)
    total = lineitem.num_rows
    shuffled = np.random.default_rng(1992).permutation(total)
    made: dict[str, Input] = {}

    def keep(name: str, table: pa.Table, replaced: pa.Table | None = None) -> None:
        _write(folder / name, table)
        made[name] = Input(
            written=_content(table, columns),
            replaced=_content(replaced, columns) if replaced is not None else NOTHING,
        )

    def rows(start: int, stop: int) -> pa.Table:
        return lineitem.take(pa.array(np.sort(shuffled[start:stop])))

    keep(LINEITEM, lineitem)
    before = rows(0, total // 20)
    keep("changed_and_new", pa.concat_tables([_changed(before), _new(rows(0, total // 100))]), before)
    before = rows(0, min(BATCH_ROWS, total // 40))
    keep("everywhere", _changed(before), before)
    batch_rows = min(BATCH_ROWS, total // (2 * BATCH_COUNT))
    for number in range(BATCH_COUNT):
        batch = rows(number * batch_rows, (number + 1) * batch_rows)
        keep(batch_name(number), batch)
        keep(update_name(number), _changed(batch), batch)
    keep("warm_up", rows(0, 20_000))
    keep("warm_up_changed", _changed(rows(0, 5_000)), rows(0, 5_000))
    keep(SMALL_FILES, _numbered(lineitem))
    keep(MILLION, lineitem.slice(0, min(MILLION_ROWS, total)))
    return Inputs(folder=folder, columns=columns, by_name=made)


def _changed(table: pa.Table) -> pa.Table:
    """Return rows with unchanged keys and changed values: the quantity is one higher, and the comment is different."""
    quantity = pc.add(table["l_quantity"], pa.scalar(1, pa.int32())).cast(
        table.schema.field("l_quantity").type
    )
    comment = pc.binary_join_element_wise("changed", table["l_comment"], " ")
    table = table.set_column(table.column_names.index("l_quantity"), "l_quantity", quantity)
    return table.set_column(table.column_names.index("l_comment"), "l_comment", comment)


def _new(table: pa.Table) -> pa.Table:
    """Return rows with keys that no generated row has."""
    keys = pc.add(table["l_orderkey"], _NEW_KEY_OFFSET)
    return table.set_column(table.column_names.index("l_orderkey"), "l_orderkey", keys)


def _numbered(lineitem: pa.Table) -> pa.Table:
    """Return the first rows with file numbers. Each number has 1,800 rows, or fewer if the data is small."""
    rows_per_file = min(SMALL_FILE_ROWS, lineitem.num_rows // SMALL_FILE_COUNT)
    table = lineitem.slice(0, rows_per_file * SMALL_FILE_COUNT)
    numbers = pa.array(np.arange(table.num_rows, dtype=np.int32) // rows_per_file)
    return table.append_column(FILE_NUMBER, numbers)


def _write(folder: Path, table: pa.Table) -> None:
    folder.mkdir()
    step = -(-table.num_rows // (_FILES_OF_LARGE_INPUTS if table.num_rows > _ROW_GROUP_ROWS else 1))
    for number, start in enumerate(range(0, table.num_rows, step)):
        pq.write_table(
            table.slice(start, step),
            folder / f"part-{number}.parquet",
            compression="zstd",
            row_group_size=_ROW_GROUP_ROWS,
        )


def _content(table: pa.Table, columns: tuple[str, ...]) -> Content:
    total = NOTHING
    for batch in table.to_batches(max_chunksize=1 << 17):
        total += content_of_batch(batch, columns)
    return total


def _write_manifest(path: Path, inputs: Inputs) -> None:
    described = {name: asdict(item) for name, item in inputs.by_name.items()}
    path.write_text(json.dumps({"layout": LAYOUT, "columns": inputs.columns, "inputs": described}, indent=1))


def _read_manifest(folder: Path) -> Inputs:
    document = json.loads((folder / "manifest.json").read_text())
    by_name = {
        name: Input(written=Content(**item["written"]), replaced=Content(**item["replaced"]))
        for name, item in document["inputs"].items()
    }
    return Inputs(folder=folder, columns=tuple(document["columns"]), by_name=by_name)
