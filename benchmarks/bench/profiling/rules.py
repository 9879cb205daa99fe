"""The rules that assign frames of Python processes and of the JVM to steps.

Python frames look like ``record_keys (hudi_table_services/execution/writing/key_generation.py:80)``, native frames like
``ZSTD_compress2 (pyarrow/libarrow.so.2600)``, and Java frames like ``org/apache/spark/scheduler/Task.run``.
"""

from bench.profiling.steps import Rule, Rules, Step

_ENGINE = "hudi_table_services/"
_EXECUTION = _ENGINE + "execution/"


def _rules(step: Step, *frames: str, under: str = "") -> tuple[Rule, ...]:
    return tuple(Rule(step=step, frame=frame, under=under) for frame in frames)


_NATIVE_CODECS = (
    r"^(ZSTD|HUF|FSE|HIST|LZ4|LZ4F|LZ4HC|snappy|deflate|inflate)_?|^snappy::|\bCodec::(Compress|Decompress)\b"
)
_STAGED = _EXECUTION + r"staging\.py"

PYTHON_RULES = Rules(
    *_rules(
        Step.WAITING, r"^(pthread_cond_\w*wait|epoll_wait|poll|select|sem_\w*wait|accept4?|clock_nanosleep)\b"
    ),
    *_rules(Step.TRANSFER, _NATIVE_CODECS, under=_STAGED),
    *_rules(Step.DECODE, r"[dD]ecompress|^inflate"),
    *_rules(Step.COMPRESS, _NATIVE_CODECS, r"SerializedPageWriter::Compress"),
    *_rules(
        Step.START, r"<frozen importlib", r"read_command|cloudpickle|\bimport_module\b", r"^dlopen|^_dl_"
    ),
    *_rules(
        Step.KEYS,
        r"hudi_format/bloom_filter",
        _EXECUTION + r"writing/(key_generation|time_partitions|text_values)",
    ),
    *_rules(Step.KEYS, r"\b_index_keys\b"),
    *_rules(
        Step.DECODE,
        r"parquet::.*(Reader|Decoder|PageReader|RecordReader)",
        r"parquet::arrow::\(anonymous namespace\)::\w*Read",
    ),
    *_rules(
        Step.ENCODE,
        r"^parquet::|\bparquet::(TypedColumnWriterImpl|arrow::|ColumnWriter)|ParquetWriter\.",
        r"dictionary_columns|_dictionary_leaves",
    ),
    *_rules(Step.ENCODE, r"encoded_bytes_per_row|\b(_with_constants|constant_text)\b|hudi_format/footer"),
    *_rules(
        Step.ENCODE,
        _EXECUTION
        + r"metadata_table/(footer_statistics|written_statistics|row_statistics|column_statistics)",
    ),
    *_rules(Step.STORAGE, _ENGINE + r"storage/stores/"),
    *_rules(
        Step.TRANSFER, _STAGED, r"pyspark/(sql/pandas/serializers|serializers|worker|daemon|sql/pandas/types)"
    ),
    *_rules(
        Step.TRANSFER, r"^arrow::ipc::", _EXECUTION + r"arrow_schema", r"\bRecordBatch(Stream|File)Reader\b"
    ),
    *_rules(
        Step.DECODE, _EXECUTION + r"(base_file_reader|log_files/)", r"pyarrow/_parquet|pyarrow/parquet/core"
    ),
    *_rules(Step.KEYS, r"\b(_as_records|new_record_columns)\b"),
    *_rules(
        Step.MERGE, _EXECUTION + r"(writing/merging|replaced_rows|ordering_columns|log_merging/|compaction/)"
    ),
    *_rules(Step.MERGE, r"\b(_merge|_load_changes)\b.*execution/file_groups"),
    *_rules(Step.ROUTE, _EXECUTION + r"(writing/|bucketed_keys|clustering/)"),
    *_rules(Step.ENCODE, _EXECUTION + r"(base_file_writer|parquet_format|file_groups)"),
    *_rules(
        Step.PLAN, _ENGINE + r"(planning|commits|tables|jobs|model|hudi_format|options|contract|storage)/"
    ),
    *_rules(Step.TRANSFER, r"\bpy4j/"),
    *_rules(Step.PLAN, _ENGINE),
    *_rules(Step.START, r"pyspark/(java_gateway|sql/session|context)"),
)

_SHUFFLES = (
    r"org/apache/spark/(shuffle|storage|io|serializer|util/collection|network|broadcast)"
    r"|com/esotericsoftware/kryo"
)
_PYTHON_TASKS = r"org/apache/spark/(api/python|sql/execution/python)"

JAVA_RULES = Rules(
    *_rules(
        Step.START,
        r"^\[?C[12] CompilerThre|CompileBroker|^Compile::|^C2Compiler|^Compilation::",
        r"Sweeper thread",
    ),
    *_rules(
        Step.START,
        r"ClassLoader|SystemDictionary|LinkResolver|defineClass|^java/lang/invoke/|ClassFileParser|Rewriter::",
    ),
    *_rules(
        Step.START,
        r"org/codehaus/(janino|commons)|sql/catalyst/expressions/codegen/CodeGenerator|sun/launcher",
    ),
    *_rules(
        Step.JVM, r"^\[?(GC Thread|G1 |VM Thread|VM Periodic|Reference Handler|Finalizer|Common-Cleaner)"
    ),
    *_rules(Step.TRANSFER, r"lz4|LZ4|zstd|ZSTD|[sS]nappy|Zstd|HUF_|FSE_", under=_SHUFFLES),
    *_rules(Step.DECODE, r"[dD]ecompress|ZstdInputStream|SnappyInputStream|inflate"),
    *_rules(
        Step.COMPRESS,
        r"^(ZSTD|HUF|FSE|HIST|LZ4)_|[cC]ompress(or|ion)?\b|\bcompress|github/luben/zstd|xerial/snappy|java/util/zip/Deflater|deflate",
    ),
    *_rules(
        Step.STORAGE,
        r"org/apache/hadoop/fs/|java/io/(File|RandomAccessFile|Unix)|sun/nio/(ch/File|fs)|java/nio/file/|hudi/(storage|hadoop/fs|io/storage/Hoodie\w*Storage)",
    ),
    *_rules(Step.KEYS, r"hudi/keygen|KeyGenerator|KeyGenUtils|[bB]loomFilter|hudi/common/bloom|util/hash/"),
    *_rules(
        Step.MERGE,
        r"hudi/io/\w*(MergeHandle|MergeHelper)|RecordMerger|hudi/common/table/read|hudi/common/model/\w*Payload|ExternalSpillableMap|BufferedRecord",
    ),
    *_rules(
        Step.ENCODE,
        r"org/apache/parquet/(column/(values|impl/ColumnW|page|statistics|ParquetProperties)|hadoop/(InternalParquetRecordW|ColumnChunkPageW|ParquetFileW|ParquetRecordW|ParquetW|ParquetOutput))",
        r"org/apache/parquet/io/MessageColumnIO|RecordConsumer",
    ),
    *_rules(Step.ENCODE, r"WriteSupport|datasources/parquet/Parquet(OutputWriter|Write)"),
    *_rules(
        Step.DECODE,
        r"datasources/parquet/|org/apache/parquet/|sql/execution/vectorized/|FileScanRDD|sql/execution/datasources/|ColumnarBatch",
    ),
    *_rules(Step.TRANSFER, r"org/apache/arrow/|sql/execution/arrow/|" + _PYTHON_TASKS),
    *_rules(Step.TRANSFER, r"GeneratedIterator|GeneratedClass", under=_PYTHON_TASKS),
    *_rules(
        Step.TRANSFER,
        _SHUFFLES,
        r"org/apache/avro/|spark/sql/avro/|hudi/avro/|AvroConversion|InternalRowToAvro|HoodieInternalRowUtils|sql/HoodieCatalystExpressionUtils",
    ),
    *_rules(Step.TRANSFER, r"py4j/"),
    *_rules(
        Step.ROUTE,
        r"hudi/index/|tagLocation|Partitioner|hudi/data/|hudi/table/action/commit/(Upsert|Spark(Insert|Bucket)|Bucket|\w*Partition)|WriteHelper|deduplicate",
    ),
    *_rules(Step.MERGE, r"hudi/common/util/collection|hudi/io/"),
    *_rules(
        Step.TRANSFER,
        r"hudi/(common/model/Hoodie\w*Record|HoodieSparkUtils|HoodieDatasetBulk|HoodieCreateRecordUtils|util/)",
    ),
    *_rules(Step.PLAN, r"org/apache/hudi/"),
    *_rules(
        Step.JVM,
        r"org/apache/spark/|^org/(json4s|apache/logging|slf4j)|^scala/|^com/fasterxml|^java/|^jdk/|^sun/|^io/netty",
    ),
    *_rules(Step.JVM, r"^\[?[\w -]*(thread|Thread|worker|executor|dispatcher|pool)"),
)
