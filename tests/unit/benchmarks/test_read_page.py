"""The results of reads are written into a page only if all systems returned the same rows for every read."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from bench.page_sections import PageError
from bench.read_cases import READ_CASES, ReadRound
from bench.read_page import PICTURE, write_read_page
from bench.scenarios import System

TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    path = tmp_path / "page.md"
    path.write_text("# A\n<!-- results of reads.py: begin -->\nold\n<!-- results of reads.py: end -->\n# B\n")
    return path


def rounds() -> Iterator[ReadRound]:
    """Two rounds of all reads. This engine takes 1 s and then 3 s, and each other system three times as long."""
    for case in READ_CASES:
        for system in case.systems:
            for number in (0, 1):
                seconds = (1.0 + 2 * number) * (1 if system is System.OURS else 3)
                yield ReadRound(
                    case=case.name,
                    system=system,
                    number=number,
                    seconds=seconds,
                    cpu_seconds=2 * seconds,
                    peak_memory_bytes=1,
                    rows=5,
                    checksum=7,
                )


def run_of(folder: Path, measured: list[ReadRound], scale: float = 1.0) -> Path:
    path = folder / "reads.json"
    facts = {"measured_at": "2026-11-28T03:00:00+00:00", "scale": scale, "rounds": [*map(asdict, measured)]}
    path.write_text(json.dumps(facts), encoding="utf-8")
    return path


def test_the_page_has_a_row_for_each_ratio_and_a_picture(page: Path, tmp_path: Path) -> None:
    write_read_page(run_of(tmp_path, [*rounds()]), page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# A\n")
    assert text.endswith("# B\n")
    assert "old" not in text
    assert "medians of 2 rounds" in text
    figures = f"| 2.0 (4.0) | 6.0 (12.0) | 3.00 {TIMES} |"
    assert f"| `full_scan` | plain Parquet {figures} at least 0.8 {TIMES} |" in text
    assert f"| `two_columns` | plain Parquet {figures}  |" in text
    assert f"| `point_query` | Hudi 1.2.0 {figures} at least 5 {TIMES}: missed |" in text
    picture = (tmp_path / "images" / PICTURE).read_text(encoding="utf-8")
    assert picture.count("this engine, 2.0 s") == len(READ_CASES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"checksum": 8}, "different rows for log_snapshot"),
        ({"case": "unknown"}, "log_snapshot was not measured with hudi"),
    ],
)
def test_incomplete_and_wrong_runs_are_refused_and_leave_the_page(
    page: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    before = page.read_text(encoding="utf-8")
    measured = [*rounds()]
    wrong = [ReadRound(**{**asdict(each), **change}) for each in measured[-2:]]
    with pytest.raises(PageError, match=message):
        write_read_page(run_of(tmp_path, [*measured[:-2], *wrong]), page)
    with pytest.raises(PageError, match="scale 0.1"):
        write_read_page(run_of(tmp_path, measured, scale=0.1), page)
    assert page.read_text(encoding="utf-8") == before
