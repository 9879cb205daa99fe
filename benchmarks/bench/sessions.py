"""Open one Spark session in each measured process, with the same settings for every system except its jars."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench.profiling.samplers import session_settings
from bench.scenarios import System

HUDI_PACKAGE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
DELTA_PACKAGE = "io.delta:delta-spark_2.12:3.3.2"
ICEBERG_PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0"
HUDI_JARS_VARIABLE = "BENCH_HUDI_JARS"
DELTA_JARS_VARIABLE = "BENCH_DELTA_JARS"
ICEBERG_JARS_VARIABLE = "BENCH_ICEBERG_JARS"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Session settings that all systems share.

    Attributes:
        cores: worker threads of the local master.
        driver_memory: heap of the JVM, in Spark's notation (``4g``); Python workers use additional memory.
        local_folder: folder for shuffle files.
        profiler_jar: path of the jar of async-profiler; empty if the JVM is not sampled.
    """

    cores: int = 2
    driver_memory: str = "4g"
    local_folder: Path
    profiler_jar: str = ""


def open_session(system: System, options: SessionOptions) -> SparkSession:
    """Start the session of one system."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.master": f"local[{options.cores}]",
        "spark.app.name": f"bench-{system.value}",
        "spark.driver.memory": options.driver_memory,
        "spark.local.dir": str(options.local_folder),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.shuffle.partitions": "8",
    }
    builder = SparkSession.builder
    for key, value in {**settings, **session_settings(options.profiler_jar), **_settings_of(system)}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _settings_of(system: System) -> dict[str, str]:
    if system is System.HUDI:
        return {
            **_jars(HUDI_PACKAGE, HUDI_JARS_VARIABLE),
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }
    if system is System.DELTA:
        return {
            **_jars(DELTA_PACKAGE, DELTA_JARS_VARIABLE),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    if system is System.ICEBERG:
        return {
            **_jars(ICEBERG_PACKAGE, ICEBERG_JARS_VARIABLE),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        }
    return {}


def _jars(package: str, variable: str) -> dict[str, str]:
    """Use local jars (comma-separated) if the environment variable names them, else the package from Maven Central."""
    jars = os.environ.get(variable)
    return {"spark.jars": jars} if jars else {"spark.jars.packages": package}
