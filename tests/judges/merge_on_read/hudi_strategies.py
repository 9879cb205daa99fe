"""Ask the compaction strategies of real Hudi which file slices a plan contains.

The functions run in the process of `hudi_server`: they call Hudi's classes in the JVM of its Spark session.
"""


def planned(spark, strategy, options, slices):
    """Return the file ids of the operations that a strategy plans, in the order of the plan.

    Args:
        strategy: name of a class in ``org.apache.hudi.table.action.compact.strategy``.
        options: write options, such as ``hoodie.compaction.target.io``.
        slices: the slices with log files, in the order of Hudi's listing: lists of partition path, file id, bytes of
            the base file (None without a base file) and the list of the bytes of the log files.
    """
    jvm = spark._jvm
    properties = jvm.java.util.Properties()
    for key, value in options.items():
        properties.setProperty(key, value)
    config = (
        jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder()
        .withPath("/t")
        .withProperties(properties)
        .build()
    )
    chosen = getattr(jvm.org.apache.hudi.table.action.compact.strategy, strategy)()
    paths = sorted({path for path, _, _, _ in slices})
    kept = list(_left(chosen.filterPartitionPaths(config, _java_list(jvm, paths))))
    operations = [
        _operation(jvm, config, chosen, each) for path in kept for each in slices if each[0] == path
    ]
    ordered = chosen.orderAndFilter(config, _java_list(jvm, operations), _java_list(jvm, []))
    return [operation.getFileId() for operation in _left(ordered)]


def _operation(jvm, config, strategy, each):
    """The operation that Hudi's plan generator makes for a slice, with the metrics that the strategy captures."""
    path, file_id, base_bytes, logs = each
    model = jvm.org.apache.hudi.common.model
    file_slice = model.FileSlice(path, "20260101000000000", file_id)
    if base_bytes is not None:
        base_path = f"/t/{path}/{file_id}_0-1-0_20260101000000000.parquet"
        file_slice.setBaseFile(model.HoodieBaseFile(_listed(jvm, base_path, base_bytes)))
    names = []
    for version, log_bytes in enumerate(logs, start=1):
        names.append(f".{file_id}_20260102000000000.log.{version}_0-1-0")
        file_slice.addLogFile(model.HoodieLogFile(_listed(jvm, f"/t/{path}/{names[-1]}", log_bytes)))
    builder = jvm.org.apache.hudi.avro.model.HoodieCompactionOperation.newBuilder()
    builder.setFileId(file_id)
    builder.setPartitionPath(path)
    builder.setBaseInstantTime("20260101000000000")
    builder.setDeltaFilePaths(_java_list(jvm, names))
    builder.setMetrics(strategy.captureMetrics(config, file_slice))
    return builder.build()


def _listed(jvm, path, size):
    """A file in a listing of Hudi."""
    storage = jvm.org.apache.hudi.storage
    return storage.StoragePathInfo(storage.StoragePath(path), size, False, 1, 0, 0)


def _left(result):
    """The operations or partitions. Since release 1.1, Hudi returns a pair, which also has the waiting partitions."""
    return result if result.getClass().getName().startswith("java.util.") else result.getLeft()


def _java_list(jvm, values):
    listed = jvm.java.util.ArrayList()
    for value in values:
        listed.add(value)
    return listed
