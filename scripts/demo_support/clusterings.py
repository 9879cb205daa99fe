"""Inspect a clustered table without the engine: hudi-rs reads the timeline, pyarrow reads value ranges and rows."""

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hudi import HudiTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineCheck:
    """How many commits lie between the clusterings, in the order of requested times.

    Attributes:
        commits_before: for each clustering, the commits since the previous clustering.
        commits_since: the commits since the last clustering.
    """

    clusterings: tuple[str, ...]
    commits_before: tuple[int, ...]
    commits_since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedFile:
    """One file, and the range of its values of the sort column. ``is_sorted`` is True if all rows are in order."""

    name: str
    size_bytes: int
    row_count: int
    low: Any
    high: Any
    is_sorted: bool

    def may_contain(self, value: Any) -> bool:
        return bool(self.row_count) and self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Files that together contain the rows of the table.

    Attributes:
        read_share: mean share of rows that a query for one value reads: rows in files whose range contains the value.
            The mean is taken over all values of the column.
    """

    column: str
    files: tuple[SortedFile, ...]
    read_share: float

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def row_count(self) -> int:
        return sum(file.row_count for file in self.files)

    def written_by(self, instants: Iterable[str]) -> list[SortedFile]:
        """Return the files of these instants, ordered by range."""
        wanted = frozenset(instants)
        return sorted((f for f in self.files if _instant(f.name) in wanted), key=lambda f: (f.low, f.high))


def timeline_check(table: Path) -> TimelineCheck:
    """Count the commits between the clusterings on the timeline."""
    timeline = HudiTable(str(table)).get_timeline()
    clusterings = sorted(
        i.timestamp for i in timeline.get_completed_replacecommits() if _is_clustering(timeline, i)
    )
    commits = [i.timestamp for i in timeline.get_completed_commits() if i.action == "commit"]
    places = [bisect_left(clusterings, time) for time in commits]
    counts = [places.count(number) for number in range(len(clusterings) + 1)]
    return TimelineCheck(
        clusterings=tuple(clusterings), commits_before=tuple(counts[:-1]), commits_since=counts[-1]
    )


def layout_now(table: Path, column: str) -> Layout:
    """Return the files that readers open."""
    slices = HudiTable(str(table)).get_file_slices()
    return _layout([table / one.base_file_relative_path() for one in slices], column)


def layout_as_loaded(table: Path, column: str) -> Layout:
    """Return the newest file of each file group that a load wrote. The demo cleans nothing, so these files exist."""
    clusterings = frozenset(timeline_check(table).clusterings)
    newest: dict[str, Path] = {}
    for path in sorted(table.rglob("*.parquet"), key=lambda path: _instant(path.name)):
        if _instant(path.name) not in clusterings:
            newest[path.name.split("_")[0]] = path
    return _layout(list(newest.values()), column)


def _layout(paths: Sequence[Path], column: str) -> Layout:
    values = {path: pq.read_table(path, columns=[column], partitioning=None)[column] for path in paths}
    files = tuple(_sorted_file(path, found) for path, found in values.items())
    return Layout(column=column, files=files, read_share=_read_share(files, values))


def _sorted_file(path: Path, values: pa.ChunkedArray) -> SortedFile:
    bounds = pc.min_max(values)
    return SortedFile(
        name=path.name,
        size_bytes=path.stat().st_size,
        row_count=len(values),
        low=bounds["min"].as_py(),
        high=bounds["max"].as_py(),
        is_sorted=bool(pc.all(pc.less_equal(values[:-1], values[1:])).as_py() is not False),
    )


def _read_share(files: Sequence[SortedFile], values: Mapping[Path, pa.ChunkedArray]) -> float:
    distinct = pc.unique(pa.chunked_array([c for each in values.values() for c in each.chunks])).to_pylist()
    rows = sum(file.row_count for file in files)
    read = sum(file.row_count for value in distinct for file in files if file.may_contain(value))
    return read / (rows * len(distinct)) if rows else 0.0


def _is_clustering(timeline: Any, instant: Any) -> bool:
    return json.loads(timeline.get_instant_metadata_in_json(instant)).get("operationType") == "CLUSTER"


def _instant(file_name: str) -> str:
    return file_name.rpartition("_")[2].removesuffix(".parquet")
