"""How a figure grows with the size of a table: the slope of a line through logarithms."""

from collections.abc import Sequence
from math import log


def log_log_slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the exponent `b` of the power law ``y = a * x**b`` that fits the points best, by least squares.

    The squares are those of logarithms. 0 means that the figure does not depend on the size; 1 means that it grows in
    proportion to the size.

    Raises:
        ValueError: there are fewer than two different sizes, or a value is not positive.
    """
    if len({x for x, _ in points}) < 2:
        raise ValueError("A slope needs at least two different sizes.")
    if any(x <= 0 or y <= 0 for x, y in points):
        raise ValueError("A slope needs positive sizes and figures.")
    sizes, figures = [log(x) for x, _ in points], [log(y) for _, y in points]
    middle, level = sum(sizes) / len(sizes), sum(figures) / len(figures)
    products = sum((x - middle) * (y - level) for x, y in zip(sizes, figures, strict=True))
    return products / sum((x - middle) ** 2 for x in sizes)
