"""Return environment variables with which Spark starts quickly in a short local job.

The variables are used in place of a folder of settings (``SPARK_CONF_DIR``), because such a folder is part of the class
path, and an archive of classes is valid only for the class path with which it was created.
"""

import os
from collections.abc import Mapping

CLASS_ARCHIVE = "SPARK_CLASS_ARCHIVE"
"""Optional variable: the path of the archive that ``scripts/ensure_spark_archive.sh`` creates."""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # In a short job, generated code costs more time than it saves.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
"""Spark settings for short jobs on one machine."""


def jvm_flags() -> str:
    """Return flags for a driver: one JIT compiler, the serial collector and, if it exists, the archive of classes.

    The second JIT compiler would cost more time than it saves, and the serial collector needs only one thread.
    """
    archive = os.environ.get(CLASS_ARCHIVE)
    return "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" + (
        f" -XX:SharedArchiveFile={archive}" if archive else ""
    )


def quick_start(settings: Mapping[str, str], *, memory: str = "1g") -> dict[str, str]:
    """Return the environment variables for ``spark-submit`` and for scripts that start Spark themselves.

    Args:
        settings: Spark settings in addition to `SETTINGS`. ``spark.master`` is the default for jobs without a master.
        memory: heap of the driver, for example ``1g``.
    """
    given = {**SETTINGS, **settings}
    master = given.pop("spark.master", "")
    # spark-submit reads these two variables before it starts the JVM, so system properties would be too late.
    early = {"SPARK_DRIVER_MEMORY": memory, **({"MASTER": master} if master else {})}
    properties = " ".join(f'"-D{name}={value}"' for name, value in given.items())
    return {"SPARK_SUBMIT_OPTS": f"{jvm_flags()} {properties}", **early}
