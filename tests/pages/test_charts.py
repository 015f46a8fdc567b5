"""Charts: where things are drawn, what is said of them, and that they are whole drawings."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from discernmem.pages import charts, drawing, row_charts
from discernmem.pages.charts import Series
from discernmem.pages.drawing import HEIGHT, WIDTH, Axis, Scale
from discernmem.pages.row_charts import Pair, Parts, Spread
from discernmem.pages.strips import strip
from discernmem.projections.lifeline import Line, Stretch

HOSTILE = '<script>alert("x")</script> & \u202e'
SQUARE = Axis("across", 0, 10, ((0, "0"), (10, "10")))


def parsed(svg: Markup) -> ElementTree.Element:
    """A drawing as a tree; it must be whole."""
    found = ElementTree.fromstring(str(svg))
    assert found.tag == "svg"
    return found


def of_class(svg: Markup, name: str) -> list[ElementTree.Element]:
    return [each for each in parsed(svg).iter() if each.get("class") == name]


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path)]


# -- scales and axes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "value", "place"),
    [
        (Scale(0, 10, 100, 200), 5, 150),
        (Scale(0, 10, 200, 100), 0, 200),
        (Scale(-1, 1, 0, 10), 0, 5),
        (Scale(3, 3, 0, 10), 3, 5),
        (Scale(0.01, 1, 0, 10, log=True), 0.1, 5),
    ],
)
def test_a_scale_leads_from_values_to_places(scale: Scale, value: float, place: float) -> None:
    assert scale(value) == pytest.approx(place)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (drawing.counts("n", 12), ["0", "5", "10", "15"]),
        (drawing.counts("n", 1), ["0", "1"]),
        (drawing.counts("n", 5632), ["0", "2\u202f000", "4\u202f000", "6\u202f000"]),
        (drawing.shares("s"), ["0%", "25%", "50%", "75%", "100%"]),
        (drawing.shares("s", 0.07), ["0%", "2%", "4%", "6%", "8%", "10%"]),
        (drawing.tasks(20), ["5", "10", "15", "20"]),
        (drawing.tasks(1), ["1"]),
        (drawing.tasks(7267), ["2\u202f000", "4\u202f000", "6\u202f000", "7\u202f267"]),
        (drawing.ages(0.05), ["1%", "10%", "100%"]),
        (drawing.ages(0.0002), ["0.01%", "0.1%", "1%", "10%", "100%"]),
        (drawing.ages(1.0), ["10%", "100%"]),
        (drawing.values("v", [0, 5, 20]), ["0", "5", "20"]),
    ],
)
def test_an_axis_names_round_values(axis: Axis, ticks: list[str]) -> None:
    assert [said for _, said in axis.ticks] == ticks
    assert all(axis.low <= value <= axis.high for value, _ in axis.ticks)


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), max_size=5))
def test_an_axis_of_scores_holds_all_of_them_and_names_a_few(values: list[float]) -> None:
    axis = drawing.scores("score", values)
    assert all(axis.low <= value <= axis.high for value in values)
    assert 2 <= len(axis.ticks) <= 7
    assert len({said for _, said in axis.ticks}) == len(axis.ticks)


@pytest.mark.parametrize("values", [[0.0], [1.0], [0.0, 0.01], [0.99, 1.0], [0.2, 0.9], [0, 1]])
def test_an_axis_of_scores_ends_where_scores_do(values: list[float]) -> None:
    axis = drawing.scores("score", values)
    assert 0 <= axis.low < axis.high <= 1
    assert drawing.scores("gain", [-0.1, *values]).low < -0.1


@given(st.integers(1, 100_000))
def test_the_end_of_a_stream_is_always_named(last: int) -> None:
    axis = drawing.tasks(last)
    assert axis.ticks[-1][0] == last
    places = [axis.scale(0, 362)(value) for value, _ in axis.ticks]
    assert all(after - before > 25 for before, after in pairwise(places))


@pytest.mark.parametrize(
    ("value", "said"), [(1.0, "1"), (0.333333, "0.33"), (-0.001, "0"), (120.5, "120.5")]
)
def test_places_have_two_decimals_at_most(value: float, said: str) -> None:
    assert drawing.place(value) == said


def test_what_does_not_fit_is_cut_visibly() -> None:
    assert drawing.fitting("without", 100) == "without"
    assert drawing.fitting("without=meta-memory.db", 60) == "without=…"


# -- charts ------------------------------------------------------------------------------------


def test_a_line_runs_through_its_points() -> None:
    svg = charts.lines("t", "d", [Series(name="", points=((0, 0), (5, 10)))], SQUARE, SQUARE)
    (line,) = of_class(svg, "line")
    left, right = drawing.LEFT, WIDTH - drawing.RIGHT
    assert points(line.attrib["d"]) == [
        (left, HEIGHT - drawing.BOTTOM),
        ((left + right) / 2, 10),
    ]


def test_a_band_goes_there_above_and_back_below() -> None:
    one = Series(name="", points=((0, 5), (10, 5)), low=(0, 0), high=(10, 10))
    (band,) = of_class(charts.lines("t", "d", [one], SQUARE, SQUARE), "band")
    ys = [y for _, y in points(band.attrib["d"])]
    assert ys == [10, 10, HEIGHT - drawing.BOTTOM, HEIGHT - drawing.BOTTOM]
    assert band.attrib["d"].endswith("Z")


def test_a_dozen_lines_look_different() -> None:
    many = [Series(name=str(n), points=((0, n), (10, 10))) for n in range(12)]
    root = parsed(charts.lines("t", "d", many, SQUARE, SQUARE))
    drawn = [each.attrib["class"] for each in root.iter() if each.tag == "path"]
    assert len(set(drawn)) == 12
    key = [each.attrib["class"] for each in root.iter() if each.get("class") in drawn]
    assert key[:12] == drawn


def test_a_line_of_one_point_is_a_dot() -> None:
    svg = charts.lines("t", "d", [Series(name="", points=((5, 5),))], SQUARE, SQUARE)
    assert of_class(svg, "line") == []
    assert len(of_class(svg, "dot")) == 1


def test_many_lines_differ_in_their_looks_and_are_named() -> None:
    many = [Series(name=f"run {n}", points=((0, n), (10, n))) for n in range(6)]
    svg = charts.lines("t", "d", many, SQUARE, SQUARE)
    for number in range(6):
        looks = f"line-{number + 1}" if number else "line"
        # One in the chart, one beside its name.
        assert len(of_class(svg, looks)) == 2
    names = [each.text for each in parsed(svg).iter("text")]
    assert [f"run {n}" for n in range(6)] == [n for n in names if n and n.startswith("run")]


def test_names_that_are_too_long_for_a_row_go_to_the_next() -> None:
    parts, height = drawing.legend([("line", "x" * 40), ("line-2", "y" * 40)])
    ys = re.findall(r'<text x="[\d.]+" y="(\d+)"', "".join(parts))
    assert ys == ["12", "30"]
    assert height == 38


def test_uniform_reuse_is_the_diagonal() -> None:
    axis = drawing.shares("s")
    svg = charts.lines(
        "t", "d", [Series(name="", points=((0, 0), (1, 1)))], axis, axis, diagonal=True
    )
    (diagonal,), (line,) = of_class(svg, "diagonal"), of_class(svg, "line")
    assert points(diagonal.attrib["d"]) == points(line.attrib["d"])


def test_layers_lie_upon_each_other() -> None:
    svg = charts.areas(
        "t", "d", [("active", [4, 4]), ("inactive", [0, 6])], [0, 10], SQUARE, SQUARE
    )
    # The first of each class is beside the name.
    _, below = of_class(svg, "fill-active")
    _, above = of_class(svg, "fill-inactive")
    lower = points(below.attrib["d"])
    upper = points(above.attrib["d"])
    assert lower[:2] == upper[:1:-1]
    # Below the names of the layers.
    assert upper[1][1] == 30


def test_columns_stand_on_the_floor_and_are_as_high_as_their_value() -> None:
    bars = [("1", 2.0, "2"), ("2", 1.0, "1"), ("3", 0.0, "0")]
    found = [each.attrib for each in of_class(charts.columns("t", "d", bars, "times"), "bar")]
    heights = [float(each["height"]) for each in found]
    assert heights[0] == 2 * heights[1]
    assert heights[2] == 0
    assert len({float(each["y"]) + float(each["height"]) for each in found}) == 1


def test_the_highest_of_a_sweep_is_marked_and_every_equal_one() -> None:
    def point(name: str, value: float) -> Spread:
        return Spread(name=name, low=value - 0.1, value=value, high=value + 0.1, says=f"{value}")

    two = [point("0", 0.2), point("1", 0.5), point("2", 0.5), point("5", 0.3)]
    svg = charts.sweep("t", "d", two, "k", drawing.scores("score", [0.1, 0.6]))
    best, dots = of_class(svg, "best"), of_class(svg, "dot")
    assert [each.get("cx") for each in best] == [dots[1].get("cx"), dots[2].get("cx")]
    assert {float(each.attrib["cy"]) for each in best} == {min(float(d.attrib["cy"]) for d in dots)}
    xs = [float(each.attrib["cx"]) for each in dots]
    # As far apart as the values, not as their order.
    assert xs[3] - xs[2] == pytest.approx(3 * (xs[1] - xs[0]), abs=0.05)


def test_parts_fill_the_whole_bar() -> None:
    row = Parts(name="", parts=(("provisional", 0.25), ("active", 0.0), ("inactive", 0.75)))
    svg = row_charts.stacks("t", "d", [row])
    rects = [each for each in parsed(svg).iter("rect") if each.get("height") == "26"]
    widths = [float(each.attrib["width"]) for each in rects]
    assert widths == [WIDTH / 4, 0, WIDTH * 3 / 4]
    said = [each.text for each in parsed(svg).iter("text")]
    assert "25.0\u202f%" in said
    assert "0.0\u202f%" not in said


def test_the_share_of_a_narrow_part_is_said_beside_that_of_its_neighbour() -> None:
    parts = (("provisional", 0.71), ("active", 0.24), ("inactive", 0.05))
    svg = row_charts.stacks("t", "d", [Parts(name="", parts=parts)])
    said = [each for each in parsed(svg).iter("text") if (each.text or "").endswith("%")]
    assert [each.text for each in said] == ["71.0\u202f%", "24.0\u202f%", "5.0\u202f%"]
    ends = [float(e.attrib["x"]) + drawing.width_of(e.text or "") for e in said]
    assert ends[1] < float(said[2].attrib["x"])
    assert ends[2] <= WIDTH


def test_the_hollow_dot_is_the_share_of_the_store() -> None:
    row = Pair(name="a", hollow=0.1, filled=0.4, says="")
    svg = row_charts.pairs("t", "d", [row], ("store", "injections"))
    hollow, filled = of_class(svg, "hollow")[-1], of_class(svg, "dot")[-1]
    x = drawing.shares("", 0.4).scale(10, WIDTH - 24)
    assert float(hollow.attrib["cx"]) == pytest.approx(x(0.1), abs=0.01)
    assert float(filled.attrib["cx"]) == pytest.approx(x(0.4), abs=0.01)


def test_whiskers_reach_from_low_to_high_and_zero_is_shown_where_it_is_between() -> None:
    row = Spread(name="a", low=-0.5, value=0.1, high=0.5, says="")
    axis = drawing.scores("", [-0.5, 0.5])
    svg = row_charts.whiskers("t", "d", [row], axis)
    x = axis.scale(10, WIDTH - 24)
    line = of_class(svg, "whisker")[0].attrib
    assert (float(line["x1"]), float(line["x2"])) == (
        pytest.approx(x(-0.5), abs=0.01),
        pytest.approx(x(0.5), abs=0.01),
    )
    assert float(of_class(svg, "diagonal")[0].attrib["x1"]) == pytest.approx(x(0), abs=0.01)
    above = Spread(name="a", low=0.1, value=0.2, high=0.5, says="")
    assert of_class(row_charts.whiskers("t", "d", [above], drawing.ages(0.1)), "diagonal") == []


def test_lying_bars_are_as_long_as_their_value() -> None:
    svg = row_charts.bars("t", "d", [("a", 3.0, ""), ("b", 12.0, "")], 12.0)
    assert [float(each.attrib["width"]) for each in of_class(svg, "bar")] == [WIDTH / 4, WIDTH]


def every_chart(said: str) -> dict[str, Markup]:
    spread = Spread(name=said, low=0.1, value=0.2, high=0.3, says=said)
    number = Spread(name="1", low=0.1, value=0.2, high=0.3, says=said)
    axis = Axis(said, 0, 10, ((0, said), (10, said)))
    series = [Series(name=said, points=((0, 0), (10, 10)))]
    return {
        "lines": charts.lines(said, said, series, axis, axis),
        "areas": charts.areas(said, said, [("active", [1, 2])], [0, 10], axis, axis),
        "columns": charts.columns(said, said, [(said, 1.0, said)], said),
        "sweep": charts.sweep(said, said, [number], said, drawing.scores(said, [0.1, 0.3])),
        "stacks": row_charts.stacks(said, said, [Parts(name=said, parts=(("active", 1.0),))]),
        "pairs": row_charts.pairs(
            said, said, [Pair(name=said, hollow=0.1, filled=0.2, says=said)], (said, said)
        ),
        "whiskers": row_charts.whiskers(said, said, [spread], drawing.scores(said, [0.1, 0.3])),
        "bars": row_charts.bars(said, said, [(said, 1.0, said)], 2.0),
    }


@pytest.mark.parametrize("name", sorted(every_chart("x")))
def test_a_chart_says_what_it_shows_and_escapes_it(name: str) -> None:
    svg = every_chart(HOSTILE)[name]
    root = parsed(svg)
    assert root.get("role") == "img"
    assert [root[0].tag, root[1].tag] == ["title", "desc"]
    assert root[0].text == root[1].text == HOSTILE.replace("\u202e", r"\u202e")
    assert "<script" not in svg
    assert "style=" not in svg


@pytest.mark.parametrize("name", sorted(every_chart("x")))
def test_everything_is_drawn_inside_the_picture(name: str) -> None:
    root = parsed(every_chart("a word")[name])
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert width == WIDTH
    for each in root.iter():
        for key in ("x", "x1", "x2", "cx"):
            assert 0 <= float(each.get(key, 0)) <= width, each.attrib
        for key in ("y", "y1", "y2", "cy"):
            assert 0 <= float(each.get(key, 0)) <= height, each.attrib


# -- the small life line -----------------------------------------------------------------------


def line(*stretches: tuple[int, str, int], begun: int = 10) -> Line:
    return Line(
        tasks=10,
        begun=begun,
        stretches=tuple(
            Stretch(after=after, state=state, version=version)  # type: ignore[arg-type]
            for after, state, version in stretches
        ),
        marks=(),
    )


def test_a_strip_is_as_long_as_the_memory_has_lived() -> None:
    svg = strip(line((2, "provisional", 1), (5, "active", 1), begun=8), "m1")
    (provisional,), (active,) = of_class(svg, "fill-provisional"), of_class(svg, "fill-active")
    assert provisional.get("d") == "M32 3h48v5h-48z"
    assert active.get("d") == "M80 0h48v8h-48z"


def test_a_strip_marks_new_versions_only() -> None:
    svg = strip(line((1, "active", 1), (3, "provisional", 2), (6, "inactive", 2)), "m1")
    (turn,) = of_class(svg, "turn")
    assert turn.get("d") == "M48 0v9"


def test_a_memory_admitted_at_the_very_end_has_a_strip_too() -> None:
    svg = strip(line((10, "provisional", 1)), "m1")
    (shape,) = of_class(svg, "fill-provisional")
    assert shape.get("d") == "M158 3h2v5h-2z"


def test_a_strip_shows_the_state_a_memory_came_to_at_the_very_end() -> None:
    svg = strip(line((2, "provisional", 1), (4, "active", 1), (10, "inactive", 1)), "m1")
    (active,), (inactive,) = of_class(svg, "fill-active"), of_class(svg, "fill-inactive")
    assert active.get("d") == "M64 0h94v8h-94z"
    assert inactive.get("d") == "M158 6h2v2h-2z"
