"""A Hive Metastore, a Trino server, real Hudi, and tables of this project that are synced to the metastore."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.catalog import sync_catalog
from hudi_table_services.jobs.writing.upsert import upsert
from judges.hudi_judge import HudiJudge
from readers.servers import Metastore, Sync, Trino

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSIONS = (6, 8, 9)

_COLUMNS = """
    id, cast(id * 10 as int) as delay, concat('UA', id) as carrier, cast(id % 3 + 1 as int) as month,
    timestamp'2026-01-02 03:04:05.678901' + make_interval(0, 0, 0, 0, 0, 0, id) as seen_at,
    date'2026-01-02' as day, cast(id as decimal(10, 2)) as price, array(id) as ids,
    named_struct('a', id, 'b', 'x') as inner_part
"""


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    """The Hive Metastore that all tests share."""
    server = Metastore(tmp_path_factory.mktemp("metastore"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sync(metastore: Metastore) -> Sync:
    """``sync(base_path, database=…, …)`` runs the catalog sync with the metastore."""

    def run(base_path: Path, options: Mapping[str, str] | None = None, **fields: object) -> JobResult:
        named = {f"hoodie.datasource.hive_sync.{key}": value for key, value in (options or {}).items()}
        request = SyncCatalogRequest(
            base_path=str(base_path),
            metastore_uris=metastore.uri,
            options=named,
            **fields,  # type: ignore[arg-type]
        )
        return sync_catalog(request)

    return run


@pytest.fixture(scope="session")
def flights(
    spark: "SparkSession", sync: Sync, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[int, Path]:
    """A table of each version, with two writes; the second one adds a column. The tables are ``lake.flights<version>``.

    Each table has 40 rows with the ids 0 to 39, and 30 of them have a value in the column ``extra``.
    """
    folder, made = tmp_path_factory.mktemp("lake"), {}
    for version in VERSIONS:
        base_path = folder / f"flights{version}"
        for first, last, more in ((0, 30, ""), (10, 40, ", if(id >= 0, 1.5D, null) as extra")):
            request = UpsertRequest(
                base_path=str(base_path),
                table_name=f"flights{version}",
                record_key=("id",),
                partition_by=("month",),
                options={"hoodie.write.table.version": str(version)},
            )
            rows = spark.sql(f"select {_COLUMNS}{more} from range({first}, {last})")
            assert upsert(spark, request, rows).outcome is Outcome.COMPLETED
        assert sync(base_path, database="lake").outcome is Outcome.COMPLETED
        made[version] = base_path
    return made


@pytest.fixture(scope="session")
def trino(metastore: Metastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """A Trino server with the Hudi connector, which reads the metastore and local files."""
    catalog = {"connector.name": "hudi", "hive.metastore.uri": metastore.uri, "fs.hadoop.enabled": "true"}
    server = Trino(tmp_path_factory.mktemp("trino"), catalog)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def hudi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HudiJudge]:
    """Real Hudi 1.2.0, which writes tables and syncs them to the metastore with its own tool."""
    judge = HudiJudge("1.2.0", tmp_path_factory.mktemp("hudi"))
    yield judge
    judge.stop()
