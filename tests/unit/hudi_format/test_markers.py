"""Markers: direct marker files and lines in files of the timeline server."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.hudi_format.markers import (
    Marker,
    MarkerKind,
    decode_markers_file,
    marker_path,
    parse_marker,
    parse_marker_path,
)
from hudi_table_services.model.table_path import may_hold_data

FILE = "f1-0_0-1-2_20261121051545305.parquet"
PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1).filter(
    may_hold_data
)


def test_a_direct_marker_is_below_the_folder_of_its_instant() -> None:
    path = marker_path("20261121051545305", f"2026/11/{FILE}", MarkerKind.CREATE)
    assert path == f".hoodie/.temp/20261121051545305/2026/11/{FILE}.marker.CREATE"


@given(PATHS, st.sampled_from(MarkerKind))
def test_a_parsed_marker_path_gives_the_marker(path: str, kind: MarkerKind) -> None:
    assert parse_marker_path(marker_path("20261121051545305", path, kind)) == Marker(path, kind)


@given(st.lists(st.tuples(PATHS, st.sampled_from(MarkerKind)), max_size=5))
def test_every_line_of_a_timeline_servers_file_is_a_marker(markers: list[tuple[str, MarkerKind]]) -> None:
    text = "".join(f"{path}.marker.{kind.value}\n" for path, kind in markers)
    assert decode_markers_file(text) == tuple(Marker(*marker) for marker in markers)


def test_a_file_of_hudis_timeline_server_is_decoded() -> None:
    text = f"a/{FILE}.marker.MERGE\nb/{FILE}.marker.CREATE\n"
    assert decode_markers_file(text) == (
        Marker(f"a/{FILE}", MarkerKind.MERGE),
        Marker(f"b/{FILE}", MarkerKind.CREATE),
    )


@pytest.mark.parametrize(
    "name",
    [
        "",
        "MARKERS.type",
        FILE,
        f"{FILE}.marker.",
        f"{FILE}.marker.DELETE",
        ".marker.CREATE",
        f"../{FILE}.marker.CREATE",
        f"/{FILE}.marker.CREATE",
    ],
)
def test_other_names_are_not_markers(name: str) -> None:
    with pytest.raises(MalformedFileNameError):
        parse_marker(name)


@given(st.text())
def test_arbitrary_text_raises_only_malformed_file_name(text: str) -> None:
    for parse in (parse_marker, parse_marker_path, decode_markers_file):
        with contextlib.suppress(MalformedFileNameError):
            parse(text)


def test_a_path_outside_the_temp_folder_is_not_a_marker() -> None:
    with pytest.raises(MalformedFileNameError):
        parse_marker_path(f"a/{FILE}.marker.CREATE")
