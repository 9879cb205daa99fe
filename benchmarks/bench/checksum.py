"""Count the rows of a set and compute their checksum, whatever the order of the rows and their distribution over files.

Checksums are additive: the checksum of a table after an upsert is the checksum before the upsert, minus the checksum
of the replaced rows, plus the checksum of the written rows. So the expected result is known without running a writer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

_DECIMAL_SCALE = 2
_MASK = (1 << 64) - 1
_WEIGHTS = np.random.default_rng(20130101).integers(1, 1 << 62, size=512, dtype=np.uint64) | np.uint64(1)
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Number of rows and their checksum, an integer modulo 2**64."""

    row_count: int = 0
    checksum: int = 0

    def __add__(self, other: "Content") -> "Content":
        return Content(
            row_count=self.row_count + other.row_count,
            checksum=(self.checksum + other.checksum) & _MASK,
        )

    def __sub__(self, other: "Content") -> "Content":
        return Content(
            row_count=self.row_count - other.row_count,
            checksum=(self.checksum - other.checksum) & _MASK,
        )


NOTHING = Content()


def content_of_files(files: Iterable[Path], columns: tuple[str, ...]) -> Content:
    """Return the content of parquet files in the given columns. Columns that writers add are ignored."""
    total = NOTHING
    for path in files:
        with pq.ParquetFile(path) as parquet:
            for batch in parquet.iter_batches(batch_size=1 << 17, columns=list(columns)):
                total += content_of_batch(batch, columns)
    return total


def content_of_batch(batch: pa.RecordBatch, columns: tuple[str, ...]) -> Content:
    """Return the content of one batch. The checksum depends on the order of ``columns``, not on that of the batch."""
    row_hashes: Hashes = np.zeros(batch.num_rows, dtype=np.uint64)
    for name, weight in zip(columns, _WEIGHTS, strict=False):
        row_hashes += _mixed(_column_words(batch.column(name)) * weight)
    return Content(
        row_count=batch.num_rows,
        checksum=int(_mixed(row_hashes).sum(dtype=np.uint64)),
    )


def _column_words(column: pa.Array) -> Hashes:
    """Return one 64-bit word per value. The benchmark data has no nulls, so a null raises an error."""
    if column.null_count:
        raise ValueError("A column contains nulls, but the source contains none.")
    if pa.types.is_decimal(column.type):
        return _unscaled_words(column)
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif not pa.types.is_integer(column.type):
        return _text_words(column.cast(pa.large_string()))
    words: Hashes = column.cast(pa.int64()).to_numpy(zero_copy_only=False).view(np.uint64)
    return words


def _unscaled_words(column: pa.Array) -> Hashes:
    """Cast the decimals to a common scale and return the low 64 bits of each number; prices need no more bits."""
    column = column.cast(pa.decimal128(38, _DECIMAL_SCALE))
    words = np.frombuffer(column.buffers()[1], dtype=np.uint64)
    return words[2 * column.offset : 2 * (column.offset + len(column)) : 2]


def _text_words(column: pa.LargeStringArray) -> Hashes:
    """Return a word per string: its length plus the sum of its bytes, each multiplied by a weight for its position."""
    buffers = column.buffers()
    offsets = np.frombuffer(buffers[1], dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(buffers[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets)
    places = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    products = data.astype(np.uint64) * _WEIGHTS[places % len(_WEIGHTS)]
    running = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(products, dtype=np.uint64)))
    starts = offsets - offsets[0]
    words: Hashes = running[starts[1:]] - running[starts[:-1]] + lengths.astype(np.uint64)
    return words


def _mixed(words: Hashes) -> Hashes:
    """Apply the finaliser of splitmix64, which spreads every bit of a word over all bits."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
