"""The growth of figures with the size of a table, and the comparison of figures with targets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scale.growth import log_log_slope
from scale.measuring import Measurement
from scale.targets import LIMITS, slopes, verdicts


@given(st.floats(0.01, 100), st.floats(-1, 3))
def test_the_slope_of_a_power_law_is_its_exponent(factor: float, exponent: float) -> None:
    points = [(size, factor * size**exponent) for size in (1_000.0, 10_000.0, 100_000.0)]
    assert log_log_slope(points) == pytest.approx(exponent, abs=1e-6)


@pytest.mark.parametrize("points", [[], [(10.0, 1.0)], [(10.0, 1.0), (10.0, 2.0)], [(1.0, 1.0), (2.0, 0.0)]])
def test_a_slope_needs_two_sizes_and_positive_figures(points: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="A slope needs"):
        log_log_slope(points)


def a_measurement(operation: str = "sensor", groups: int = 1_000, **fields: float) -> Measurement:
    figures = {"seconds": 0.1, "cpu_s": 0.05, "median_seconds": 0.1, "median_requests": 3.0, "peak_mib": 90.0}
    return Measurement(
        operation=operation,
        kind="cow9",
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
