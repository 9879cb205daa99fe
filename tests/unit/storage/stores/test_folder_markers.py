"""Listings of object stores do not contain the empty objects that stand for folders."""

from hudi_table_services.storage.stores.folder_markers import without_folder_markers
from hudi_table_services.storage.stores.storage import StoredObject


def kept(sizes: dict[str, int], folder: str, existing: set[str]) -> tuple[list[str], list[str]]:
    """Return the paths that are left, and the paths that were looked up."""
    looked_up: list[str] = []

    def exists(path: str) -> bool:
        looked_up.append(path)
        return path in existing

    found = [StoredObject(path, size, 0) for path, size in sorted(sizes.items())]
    return [each.path for each in without_folder_markers(found, folder, exists)], looked_up


def test_an_empty_object_with_the_path_of_a_folder_with_files_is_left_out_without_a_request() -> None:
    sizes = {"": 0, "p": 0, "p-1/a": 1, "p/a": 1, "p/q": 0, "p/q/b": 0, "p/q/b/c.parquet": 5}
    assert kept(sizes, "", set()) == (["p-1/a", "p/a", "p/q/b/c.parquet"], [])


def test_the_listed_folder_is_left_out() -> None:
    assert kept({".hoodie/.temp/1": 0}, ".hoodie/.temp/1", set()) == ([], [])


def test_an_empty_object_without_an_extension_is_kept_if_it_exists() -> None:
    sizes = {".hoodie/.heartbeat/1": 0, ".hoodie/.temp": 0, "p": 0}
    assert kept(sizes, "", {".hoodie/.heartbeat/1"}) == ([".hoodie/.heartbeat/1"], sorted(sizes))


def test_empty_files_with_an_extension_cost_no_request() -> None:
    sizes = {".hoodie/1.commit.requested": 0, ".hoodie/.temp/1/p/f.parquet.marker.CREATE": 0}
    assert kept(sizes, "", set()) == (sorted(sizes), [])
