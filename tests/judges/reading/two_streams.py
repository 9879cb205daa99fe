"""A stream of real Hudi and a stream of this project that read the same table."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pyarrow as pa

from hudi_table_services.options.reading.stream_options import stream_request
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.reading.planned_reads import plan_read, rows_of_scan
from hudi_table_services.tables.reading.stream_positions import first_position, next_position
from judges.hudi_judge import HudiJudge
from judges.rows import KEY, assert_rows_equal, rows_by_key

FILE_NAME = "_hoodie_file_name"
"""The only column that is not compared. Tests of other reads do not compare it either."""

_NO_ROWS = pa.table({KEY: pa.array([], pa.string())})


class OurStream:
    """A stream of this project without Spark: it has the positions and the reads of `reading/stream_source.py`.

    Attributes:
        position: the end of the last batch.
    """

    def __init__(self, base_path: Path, options: Mapping[str, str]) -> None:
        self._storage = LocalStorage(str(base_path))
        self._request = stream_request(options)
        self.position = first_position(self._storage, self._request.start, self._request.holes)

    def read(self) -> list[pa.Table]:
        """Return the rows of each new batch, until the stream has read all commits."""
        request, batches = self._request, []
        while True:
            end = next_position(self._storage, self.position, request.limits, request.holes)
            if end == self.position:
                return batches
            scan = plan_read(self._storage, request.options_of(self.position, end))
            batches.append(pa.concat_tables([*rows_of_scan(self._storage, scan)] or [_NO_ROWS]))
            self.position = end


class TwoStreams:
    """Both streams. Each call of `compare` reads all new commits as one batch with each stream.

    Args:
        checkpoint: folder for the checkpoint of Hudi's stream.
        options: options of both streams.
    """

    def __init__(
        self, judge: HudiJudge, base_path: Path, checkpoint: Path, options: Mapping[str, str] | None = None
    ) -> None:
        self._judge, self._base_path, self._checkpoint = judge, base_path, checkpoint
        self._options = dict(options or {})
        self._ours = OurStream(base_path, self._options)

    @property
    def position(self) -> str:
        """The end of the last batch of both streams."""
        return self._ours.position

    def compare(self, keys: Collection[str], what: str) -> None:
        """Both streams return the rows of these keys, with equal values, and reach the same position.

        Args:
            what: the changes of the table since the last batch.
        """
        batches, positions = self._judge.stream(self._base_path, self._checkpoint, self._options)
        theirs, ours = _only(batches, what), _only(self._ours.read(), what)
        assert sorted(theirs[KEY].to_pylist()) == sorted(keys), f"Hudi, {what}"
        wanted = {
            key: {name: value for name, value in row.items() if name != FILE_NAME}
            for key, row in rows_by_key(theirs).items()
        }
        assert_rows_equal(ours, wanted, f"this project, {what}")
        # The name of the field is commitTime in Hudi 0.15, and offsetCommitTime in Hudi 1.2.
        assert list(positions[-1].values()) == [self.position], what


def _only(batches: list[pa.Table], what: str) -> pa.Table:
    assert len(batches) <= 1, f"{what}: a stream without limits returned {len(batches)} batches"
    return batches[0] if batches else _NO_ROWS
