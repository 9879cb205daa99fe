"""Paths in plans and markers are accepted only if they are inside of the table."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.table_path import is_inside_table, may_hold_data

NAMES = st.sampled_from(["", ".", "..", "a", "...", "b c", ".hoodie", "a\n", "'; rm -rf /", "..a"])


@given(st.lists(NAMES, max_size=5).map("/".join))
def test_an_accepted_path_is_below_the_base_path(path: str) -> None:
    if is_inside_table(path):
        full = posixpath.normpath(posixpath.join("/base/t", path))
        assert full == ("/base/t/" + path).rstrip("/")


@pytest.mark.parametrize("path", ["", "a", "a/b=c", "...", "a b\n'\"$(x);/..a", ".hoodiex"])
def test_unusual_partition_paths_are_accepted(path: str) -> None:
    assert may_hold_data(path)


@pytest.mark.parametrize(
    "path", ["..", "a/..", "/a", "a//b", "a/", "./a", "a\0", ".hoodie", ".hoodie/metadata/x"]
)
def test_paths_that_may_leave_the_table_are_refused(path: str) -> None:
    assert not may_hold_data(path)
