"""Damage files of a metadata table, and check how jobs and readers react to the damage."""

import io
import re
import struct
from collections.abc import Callable, Mapping
from functools import cache

import pyarrow.parquet as pq

from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.errors import UnhealthyTableError
from hudi_table_services.hudi_format.hfile.trailer import TRAILER_BYTES
from hudi_table_services.hudi_format.log_blocks import MAGIC
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.storage.metadata_table.key_ranges import key_ranges
from hudi_table_services.storage.metadata_table.record_locations import RecordIndexGroups, open_record_index
from hudi_table_services.storage.metadata_table.unusable import UnusableMetadataTable
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.metadata_table.checked_tables import check_listing
from support.metadata_table.maintained_tables import access, live_files, ticking

Damage = Callable[[Storage, str], None]
_PADDING = bytes(1000)
_MEASURES = (
    "metadata_unusable",
    "metadata_commits_ahead",
    "metadata_commits_behind",
    "metadata_missing_files",
    "metadata_unlisted_files",
    "metadata_wrong_statistics",
)


def delete(storage: Storage, path: str) -> None:
    storage.delete(path)


def cut_in_half(storage: Storage, path: str) -> None:
    content = storage.read(path)
    storage.write(path, content[: len(content) // 2])


def flip_a_bit(storage: Storage, path: str) -> None:
    """Change one bit of the byte in the middle. A text file usually stays valid text."""
    content = storage.read(path)
    _flip(storage, path, len(content) // 2, 1)


def flip_a_byte(storage: Storage, path: str) -> None:
    """Invert the byte in the middle of the file or, in an HFile, of the part before the padding of the trailer.

    A text file usually becomes invalid text.
    """
    content = storage.read(path)
    padding = content.find(_PADDING)
    _flip(storage, path, (padding if padding > 0 else len(content)) // 2, 0xFF)


def _flip(storage: Storage, path: str, position: int, mask: int) -> None:
    content = bytearray(storage.read(path))
    content[position] ^= mask
    storage.write(path, bytes(content))


DAMAGES: dict[str, Damage] = {
    "deleted": delete,
    "cut in half": cut_in_half,
    "flipped bit": flip_a_bit,
    "flipped byte": flip_a_byte,
}


def files_to_damage(storage: Storage) -> list[str]:
    """Every file of the metadata table that has content."""
    return sorted(f.path for f in storage.list_files(METADATA_TABLE) if f.size_bytes)


def stored_bytes(storage: Storage) -> Mapping[str, bytes]:
    """All files of the table, but not the lock."""
    return {f.path: storage.read(f.path) for f in storage.list_files() if f.path != ".hoodie/lock"}


def changed_files(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Paths of files that were created, changed or deleted."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def live_rows(storage: Storage) -> list[tuple[str, bytes]]:
    """Return partition path and content of each live file. Files with the same rows have the same content."""
    return sorted((path.rpartition("/")[0], storage.read(path)) for path in live_files(storage))


def names_damage(error_path: str, message: str, damaged: str) -> bool:
    """Whether an error names the damaged file, its folder, its file group, or the instant that the file records.

    For a lost instant, any path in the metadata table is sufficient: no file lists the instants that must exist, so the
    error names a partition whose files the instant wrote.
    """
    if _is_instant(damaged) and error_path.startswith(METADATA_TABLE):
        return True
    name = damaged.rpartition("/")[2]
    group = name.removeprefix(".").partition("_")[0]
    times = re.findall(r"\d{17}", name)
    is_in_folder = bool(error_path) and f"{damaged}/".startswith(f"{error_path}/")
    return is_in_folder or name in message or group in message or any(time in message for time in times)


def is_reported(storage: Storage) -> bool:
    """Whether the health report contains damage: the default report, or else the report of the deep check."""
    return any(_reports(storage, deep=deep) for deep in (False, True))


def _reports(storage: Storage, *, deep: bool) -> bool:
    try:
        result = table_health(HealthRequest(base_path="/t", deep=deep), storage=storage, clock=ticking(3))
        report = result.report
    except UnhealthyTableError as error:
        report = error.evidence  # type: ignore[assignment]
    assert isinstance(report, HealthReport)
    measures = (report.measures.get(name) for name in _MEASURES)
    return bool(report.damage or report.metadata_table_state.refusal or any(measures))


def check_answers(storage: Storage, where: str) -> None:
    """Check that the list of files, key ranges and places of keys in the metadata table are right or refused."""
    check_listing(storage, where)
    table = access(storage, ticking())
    timeline, slices = table.load_timeline(), load_snapshot(storage, metadata_enable=False).all_slices
    keys = {s.base_file_path: _keys(storage.read(s.base_file_path or "")) for s in slices}
    ranges = key_ranges(storage, table.config, timeline, table.clock, slices)
    if not isinstance(ranges, UnusableMetadataTable):
        for path, (low, high) in ranges.items():
            assert low <= min(keys[path]) <= max(keys[path]) <= high, where
    if RECORD_INDEX not in table.config.metadata_partitions:
        return
    index = open_record_index(storage, table.config, timeline, table.clock)
    for found in slices if isinstance(index, RecordIndexGroups) else ():
        groups = _by_group(keys[found.base_file_path], index.count)
        places = index.locate(groups)
        assert isinstance(places, UnusableMetadataTable) or places == {found.file_group_id}, where


@cache
def _keys(content: bytes) -> frozenset[str]:
    return frozenset(pq.read_table(io.BytesIO(content), columns=["_hoodie_record_key"]).column(0).to_pylist())


def _by_group(keys: frozenset[str], count: int) -> list[frozenset[bytes]]:
    return [
        frozenset(key.encode() for key in keys if file_group_of(key, count) == number)
        for number in range(count)
    ]


def _is_instant(path: str) -> bool:
    return path.startswith(f"{METADATA_TABLE}/.hoodie/") and "/hoodie.properties" not in path


def _is_padding(path: str, content: bytes, position: int) -> bool:
    start = content.rfind(b'TRABLK"$', 0, position + 1)
    return start >= 0 and start + 200 < position < start + TRAILER_BYTES - 4 and content[position] == 0


def _is_meta_index(path: str, content: bytes, position: int) -> bool:
    roots = [match.start() for match in re.finditer(b"IDXROOT2", content)]
    info = content.find(b"FILEINF2")
    return len(roots) == 2 and roots[1] <= position < info


def _is_log_header(path: str, content: bytes, position: int) -> bool:
    if not content.startswith(MAGIC):
        return False
    start = content.rfind(MAGIC, 0, position + 1)
    at = start + len(MAGIC) + 16  # after the size, the format version and the type
    (count,) = struct.unpack_from(">i", content, at)
    at += 4
    for _ in range(count):
        _, length = struct.unpack_from(">ii", content, at)
        at += 8 + length
    return position < at


UNCHECKED: dict[str, Callable[[str, bytes, int], bool]] = {
    "instant files of the metadata table": lambda path, content, position: _is_instant(path),
    "properties of the metadata table": lambda path, content, position: path.endswith("/hoodie.properties"),
    "metadata of its partitions": lambda path, content, position: path.endswith(
        "/.hoodie_partition_metadata"
    ),
    "padding of HFile trailers": _is_padding,
    "the index of meta blocks, which is not read": _is_meta_index,
    "headers of log blocks": _is_log_header,
}
"""Places without a checksum, where nothing detects a changed byte. See docs/metadata-table.md."""


def unchecked_place(path: str, content: bytes, damaged: bytes) -> str:
    """Name of the place in `UNCHECKED` that the damage changed; empty if a checksum covers it."""
    if len(content) != len(damaged):
        return ""
    position = next(at for at, byte in enumerate(content) if byte != damaged[at])
    return next((name for name, holds in UNCHECKED.items() if holds(path, content, position)), "")
