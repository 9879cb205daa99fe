"""Functions that read and damage the files of a table without using the engine under test."""

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
    """Folder of the instants: ``.hoodie/timeline`` in layout 2, ``.hoodie`` in layout 1."""
    newer = base_path / ".hoodie" / "timeline"
    return newer if newer.is_dir() else base_path / ".hoodie"


def instant_names(base_path: Path, suffix: str = "") -> list[str]:
    """Names of the files in the timeline that end with ``suffix``, oldest first."""
    return sorted(path.name for path in timeline_folder(base_path).iterdir() if _is_instant(path, suffix))


def _is_instant(path: Path, suffix: str) -> bool:
    return path.name[0].isdigit() and path.name.endswith(suffix) and path.is_file()


def incremental_bounds(base_path: Path) -> list[str]:
    """For each completed commit, oldest first, the time with which incremental queries compare their bounds.

    This time is the requested time in table version 6, and the completion time (the second time in the file name)
    from version 8 on.
    """
    names = [name for name in instant_names(base_path) if name.endswith((".commit", ".replacecommit"))]
    return [name.partition(".")[0].rpartition("_")[2] for name in names]


def files_below(folder: Path) -> list[Path]:
    """All files below the folder, sorted. Unlike ``rglob``, this function tolerates that a job removes folders."""
    return sorted(Path(place, name) for place, _, names in os.walk(folder) for name in names)


def markers(base_path: Path) -> list[Path]:
    """All markers in the table."""
    return [path for path in files_below(base_path / ".hoodie" / ".temp") if ".marker." in path.name]


def data_files(base_path: Path) -> list[Path]:
    """All Parquet files in the partitions, including files of uncommitted writes."""
    return [
        path
        for path in files_below(base_path)
        if path.suffix == ".parquet" and ".hoodie" not in path.relative_to(base_path).parts
    ]


def latest_data_files(base_path: Path) -> list[Path]:
    """The Parquet file with the latest instant time in each file group."""
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
    """The keys and values in the footer of a Parquet file."""
    return dict(pq.read_metadata(path).metadata)


def properties(base_path: Path) -> dict[str, str]:
    """The keys and values in ``hoodie.properties``. Backslashes are removed from the values."""
    text = (base_path / ".hoodie" / "hoodie.properties").read_text()
    pairs = [line.partition("=") for line in text.splitlines() if line and not line.startswith("#")]
    return {key: value.replace("\\", "") for key, _, value in pairs}


def forget_checksum(path: Path) -> None:
    """Remove Hadoop's checksum file of a file that a test changed without Hadoop."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def rewrite(
    path: Path,
    *,
    change: Callable[[pa.Table], pa.Table] = lambda rows: rows,
    footer_changes: Mapping[bytes, bytes | None] | None = None,
    **writer_options: object,
) -> None:
    """Write a base file again with other rows, footer values (``None`` removes a value) or Parquet options."""
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
    """Copy a table to ``target``, and return ``target``."""
    shutil.copytree(base_path, target)
    return target


def new_file_name(path: Path) -> str:
    """The file name of ``path`` with a new file id."""
    _, _, rest = path.name.partition("_")
    return f"{uuid.uuid4()}-0_{rest}"
