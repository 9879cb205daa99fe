"""Chains of tables whose targets count how often each row was loaded. A change that is loaded twice is visible."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs import change_loads, change_source
from hudi_table_services.jobs.writing import upsert as upserts
from hudi_table_services.reading import changed_groups, read_changes
from hudi_table_services.reading.read_table import read_table
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from support.spark.log_tables import LogTable, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Open = Callable[..., Storage]
Group = tuple[Any, ...]
STAGED = "/.aux/staging/"
POSITION = "airflow.change_position."
_OPENING = (change_loads, change_source, upserts, changed_groups, read_changes)
"""The modules in which a load opens the storage of its source or of its target."""


def windows(target: LogTable, chain: str = "") -> list[tuple[str, str]]:
    """Begin and end of the window of each load of a chain, in the order of the commits.

    Args:
        chain: empty if the target has only one chain.
    """
    store = target.timeline_store
    found = []
    for instant in sorted(store.load().completed_writes, key=lambda each: each.visible_from):
        extra = store.commit_metadata(instant).extra_metadata
        ends = [v for k, v in extra.items() if POSITION in k and k.endswith(chain)]
        if ends:
            # The request id of a load ends with its position and a hash.
            found.append((extra["airflow.request_id"].split("/")[-2], ends[0]))
    return found


def assert_windows_join(target: LogTable, source: LogTable, chain: str = "") -> None:
    """Check that each load began at the end of the load before, and that the last load read the newest commit."""
    found = windows(target, chain)
    assert [begin for begin, _ in found] == ["earliest", *(end for _, end in found[:-1])]
    newest = max(each.visible_from for each in source.timeline_store.load().completed_writes)
    assert found[-1][1] == newest


@contextmanager
def job_parts(opened: Open = open_storage, clock: Clock | None = None) -> Iterator[None]:
    """Let the loads of this context open their storages with the function `opened`, and write with the clock."""
    with pytest.MonkeyPatch.context() as patch:
        for module in _OPENING:
            patch.setattr(module, "open_storage", opened)
        patch.setattr(change_loads, "upsert", partial(upserts.upsert, clock=clock))
        yield


@dataclass(frozen=True)
class CountedChain:
    """A source, and a target in which the column `loads` is the number of loads that wrote the row.

    The query of a load reads the column from the target, and adds one. The target has no ordering field, so a load
    that writes older values is visible, too.

    Attributes:
        is_grouped: whether the loads have the mode changed_groups. The target then contains one row for each value of
            v in each partition: the number of rows and the sum of ts.
        loads: the expected column `loads` after the loads so far, for the key of each row.
        loaded: the rows of the source that the loads so far have read.
    """

    spark: "SparkSession"
    source: LogTable
    target: LogTable
    is_grouped: bool = False
    chain: str = "counted"
    loads: dict[Group, int] = field(default_factory=dict)
    loaded: Sequence[Row] = ()

    def load(self, request_id: str = "", **fields: Any) -> JobResult:
        """Load the changes. `fields` are further fields of the source."""
        named = {"request_id": request_id} if request_id else {}
        request = UpsertRequest(
            base_path=str(self.target.base_path),
            table_name="t",
            record_key=("v", "p") if self.is_grouped else ("k",),
            partition_by=("p",),
            options=self.target.options,
            **named,
        )
        given = {"base_path": str(self.source.base_path), "chain": self.chain}
        job = change_loads.load_changed_groups if self.is_grouped else change_loads.load_changes
        return job(self.spark, request, change_loads.ChangeSource(**given, **fields), self._converted)

    def _converted(self, rows: "DataFrame") -> "DataFrame":
        if self.is_grouped:
            keys = ["v", "p"]
            rows = rows.groupBy(*keys).agg({"ts": "sum", "*": "count"})
            rows = rows.selectExpr(*keys, "`count(1)` AS n", "`sum(ts)` AS total")
        else:
            keys = ["k"]
            rows = rows.selectExpr("k", "ts", "p", "upper(v) AS v")
        if not (self.target.base_path / ".hoodie" / "hoodie.properties").exists():
            return rows.selectExpr("*", "1L AS loads")
        before = read_table(self.spark, str(self.target.base_path), columns=[*keys, "loads"])
        before = before.select(*keys, before["loads"].alias("loaded"))
        return (
            rows.join(before, keys, "left")
            .selectExpr("*", "coalesce(loaded, 0L) + 1L AS loads")
            .drop("loaded")
        )

    def group_of(self, row: Row) -> Group:
        return (row[3], row[2]) if self.is_grouped else (row[0],)

    def after_load(self, found: Sequence[Row] | None = None) -> "CountedChain":
        """Return the chain with the expectation after one load of all changes since the last load.

        Args:
            found: the rows of the source at the end of this load, by default the present rows.
        """
        found = self.source.rows() if found is None else found
        changed = {self.group_of(row) for row in set(found) ^ set(self.loaded)}
        loads = {g: self.loads.get(g, 0) + (g in changed) for g in map(self.group_of, found)}
        return replace(self, loads=loads, loaded=found)

    def expected(self) -> list[Row]:
        """The full computation of the target from the loaded rows, with the expected number of loads."""
        if not self.is_grouped:
            return sorted(
                (k, ts, p, v.upper(), self.loads[self.group_of((k, ts, p, v))]) for k, ts, p, v in self.loaded
            )
        groups: dict[Group, list[int]] = {}
        for row in self.loaded:
            groups.setdefault(self.group_of(row), []).append(row[1])
        return sorted((*group, len(ts), sum(ts), self.loads[group]) for group, ts in groups.items())

    def rows(self) -> list[Row]:
        """The rows of the target, including duplicates; hudi-rs reads them."""
        from judges.hudi_rs import read_snapshot

        names = ("v", "p", "n", "total", "loads") if self.is_grouped else ("k", "ts", "p", "v", "loads")
        return sorted(
            tuple(row[name] for name in names) for row in read_snapshot(self.target.base_path).to_pylist()
        )

    @property
    def base_path(self) -> Path:
        return self.target.base_path

    def copied_to(self, base_path: Path) -> "CountedChain":
        """The same chain with a copy of the target."""
        shutil.copytree(self.target.base_path, base_path)
        return replace(self, target=replace(self.target, base_path=base_path))

    def check_complete(self, where: str = "", *, may_have_staged: bool = False) -> None:
        """Check that the target equals the full computation, and that another load finds nothing to load.

        Args:
            may_have_staged: whether the target may contain staged rows of an earlier load that died. Other requests
                remove these rows only after a day.
        """
        assert self.rows() == self.expected(), where
        assert_windows_join(self.target, self.source, self.chain)
        assert self.load().outcome is Outcome.NOTHING_TO_DO, where
        assert not self.target.timeline_store.load().pending, where
        left = {path for path in self.target.leftovers() if not (may_have_staged and STAGED in path)}
        assert not left, f"{left} {where}"
