"""The rules that assign frames of Python processes and of the JVM to steps.

py-spy shows modules of PySpark's workers without their folder, such as ``read_int (serializers.py:594)``. Other Python
frames look like ``record_keys (hudi_table_services/execution/writing/key_generation.py:80)``, native frames like
``ZSTD_compress2 (pyarrow/libarrow.so.2600)``, and Java frames like ``org/apache/spark/scheduler/Task.run``.
"""

from bench.profiling.steps import Rule, Rules, Step

_ENGINE = "hudi_table_services/"
_EXECUTION = _ENGINE + "execution/"
_STAGED = _EXECUTION + r"staging\.py"


def _rules(step: Step, *frames: str, under: str = "") -> tuple[Rule, ...]:
    return tuple(Rule(step=step, frame=frame, under=under) for frame in frames)


_CODECS = r"^(ZSTD|HUF|FSE|HIST|LZ4|LZ4F|LZ4HC|XXH32|XXH64)_|^snappy::|^deflate|^inflate|Codec::(Compress|Decompress)"
_WAITS = r"^(pthread_cond_\w*wait|epoll_wait|poll|select|sem_\w*wait|accept4?|clock_nanosleep|PyThread_acquire_lock)"

PYTHON_RULES = Rules(
    (
        *_rules(Step.START, r"^read\b", under=r"<frozen (zip)?import"),
        # py-spy also samples threads that wait for rows, a task or an answer, and are blocked in a system call.
        *_rules(Step.WAITING, _WAITS, r"^recv"),
        *_rules(Step.WAITING, r"^read\b", under=r"\b(load_stream|read_int)\b"),
        *_rules(Step.STORAGE, r"^p?read(64)?\b", under=_EXECUTION),
        *_rules(Step.TRANSFER, _CODECS, under=_STAGED),
        *_rules(Step.DECODE, r"[dD]ecompress|^inflate"),
        *_rules(Step.COMPRESS, _CODECS, r"SerializedPageWriter::Compress"),
        *_rules(
            Step.START,
            r"<frozen (zip)?import",
            r"\b(read_command|import_module)\b|cloudpickle",
            r"^_?dl_?open",
        ),
        *_rules(Step.KEYS, r"hudi_format/bloom_filter", r"\b(_index_keys|_as_records|new_record_columns)\b"),
        *_rules(Step.KEYS, _EXECUTION + r"writing/(key_generation|time_partitions|text_values)"),
        *_rules(Step.ENCODE, r"\bparquet::", under=r"ParquetWriter\.|parquet::arrow::FileWriter"),
        *_rules(Step.DECODE, r"\bparquet::"),
        *_rules(Step.ENCODE, r"ParquetWriter\.", r"\b(dictionary_columns|_dictionary_leaves)\b"),
        *_rules(Step.ENCODE, r"\b(encoded_bytes_per_row|_with_constants|constant_text)\b|hudi_format/footer"),
        *_rules(Step.ENCODE, _EXECUTION + r"metadata_table/(footer|row|written|log)_statistics"),
        *_rules(Step.STORAGE, _ENGINE + r"storage/stores/"),
        *_rules(Step.TRANSFER, _STAGED, r"pyspark/sql/pandas/|\bserializers\.py", r"^arrow::ipc::"),
        *_rules(Step.TRANSFER, _EXECUTION + r"arrow_schema"),
        *_rules(Step.DECODE, _EXECUTION + r"(base_file_reader|log_files/)"),
        *_rules(Step.DECODE, r"pyarrow/_parquet|pyarrow/parquet/core"),
        *_rules(
            Step.MERGE,
            _EXECUTION + r"(writing/merging|replaced_rows|ordering_columns|log_merging/|compaction/)",
        ),
        *_rules(Step.MERGE, r"\b(_merge|_load_changes)\b.*execution/file_groups"),
        *_rules(Step.ROUTE, _EXECUTION + r"(writing/|bucketed_keys|clustering/)"),
        *_rules(Step.ENCODE, _EXECUTION + r"(base_file_writer|parquet_format|file_groups)"),
    ),
    _rules(Step.PLAN, _ENGINE),
    (
        *_rules(Step.START, r"\bdaemon\.py"),
        *_rules(Step.TRANSFER, r"\bworker\.py|\bpy4j/"),
        *_rules(Step.START, r"pyspark/"),
    ),
)

_PYTHON_TASKS = r"org/apache/spark/(api/python|sql/execution/python)"
_SHUFFLES = (
    r"org/apache/spark/(shuffle|storage|io|serializer|util/collection|network|broadcast)"
    r"|com/esotericsoftware/kryo|com/twitter/chill"
)
_JAVA_CODECS = r"^(ZSTD|HUF|FSE|HIST|LZ4)_|zstd|Zstd|jpountz|xerial/snappy|[sS]nappy|Deflater|deflate"
_PARQUET_WRITERS = (
    r"org/apache/parquet/(column/(values/.*Writer|impl/ColumnW|statistics)|io/MessageColumnIO\$MessageColumnIORec"
    r"|hadoop/(InternalParquetRecordW|ColumnChunkPageW|ParquetFileW|ParquetRecordW|ParquetW|ParquetOutput))"
    r"|WriteSupport|RecordConsumer|datasources/parquet/Parquet(OutputWriter|Write)"
)
_SOURCES = r"spark/sql/execution/(vectorized/|datasources/(parquet/|FileScanRDD|RecordReaderIterator)|FileSourceScan)"

JAVA_RULES = Rules(
    (
        *_rules(Step.START, r"^\[?C[12] CompilerThre|CompileBroker|^Compile::|^C2Compiler|^Compilation::"),
        *_rules(
            Step.START,
            r"ClassLoader|SystemDictionary|LinkResolver|defineClass|^java/lang/invoke/|ClassFileParser",
        ),
        *_rules(Step.START, r"org/codehaus/(janino|commons)|expressions/codegen/CodeGenerator|^sun/launcher"),
        *_rules(
            Step.JVM,
            r"^\[?(GC Thread|G1 |VM Thread|VM Periodic|Monitor Deflati|Service Thread)",
            r"^\[?(Reference Handl|Finalizer|Common-Cleaner)",
        ),
        *_rules(Step.JVM, r"\bxbean/asm|spark/util/ClosureCleaner"),
        *_rules(
            Step.PLAN, r"org/apache/hudi/(http|org/apache/http|jetty)|jetty/|javalin/|hudi/table/marker/"
        ),
        *_rules(Step.DECODE, r"[dD]ecompress|InputStream|[iI]nflate", under=r"^org/apache/parquet/"),
        *_rules(Step.COMPRESS, _JAVA_CODECS + r"|[cC]ompress", under=r"^org/apache/parquet/"),
        *_rules(Step.TRANSFER, _JAVA_CODECS),
        *_rules(
            Step.STORAGE, r"org/apache/hadoop/fs/|^java/io/(File|RandomAccessFile|Unix)|^sun/nio/(ch/File|fs)"
        ),
        *_rules(Step.STORAGE, r"^java/nio/file/|org/apache/hudi/(storage|hadoop/fs)/"),
        *_rules(
            Step.KEYS, r"org/apache/hudi/(keygen|common/bloom)/|KeyGen|[bB]loomFilter|hudi/common/util/hash/"
        ),
        *_rules(
            Step.MERGE,
            r"org/apache/hudi/(io/\w*Merge|common/table/read/|common/util/collection/)|RecordMerger",
        ),
        *_rules(Step.MERGE, r"hudi/common/model/\w*Payload|openjdk/jol|MergeHelper"),
        *_rules(Step.ENCODE, _PARQUET_WRITERS),
        *_rules(Step.ENCODE, r"^org/apache/parquet/", under=_PARQUET_WRITERS),
        *_rules(Step.DECODE, r"^org/apache/parquet/", _SOURCES, r"ColumnarBatch"),
        *_rules(Step.TRANSFER, r"GeneratedIterator|GeneratedClass", under=_PYTHON_TASKS),
        *_rules(Step.TRANSFER, r"org/apache/arrow/|spark/sql/execution/arrow/", _PYTHON_TASKS, _SHUFFLES),
        *_rules(Step.TRANSFER, r"org/apache/avro/|spark/sql/avro/|org/apache/hudi/avro/|AvroConversion"),
        *_rules(
            Step.TRANSFER,
            r"InternalRowUtils|CreateRecordUtils|hudi/common/(model/Hoodie\w*Record|util/queue)",
        ),
        *_rules(Step.ROUTE, r"org/apache/hudi/index/|[tT]agLocation|Partitioner|[dD]eduplicate"),
        *_rules(Step.ROUTE, r"hudi/table/action/commit/\w*(Partition|Bucket|WriteHelper)"),
        *_rules(Step.ENCODE, r"org/apache/hudi/io/(\w*CreateHandle|storage/)"),
    ),
    _rules(Step.PLAN, r"org/apache/hudi/"),
    (
        *_rules(Step.TRANSFER, r"^py4j/"),
        *_rules(
            Step.JVM,
            r"^org/apache/(spark|logging)|^org/(json4s|slf4j)|^scala/|^com/fasterxml|^java/|^jdk/|^sun/",
        ),
        *_rules(Step.JVM, r"^io/netty|^\[?[\w -]*(thread|Thread|worker|executor|dispatcher|pool)"),
    ),
)
