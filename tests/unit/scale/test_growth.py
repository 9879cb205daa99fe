"""The growth of figures with the size of a table, and the comparison of figures with targets."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scale import report
from scale.growth import log_log_slope
from scale.measuring import Measurement
from scale.page import PAGE
from scale.report import print_report, write_result
from scale.targets import LIMITS, slopes, verdicts


@given(st.floats(0.01, 100), st.floats(-1, 3))
def test_the_slope_of_a_power_law_is_its_exponent(factor: float, exponent: float) -> None:
    points = [(size, factor * size**exponent) for size in (1_000.0, 10_000.0, 100_000.0)]
    assert log_log_slope(points) == pytest.approx(exponent, abs=1e-6)


@pytest.mark.parametrize("points", [[], [(10.0, 1.0)], [(10.0, 1.0), (10.0, 2.0)], [(1.0, 1.0), (2.0, 0.0)]])
def test_a_slope_needs_two_sizes_and_positive_figures(points: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="A slope needs"):
        log_log_slope(points)


def a_measurement(
    operation: str = "sensor", groups: int = 1_000, kind: str = "cow9", **fields: float
) -> Measurement:
    figures = {"seconds": 0.1, "cpu_s": 0.05, "median_seconds": 0.1, "median_requests": 3.0, "peak_mib": 90.0}
    return Measurement(
        operation=operation,
        kind=kind,
        groups=groups,
        store="disk",
        requests={"GET": 2, "LIST": 1},
        found={"instants": 0},
        **{**figures, **fields},
    )


def test_each_limit_is_compared_with_its_figure() -> None:
    found = {each.name: each.is_met for each in verdicts(a_measurement(seconds=0.3), uses_cpu_time=False)}
    assert found == {"seconds": False, "requests": True}
    found = {each.name: each.is_met for each in verdicts(a_measurement(seconds=0.3), uses_cpu_time=True)}
    assert found == {"cpu s": True, "requests": True}


def test_growth_faster_than_the_size_is_found() -> None:
    measured = [a_measurement(groups=1_000, cpu_s=0.1), a_measurement(groups=10_000, cpu_s=2.0)]
    found = {each.name: each.is_met for each in slopes(measured)}
    assert found == {"slope of cpu s": False, "slope of requests": True, "slope of peak MiB": True}
    assert list(slopes(measured[:1])) == []


def test_every_operation_has_limits() -> None:
    from scale.operations import OPERATIONS

    assert set(OPERATIONS) == set(LIMITS)


def test_the_report_counts_missed_targets_of_figures_and_growth(capsys: pytest.CaptureFixture[str]) -> None:
    measured = [a_measurement(groups=1_000, cpu_s=0.1), a_measurement(groups=10_000, cpu_s=2.0, seconds=0.3)]
    assert print_report(measured[:1], uses_cpu_time=False) == 0
    assert "All targets are met." in capsys.readouterr().out
    assert print_report(measured, uses_cpu_time=False) == 2
    printed = capsys.readouterr().out
    assert "seconds 0.30, target at most 0.2" in printed
    assert "slope of cpu s 1.30, target at most 1.1" in printed


def test_the_result_document_contains_figures_targets_and_growth(tmp_path: Path) -> None:
    measured = [a_measurement(groups=1_000, cpu_s=0.1), a_measurement(groups=10_000, cpu_s=0.2)]
    write_result(tmp_path / "results" / "x.json", measured, wait_ms=20.0, uses_cpu_time=True)
    document = json.loads((tmp_path / "results" / "x.json").read_text())
    assert [each["groups"] for each in document["measurements"]] == [1_000, 10_000]
    assert [each["is_met"] for each in document["measurements"][0]["targets"]] == [True, True]
    assert len(document["growth"][0]["slopes"]) == 3
    assert (document["compared"], document["request_ms"]) == ("cpu_s", 20.0)


def test_the_page_shows_the_largest_table_and_all_slopes(tmp_path: Path) -> None:
    page = tmp_path / "scale.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "images").mkdir()
    measured = [
        a_measurement(groups=groups, cpu_s=0.1, seconds=0.4, kind=kind)
        for groups in (1_000, 10_000)
        for kind in ("cow9", "mor9")
    ]
    report.write_page(measured, uses_cpu_time=False, page=page)
    assert "sensor, 0.4<" in (tmp_path / "images" / "scale-seconds-disk.svg").read_text(encoding="utf-8")
    written = page.read_text(encoding="utf-8")
    assert "| sensor | cow9 | disk | 0.40 | 90 | 3 | 1 LIST, 2 GET | seconds above 0.2 |" in written
    assert "| sensor | cow9 | disk | 1,000, 10,000 | 0.00 | 0.00 | 0.00 |" in written
