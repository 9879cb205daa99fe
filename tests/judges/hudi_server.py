"""Real Apache Hudi in a helper process that reads one JSON request per line and writes one JSON answer per line.

This script runs in the judges' environment (PySpark 3.5), never in the environment under test. Its client is
``hudi_judge.py``. Starting Spark with a Hudi bundle takes tens of seconds, so a test session starts each
Hudi release once.

Requests contain paths of Parquet files with rows, so that every value keeps its exact type. All output of
Spark goes to standard error; standard output contains only answers.

Usage: ``hudi_server.py RELEASE WORK_FOLDER``. If the environment variable ``HUDI_BUNDLE_JAR`` is set, the
script uses that local file; if ``HUDI_CLASS_PATH`` is set, it contains the bundle. Otherwise Spark downloads
``org.apache.hudi:hudi-spark3.5-bundle_2.12:RELEASE``. ``HUDI_SPARK_SETTINGS`` contains further Spark settings as JSON.
"""

import glob
import json
import os
import shutil
import sys
import time
import traceback
from contextlib import contextmanager

BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12"

# With only the first JIT compiler and the serial garbage collector, Spark needs half the start time and memory.
JVM_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData"

# Hudi 0.15 reads deleted keys of a metadata table in threads of Java's common pool, where Avro does not find Hudi's
# classes if the bundle comes from `spark.jars` (apache/hudi issue 11697). Without threads in this pool, the thread of
# the Spark task does the work. Hudi 1.2.0 needs the threads.
JVM_FLAGS_OF = {"0.15.0": " -Djava.util.concurrent.ForkJoinPool.common.parallelism=0"}

SESSION = {
    "spark.driver.memory": "1500m",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # Scalar subqueries run one after the other. In Hudi 0.15, several subqueries use Java's common pool at the same
    # time. Without threads in this pool, Java 17 can then loop in `ForkJoinPool.helpComplete` for ever.
    "spark.sql.subquery.maxThreadThreshold": "1",
    "spark.default.parallelism": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def take_standard_output():
    """Reserve standard output for answers; redirect all other output, including the JVM's, to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def start_session(release, work_folder):
    """Start Spark with the Hudi bundle of ``release``."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName(f"hudi-{release}")
    flags = {"spark.driver.extraJavaOptions": JVM_FLAGS + JVM_FLAGS_OF.get(release, "")}
    more = json.loads(os.environ.get("HUDI_SPARK_SETTINGS") or "{}")
    for key, value in {**SESSION, **flags, **_bundle(release), **more}.items():
        builder = builder.config(key, value)
    spark = builder.config("spark.sql.warehouse.dir", os.path.join(work_folder, "warehouse")).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _bundle(release):
    """Return the Spark setting that adds the bundle of ``release``."""
    if class_path := os.environ.get("HUDI_CLASS_PATH"):
        return {"spark.driver.extraClassPath": class_path}
    if jar := os.environ.get("HUDI_BUNDLE_JAR"):
        return {"spark.jars": jar}
    return {"spark.jars.packages": f"{BUNDLE}:{release}"}


class Server:
    """One method for each command. A method receives the request's fields as arguments and returns a JSON value."""

    def __init__(self, spark, release):
        self.spark = spark
        self.release = release

    def ping(self):
        """Return the Hudi release, the Spark version and the process id."""
        return {"hudi": self.release, "spark": self.spark.version, "pid": os.getpid()}

    def write(self, source, base_path, options, mode="append", hadoop=None):
        """Write the rows of the Parquet file ``source``; ``hadoop`` settings apply to this write only."""
        with self._hadoop_settings(hadoop or {}):
            rows = self.spark.read.parquet(source)
            rows.write.format("hudi").options(**options).mode(mode).save(base_path)
        return {}

    def read(self, base_path, target, options=None, where=""):
        """Write the rows of the table that fulfil ``where``, meta columns first, to the Parquet file ``target``."""
        rows = self.spark.read.format("hudi").options(**(options or {})).load(base_path)
        if where:
            rows = rows.where(where)
        self._save(rows, target)
        return {"schema": json.loads(rows.schema.json())}

    def stream(self, base_path, target, checkpoint, options=None):
        """Run a stream until it has read all commits. Write the rows of each batch to a Parquet file of its own.

        Returns:
            The paths of the files, and the positions that the checkpoint stores for all batches of the stream.
        """
        paths = []

        def save(batch, number):
            path = f"{target}-{number}.parquet"
            self._save(batch, path)
            paths.append(path)

        frame = self.spark.readStream.format("hudi").options(**(options or {})).load(base_path)
        writer = frame.writeStream.foreachBatch(save).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return {"paths": paths, "positions": _positions(checkpoint)}

    def sql(self, statements, settings=None, target=None):
        """Run SQL with session settings. Return the rows of the last statement, or write these rows to ``target``."""
        with self._session_settings(settings or {}):
            for statement in statements[:-1]:
                self.spark.sql(statement)
            rows = self.spark.sql(statements[-1])
            if target is not None:
                self._save(rows, target)
                return []
            return [row.asDict(recursive=True) for row in rows.collect()]

    def planned(self, strategy, options, slices):
        """Return the file ids that a compaction strategy plans; see ``merge_on_read.hudi_strategies``."""
        from merge_on_read.hudi_strategies import planned

        return planned(self.spark, strategy, options, slices)

    def _save(self, rows, target):
        folder = target + ".spark"
        rows.coalesce(1).write.mode("overwrite").parquet(folder)
        part = glob.glob(glob.escape(folder) + "/part-*.parquet")
        os.replace(part[0], target)
        shutil.rmtree(folder)

    @contextmanager
    def _session_settings(self, settings):
        for key, value in settings.items():
            self.spark.conf.set(key, value)
        try:
            yield
        finally:
            for key in settings:
                self.spark.conf.unset(key)

    @contextmanager
    def _hadoop_settings(self, settings):
        configuration = self.spark.sparkContext._jsc.hadoopConfiguration()
        for key, value in settings.items():
            configuration.set(key, value)
        try:
            yield
        finally:
            for key in settings:
                configuration.unset(key)


def _positions(checkpoint):
    """Return the last line of each file in the checkpoint of a query that stores the end of a batch, oldest first."""
    found = []
    folder = os.path.join(checkpoint, "offsets")
    for name in sorted((name for name in os.listdir(folder) if name.isdigit()), key=int):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found.append(json.loads(file.read().splitlines()[-1]))
    return found


def error_answer(error):
    """Return an answer with the messages of the exception and of its causes, without Java stack frames."""
    text = str(getattr(error, "java_exception", None) or error)
    lines = str(error).splitlines()
    causes = [line.strip() for line in lines if line.startswith("Caused by:")]
    return {
        "ok": False,
        "error": "\n".join([text[:2000], *causes])[:6000],
        "trace": traceback.format_exc()[-20000:],
    }


def answer(server, request):
    """Carry out one request. An exception of Hudi or Spark becomes an answer and does not end the process."""
    arguments = {key: value for key, value in request.items() if key not in ("id", "command")}
    started = time.monotonic()
    try:
        result = getattr(server, request["command"])(**arguments)
        reply = {"ok": True, "result": result}
    except Exception as error:  # the client decides whether the test expects the error
        reply = error_answer(error)
        print(reply["trace"], file=sys.stderr, flush=True)
    return {"id": request["id"], "seconds": round(time.monotonic() - started, 3), **reply}


def main():
    """Answer requests until standard input ends or a ``stop`` request arrives."""
    release, work_folder = sys.argv[1:3]
    answers = take_standard_output()
    spark = start_session(release, work_folder)
    server = Server(spark, release)
    print(json.dumps({"id": 0, "ok": True, "result": server.ping()}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if request["command"] == "stop":
            break
        print(json.dumps(answer(server, request), default=str), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
