"""Pictures of figures are complete SVG documents."""

from itertools import pairwise
from xml.etree import ElementTree

from bench.pictures import Bar, LinePlot, bars_picture

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_as_long_as_their_shares_of_the_longest_bar_in_the_group() -> None:
    group = [Bar("fast & small", 1.0, "#000"), Bar("slow", 4.0, "#111")]
    picture = ElementTree.fromstring(bars_picture("title", [("first", group), ("second", group[:1])]))
    widths = [float(each.attrib["width"]) for each in picture.iter(f"{SVG}rect")]
    assert widths[0] * 4 == widths[1] == widths[2]
    assert {each.text for each in picture.iter(f"{SVG}text")} >= {"first", "second", "fast & small", "slow"}


def test_a_power_law_is_a_straight_line_and_labels_do_not_overlap() -> None:
    lines = {f"line {n}": [(10.0**x, (1 + n / 1000) * 10.0 ** (x - 3)) for x in (1, 2, 3)] for n in range(10)}
    plot = LinePlot(
        title="title", lines=lines, x_name="groups", y_name="seconds", limit=0.5, limit_name="a target"
    )
    picture = ElementTree.fromstring(plot.svg())
    drawn = [*picture.iter(f"{SVG}polyline")]
    assert len(drawn) == len(lines)
    for each in drawn:
        (x1, y1), (x2, y2), (x3, y3) = (
            map(float, point.split(",")) for point in each.attrib["points"].split()
        )
        assert abs((x2 - x1) - (x3 - x2)) < 0.2
        assert abs((y2 - y1) - (y3 - y2)) < 0.2
        assert y1 > y3
    labels = [each for each in picture.iter(f"{SVG}text") if (each.text or "").startswith("line ")]
    heights = sorted(float(each.attrib["y"]) for each in labels)
    assert len(heights) == len(lines)
    assert all(lower - upper > 13 for upper, lower in pairwise(heights))
    assert heights[0] > 0
    assert "a target" in {each.text for each in picture.iter(f"{SVG}text")}
