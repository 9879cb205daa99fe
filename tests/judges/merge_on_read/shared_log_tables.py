"""Merge-on-read tables that the engine and real Hudi change alternately, and the readers that judge them."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.hudi_format.log_blocks import LogBlock, decode_blocks, encode_block
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.stores.storage import Storage
from judges import hudi_rs
from judges.hudi_judge import HudiJudge
from judges.oracle import Oracle
from judges.rows import ALL_TYPES, KEY, ORDERING, PARTITION, Model, Row, as_table, assert_rows_equal
from judges.table_files import instant_names
from support.spark.in_driver import DriverSession

READ_OPTIMIZED = {"hoodie.datasource.query.type": "read_optimized"}
DELETED = pa.field("_hoodie_is_deleted", pa.bool_())
_numbers = itertools.count(1)


@dataclass
class SharedTable:
    """A merge-on-read table with the columns of `schema`.

    Attributes:
        options: further options of our writes.
    """

    base_path: Path
    oracle: Oracle
    judge: HudiJudge
    schema: pa.Schema = ALL_TYPES
    options: Mapping[str, str] = field(default_factory=dict)

    def write(
        self,
        rows: Sequence[Row],
        operation: str = "upsert",
        *,
        options: Mapping[str, str] | None = None,
        storage: Storage | None = None,
        request_id: str | None = None,
    ) -> JobResult:
        """Write with the engine, which runs its tasks in this process."""
        session = DriverSession()
        creation = {} if (self.base_path / ".hoodie").exists() else {"hoodie.metadata.enable": "false"}
        request = UpsertRequest(
            request_id=request_id or f"log-{next(_numbers)}",
            base_path=str(self.base_path),
            table_name="t",
            operation=operation,
            record_key=(KEY,),
            partition_by=(PARTITION,),
            ordering_field=ORDERING,
            options={
                "hoodie.table.type": "MERGE_ON_READ",
                "hoodie.write.table.version": str(self.oracle.table_version),
                **creation,
                **self.options,
                **(options or {}),
            },
        )
        frame = session.frame(as_table(rows, self.schema))
        return upsert(session, request, frame, storage=storage)  # type: ignore[arg-type]

    def hudi_writes(self, rows: Sequence[Row], operation: str = "upsert", **more: str) -> None:
        """Write with Hudi, without table services."""
        given = {
            "datasource__write__operation": operation,
            "datasource__write__table__type": "MERGE_ON_READ",
            "compact__inline": "false",
            **more,
        }
        options = self.oracle.options("t", **given)
        self.judge.write(self.base_path, as_table(rows, self.schema), options)

    def hudi_compacts(self, step: str = "run") -> None:
        """Schedule (``schedule``) or execute (``execute``) a compaction with Hudi, or both (``run``)."""
        self.judge.sql(
            f"call run_compaction(op => '{step}', path => '{self.base_path}', "
            "options => 'hoodie.compact.inline.max.delta.commits=1')",
            settings={**self.oracle.pins, "hoodie.metadata.enable": "false"},
        )

    def check(self, model: Model, who: str) -> None:
        """Hudi and hudi-rs read exactly the rows of the model."""
        assert_rows_equal(self.judge.read(self.base_path), model, f"{who}, {self.oracle}")
        assert_rows_equal(hudi_rs.read_snapshot(self.base_path), model, f"{who}, hudi-rs")

    def check_read_optimized(self, model: Model, who: str) -> None:
        """The read-optimised query of Hudi returns the rows of the model."""
        found = self.judge.read(self.base_path, READ_OPTIMIZED)
        assert_rows_equal(found, model, f"{who}, read-optimised, {self.oracle}")

    def log_paths(self) -> list[Path]:
        """All log files, the newest last."""
        found = self.base_path.glob("*/.*.log.*")
        return sorted((p for p in found if not p.name.endswith(".crc")), key=lambda p: p.stat().st_mtime_ns)

    def bounds(self) -> list[str]:
        """Bounds of incremental queries: requested times in version 6, completion times from version 8 on."""
        names = instant_names(self.base_path, ".deltacommit")
        return sorted(name.partition(".")[0].rpartition("_")[2] for name in names)

    def change_newest_log(self, change: Callable[[LogBlock], LogBlock]) -> None:
        """Change every block of the newest log file, as if a writer had broken a rule."""
        path = self.log_paths()[-1]
        blocks: Iterator[LogBlock] = decode_blocks(path.read_bytes(), skips_incomplete=False)
        path.write_bytes(b"".join(encode_block(change(block)) for block in blocks))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def without(model: Model, keys: Sequence[str]) -> Model:
    return {key: row for key, row in model.items() if key not in keys}


def with_header(key: int, value: str | None) -> Callable[[LogBlock], LogBlock]:
    """Function that sets a header of a block, or removes it."""

    def change(block: LogBlock) -> LogBlock:
        headers = {**block.headers, key: value or ""}
        if value is None:
            headers.pop(key)
        return replace(block, headers=headers)

    return change
