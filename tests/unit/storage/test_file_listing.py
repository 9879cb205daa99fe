"""Listings of many folders use threads only if the storage makes them wait."""

import itertools
import threading
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata
from hudi_table_services.storage import file_listing
from hudi_table_services.storage.file_listing import SLOW_THREADS, list_folders, list_partitions
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import FolderListing

PARTITIONS = [f"p={number:03}" for number in range(200)]
FILES = ["a", "b", "c"]


@dataclass(frozen=True, slots=True)
class WatchedStorage(LocalStorage):
    """Notes the thread of each listing in the order of the listings."""

    threads: list[int] = field(default_factory=list, compare=False)

    def list_folder(self, folder: str = "") -> FolderListing:
        self.threads.append(threading.get_ident())
        return LocalStorage.list_folder(self, folder)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("table")
    metafile = encode_partition_metadata("0", 1, datetime(2026, 1, 1, tzinfo=timezone.utc))
    for partition in PARTITIONS:
        (folder / partition).mkdir()
        (folder / partition / ".hoodie_partition_metadata").write_bytes(metafile)
        for name in FILES:
            (folder / partition / name).touch()
    return str(folder)


@pytest.mark.parametrize(("quick", "threads"), [(1.0, 1), (0.0, SLOW_THREADS)])
def test_threads_list_a_table_only_if_the_storage_makes_them_wait(
    table: str, monkeypatch: pytest.MonkeyPatch, quick: float, threads: int
) -> None:
    monkeypatch.setattr(file_listing, "_QUICK_SECONDS_PER_ENTRY", quick)
    monkeypatch.setattr(file_listing, "_QUICK_SECONDS_IN_ONE_THREAD", quick)
    wanted = watched_threads(monkeypatch)
    found = list_partitions(WatchedStorage(table))
    assert list(found) == PARTITIONS
    assert {len(files) for files in found.values()} == {1 + len(FILES)}
    # Four calls: the base path, the first 64 partitions, the next 64, and all others.
    assert wanted == [READ_THREADS, READ_THREADS, threads, threads]


def test_listings_keep_many_threads_although_the_batch_is_then_quick(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = watched_threads(monkeypatch)
    # The batch of the base path is slow, and so is the first batch of partitions; all others take no time.
    clock = itertools.chain([0.0, 9.0, 9.0, 99.0], itertools.repeat(99.0))
    monkeypatch.setattr(file_listing, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    list_partitions(WatchedStorage(table))
    assert wanted == [READ_THREADS, READ_THREADS, SLOW_THREADS, SLOW_THREADS]


def watched_threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each call of `map_in_parallel` adds its number of threads."""
    wanted: list[int] = []

    def watched(read: Any, items: Any, threads: int) -> list[Any]:
        wanted.append(threads)
        return map_in_parallel(read, items, threads=threads)

    monkeypatch.setattr(file_listing, "map_in_parallel", watched)
    return wanted


def test_each_folder_is_listed_once(table: str) -> None:
    for wanted in ([], PARTITIONS[:1], PARTITIONS[:64], PARTITIONS[:65], PARTITIONS[:129]):
        storage = WatchedStorage(table)
        assert list(list_partitions(storage, wanted)) == wanted
        assert len(storage.threads) == len(wanted)
    assert list(list_folders(WatchedStorage(table))) == ["", *PARTITIONS]
