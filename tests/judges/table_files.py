"""Read and damage the files of a table without the engine under test."""

import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

BLOOM_FILTER = b"org.apache.hudi.bloomfilter"
BLOOM_TYPE = b"hoodie_bloom_filter_type_code"
MIN_KEY = b"hoodie_min_record_key"
MAX_KEY = b"hoodie_max_record_key"
AVRO_SCHEMA = b"parquet.avro.schema"


def timeline_folder(base_path: Path) -> Path:
    """Where the instants lie: ``.hoodie/timeline`` from layout 2 on, ``.hoodie`` before."""
    newer = base_path / ".hoodie" / "timeline"
    return newer if newer.is_dir() else base_path / ".hoodie"


def instant_names(base_path: Path, suffix: str = "") -> list[str]:
    """Names of the timeline's files that end with ``suffix``, oldest first."""
    return sorted(path.name for path in timeline_folder(base_path).iterdir() if _is_instant(path, suffix))


def _is_instant(path: Path, suffix: str) -> bool:
    return path.name[0].isdigit() and path.name.endswith(suffix) and path.is_file()


def incremental_bounds(base_path: Path) -> list[str]:
    """The time of each completed commit that incremental queries compare, oldest commit first.

    Request time in table version 6, completion time (the second in the name) from version 8 on.
    """
    names = [name for name in instant_names(base_path) if name.endswith((".commit", ".replacecommit"))]
    return [name.partition(".")[0].rpartition("_")[2] for name in names]


def files_below(folder: Path) -> list[Path]:
    """Every file below the folder, sorted. Unlike ``rglob`` it ignores folders that a job removes at the same time."""
    return sorted(Path(place, name) for place, _, names in os.walk(folder) for name in names)


def markers(base_path: Path) -> list[Path]:
    """The markers of running writes."""
    return [path for path in files_below(base_path / ".hoodie" / ".temp") if ".marker." in path.name]


def data_files(base_path: Path) -> list[Path]:
    """Every Parquet file of the partitions, committed or not."""
    return [
        path
        for path in files_below(base_path)
        if path.suffix == ".parquet" and ".hoodie" not in path.relative_to(base_path).parts
    ]


def latest_data_files(base_path: Path) -> list[Path]:
    """The Parquet file with the greatest instant of each file group."""
    newest: dict[tuple[Path, str], Path] = {}
    for path in sorted(data_files(base_path), key=instant_of):
        newest[path.parent, file_id_of(path)] = path
    return sorted(newest.values())


def file_id_of(path: Path) -> str:
    """The file id in a base file's name."""
    return path.name.split("_")[0]


def instant_of(path: Path) -> str:
    """The instant time in a base file's name."""
    return path.stem.rpartition("_")[2]


def footer(path: Path) -> dict[bytes, bytes]:
    """The footer's key and value pairs."""
    return dict(pq.read_metadata(path).metadata)


def properties(base_path: Path) -> dict[str, str]:
    """``hoodie.properties`` as plain lines; good enough for values without escapes."""
    text = (base_path / ".hoodie" / "hoodie.properties").read_text()
    pairs = [line.partition("=") for line in text.splitlines() if line and not line.startswith("#")]
    return {key: value.replace("\\", "") for key, _, value in pairs}


def forget_checksum(path: Path) -> None:
    """Remove Hadoop's checksum sidecar of a file that was changed without Hadoop."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def rewrite(
    path: Path,
    *,
    change: Callable[[pa.Table], pa.Table] = lambda rows: rows,
    footer_changes: Mapping[bytes, bytes | None] | None = None,
    **writer_options: object,
) -> None:
    """Write a base file again with other rows, footer values (``None`` removes) or Parquet options."""
    values = {**footer(path), **(footer_changes or {})}
    values.pop(b"ARROW:schema", None)
    kept = {key: value for key, value in values.items() if value is not None}
    rows = change(pq.ParquetFile(path).read())
    options = {"use_compliant_nested_type": True, "store_schema": False, **writer_options}
    with pq.ParquetWriter(path, rows.schema.remove_metadata(), **options) as writer:
        writer.write_table(rows.replace_schema_metadata(None))
        writer.add_key_value_metadata(kept)
    forget_checksum(path)


def copy_table(base_path: Path, target: Path) -> Path:
    """A copy to experiment with."""
    shutil.copytree(base_path, target)
    return target


def new_file_name(path: Path) -> str:
    """The name of ``path`` with another file id."""
    _, _, rest = path.name.partition("_")
    return f"{uuid.uuid4()}-0_{rest}"
