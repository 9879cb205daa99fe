"""The results of a run are written into a page only if they are complete and right."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bench.page_sections import PageError
from bench.result_page import PICTURE, write_result_page
from bench.results import Result
from bench.scenarios import System

BEGIN, END = (f"<!-- results of make bench: {edge} -->" for edge in ("begin", "end"))


def result(system: System, seconds: float, **other: Any) -> dict[str, Any]:
    facts = {
        "scenario": "bulk_insert",
        "system": system,
        "seconds": (seconds,),
        "peak_memory_bytes": (1 << 30,),
        "write_seconds": (seconds,),
        "row_count": 1,
        "file_count": 1,
        "storage_bytes": 1,
        "correct": True,
    }
    return asdict(Result(**{**facts, **other}))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    return path


def run_of(folder: Path, *results: dict[str, Any], scale: float = 1.0) -> Path:
    path = folder / "run.json"
    document = {
        "measured_at": "2026-11-27T20:00:00+00:00",
        "scale": scale,
        "settings": {"master": "local[2]", "repeat": "1"},
        "machine": {"cores": 2},
        "results": results,
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_the_page_has_a_row_for_each_ratio_and_a_picture(page: Path, tmp_path: Path) -> None:
    run = run_of(tmp_path, result(System.OURS, 1.0), result(System.HUDI, 123.0))
    write_result_page(run, page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    row = (
        "| `bulk_insert` | 1.0 s | Hudi 1.2.0 | 123 s | speed | 123.00 \N{MULTIPLICATION SIGN} | at least 4 "
    )
    assert row in text
    assert "memory | 1.00 \N{MULTIPLICATION SIGN} | at most 0.4 \N{MULTIPLICATION SIGN}: missed |" in text
    picture = (tmp_path / "images" / PICTURE).read_text(encoding="utf-8")
    assert picture.index("this engine, 1.0 s") < picture.index("Hudi 1.2.0, 123 s")


@pytest.mark.parametrize(
    ("results", "scale", "message"),
    [
        ([result(System.OURS, 1.0)], 1.0, "hudi in bulk_insert"),
        ([result(System.OURS, 1.0, correct=False), result(System.HUDI, 1.0)], 1.0, "wrong rows: bulk_insert"),
        ([result(System.OURS, 1.0), result(System.HUDI, 1.0)], 0.1, "scale 0.1"),
    ],
)
def test_other_runs_are_refused_and_leave_the_page(
    page: Path, tmp_path: Path, results: list[dict[str, Any]], scale: float, message: str
) -> None:
    before = page.read_text(encoding="utf-8")
    run = run_of(tmp_path, *results, scale=scale)
    with pytest.raises(PageError, match=message):
        write_result_page(run, page)
    assert page.read_text(encoding="utf-8") == before
