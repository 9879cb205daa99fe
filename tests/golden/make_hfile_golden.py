"""Make HFiles of many small blocks with the writers of real Hudi releases: one run per release, PySpark 3.5.

    python make_hfile_golden.py --jar <bundle 0.15.0> --out hudi-0.15.0/hfiles.tar.xz
    python make_hfile_golden.py --jar <bundle 1.2.0> --out hudi-1.2.0/hfiles.tar.xz

Release 0.15.0 writes with HBase: small index blocks give an index of several levels. Release 1.2.0 has a writer of its
own, whose index has one level. The entries are those of :func:`entries`.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from make_golden import session
from make_metadata_golden import add, tarfile

BLOCK_BYTES = 150
INDEX_BLOCK_BYTES = {"one_level": 1 << 20, "two_levels": 1000, "three_levels": 300}
ENTRIES = 300


def entries() -> list[tuple[str, bytes]]:
    """Some neighbouring keys differ in their first characters, so that HBase shortens their keys in its index."""
    keys = ((n, f"{'abc'[n % 3] * (n % 5)}key-{n * 7919 % 100003:06d}") for n in range(ENTRIES))
    return sorted((key, b"value %d" % n) for n, key in keys)


def write_with_hbase(java: Any, path: Path, index_bytes: int) -> None:
    conf = java.org.apache.hadoop.conf.Configuration()
    conf.setInt("hfile.index.block.max.size", index_bytes)
    conf.setInt("hfile.index.block.min.entries", 2)
    hbase = java.org.apache.hudi.org.apache.hadoop.hbase
    gzip = hbase.io.compress.Compression.Algorithm.GZ
    context = (
        hbase.io.hfile.HFileContextBuilder()
        .withBlockSize(BLOCK_BYTES)
        .withCompression(gzip)
        .withCellComparator(java.org.apache.hudi.io.storage.HoodieHBaseKVComparator())
        .build()
    )
    target = java.org.apache.hadoop.fs.Path(path.as_uri())
    factory = hbase.io.hfile.HFile.getWriterFactoryNoCache(conf)
    writer = factory.withPath(target.getFileSystem(conf), target).withFileContext(context).create()
    for key, value in entries():
        writer.append(hbase.KeyValue(key.encode(), None, None, value))
    writer.appendFileInfo(b"schema", b"{}")
    writer.close()


def write_natively(java: Any, path: Path) -> None:
    codec = java.org.apache.hudi.io.compress.CompressionCodec.GZIP
    context = (
        java.org.apache.hudi.io.hfile.HFileContext.builder().blockSize(BLOCK_BYTES).compressionCodec(codec)
    )
    stream = java.java.io.FileOutputStream(str(path))
    writer = java.org.apache.hudi.io.hfile.HFileWriterImpl(context.build(), stream)
    for key, value in entries():
        writer.append(key, value)
    writer.appendFileInfo("schema", b"{}")
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jar", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    spark = session(arguments.jar)
    java, folder = spark.sparkContext._jvm, Path(tempfile.mkdtemp())
    is_hbase = "0.15.0" in arguments.jar
    with tarfile.open(arguments.out, "w:xz", preset=9) as kept:
        for name, index_bytes in INDEX_BLOCK_BYTES.items():
            path = folder / f"{name}.hfile"
            if is_hbase:
                write_with_hbase(java, path, index_bytes)
            elif name == "one_level":
                write_natively(java, path)
            else:
                continue
            add(kept, path.name, path.read_bytes())
    spark.stop()


if __name__ == "__main__":
    main()
