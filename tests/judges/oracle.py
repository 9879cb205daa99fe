"""The releases of Hudi that judge the engine, the table versions that they judge, and their write options."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from judges.rows import KEY, ORDERING, PARTITION
from support.depth import cases

RELEASES = ("0.15.0", "1.2.0")

_FEW_TASKS = {
    f"hoodie.{name}.parallelism": "2"
    for name in (
        *(f"{operation}.shuffle" for operation in ("upsert", "insert", "bulkinsert", "delete")),
        *(
            f"metadata.index.{index}"
            for index in ("bloom.filter", "column.stats", "partition.stats", "secondary")
        ),
        "archive.delete",
        "bloom.index",
        "clean",
        "cleaner",
        "clustering.group.read",
        "file.listing",
        "finalize.write",
        "global.index.reconcile",
        "global.simple.index",
        "markers.delete",
        "metadata.record.preparation",
        "rollback",
        "simple.index",
    )
}
"""Numbers of tasks of Hudi. With Hudi's defaults, up to 200, many jobs have hundreds of tasks for a few rows."""


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """One release of Hudi that uses one table version.

    Attributes:
        pins: settings that prevent Hudi 1.x from upgrading the table to a newer table version at its first write.
    """

    release: str
    table_version: int
    pins: Mapping[str, str] = field(init=False, hash=False)

    def __post_init__(self) -> None:
        is_old = self.release.startswith("0.")
        pins = {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": str(self.table_version)}
        object.__setattr__(self, "pins", {} if is_old else pins)

    def __str__(self) -> str:
        return f"hudi-{self.release}-v{self.table_version}"

    def options(self, table_name: str, *, is_partitioned: bool = True, **more: str) -> dict[str, str]:
        """Options of one Hudi write: no table services, no metadata table, two tasks.

        Args:
            table_name: ``hoodie.table.name``.
            is_partitioned: whether the table has the partition column.
            more: further options, written without ``hoodie.`` and with ``__`` instead of dots: ``index__type="BLOOM"``.
        """
        extra = {"hoodie." + name.replace("__", "."): value for name, value in more.items()}
        return {
            "hoodie.table.name": table_name,
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.datasource.write.recordkey.field": KEY,
            "hoodie.datasource.write.precombine.field": ORDERING,
            **partition_options(is_partitioned),
            "hoodie.metadata.enable": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.write.markers.type": "DIRECT",
            **_FEW_TASKS,
            **self.pins,
            **extra,
        }


def partition_options(is_partitioned: bool) -> dict[str, str]:
    """Key generator options of the tables in the conformance tests."""
    if is_partitioned:
        return {"hoodie.datasource.write.partitionpath.field": PARTITION}
    return {
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    }


V6_OLD = Oracle(release="0.15.0", table_version=6)
V6 = Oracle(release="1.2.0", table_version=6)
V8 = Oracle(release="1.2.0", table_version=8)
V9 = Oracle(release="1.2.0", table_version=9)
ORACLES = (V6_OLD, V6, V8, V9)
# The oldest and the newest pair of release and table version, for tests that need only two pairs.
EDGES = (V6_OLD, V9)
# `make test` uses only the pairs in EDGES, and `make test-all` uses every oracle.
SAMPLED_ORACLES = cases(ORACLES, EDGES)
# A test that takes long uses only one of the two pairs in `make test`. The tests of a module share the pairs evenly.
ONLY_OLDEST_SAMPLED = cases(EDGES, [V6_OLD])
ONLY_NEWEST_SAMPLED = cases(EDGES, [V9])
