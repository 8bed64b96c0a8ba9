# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmark's arithmetic, drawings and verdicts. Nothing is timed here."""

import argparse
import os
import sys
from xml.etree import ElementTree

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../bench"))

# pylint: disable=wrong-import-position
import bench
import curves
import svg
import targets
import testbed
from measure import Failed, Rounds, interleave, run, workload
from table import number

SVG = "{http://www.w3.org/2000/svg}"
SHELL_DOUBLES = 'while read -r a b; do echo "a word of a tool"; echo $((2 * b)); done'


def rounds_of(**rows):
    return Rounds({name: {"": values} for name, values in rows.items()})


def test_ratios_are_taken_within_rounds():
    rounds = rounds_of(ours=[2.0, 30.0, 4.4], floor=[1.0, 10.0, 4.0])
    assert rounds.median("ours") == 4.4
    assert rounds.ratio("ours", "floor") == 2.0


def test_missing_figures_are_left_out_of_the_median():
    rounds = rounds_of(ours=[2.0, None, 6.0], floor=[1.0, 1.0, None])
    assert rounds.median("ours") == 4.0
    assert rounds.ratio("ours", "floor") == 2.0
    assert rounds.median("nobody") is None
    assert rounds.ratio("ours", "nobody") is None


def test_failing_row_does_not_affect_others():
    turns = []

    def breaks():
        turns.append("breaks")
        if turns.count("breaks") == 2:
            raise Failed("for a reason")
        return {"": 7.0}

    result = interleave({"good": (lambda: {"": 1.0}, 99), "bad": (breaks, 99),
                         "slow": (lambda: {"": 3.0}, 1)}, 3)
    assert result.figures["good"][""] == [1.0, 1.0, 1.0]
    assert result.figures["bad"][""] == [7.0, None, None]
    assert result.figures["slow"][""] == [3.0, None, None]
    assert result.failed == {"bad": "for a reason"}
    assert turns == ["breaks", "breaks"]


def test_late_columns_keep_their_round():
    answers = iter([{"a": 1.0}, {"a": 2.0, "b": 3.0}])
    result = interleave({"row": (lambda: next(answers), 99)}, 2)
    assert result.figures["row"] == {"a": [1.0, 2.0], "b": [None, 3.0]}


def test_other_output_between_answers_is_ignored():
    with workload(["sh", "-c", SHELL_DOUBLES]) as program:
        assert program.ask("twice", 21) == 42.0
        assert program.ask("twice", 4) == 8.0


def test_failures_of_programs_are_explained():
    with workload(["true"]) as program, pytest.raises((Failed, OSError)):
        program.ask("anything")
    with pytest.raises(Failed, match="status 3: words"):
        run(["sh", "-c", "echo words >&2; exit 3"])
    with pytest.raises(Failed, match="No such file"):
        run(["/nowhere/at-all"])


def a_curve(**series):
    return {"title": "Cost & more", "file": "cost", "x": "blocks", "y": "ns", "series": series}


def drawn(curve):
    """The points of each line of the drawing."""
    tree = ElementTree.fromstring(svg.draw(curve))
    return tree, [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
                  for line in tree.iter(f"{SVG}polyline")]


def test_curves_are_drawn():
    tree, lines = drawn(a_curve(ours=[[1000, 10], [10**7, 300]], native=[[1000, 1], [10**7, 9.5]]))
    assert [len(line) for line in lines] == [2, 2]
    for x, y in sum(lines, []):
        assert svg.LEFT <= x <= svg.WIDTH - svg.RIGHT and svg.TOP <= y <= svg.HEIGHT - svg.BOTTOM
    assert lines[0][0][0] == lines[1][0][0] and lines[0][0][1] < lines[1][0][1]
    words = [text.text for text in tree.iter(f"{SVG}text")]
    assert {"Cost & more", "blocks", "ns", "ours", "native", "1k", "10M"} <= set(words)
    assert "prefers-color-scheme:dark" in tree.find(f"{SVG}style").text


def test_line_labels_do_not_overlap():
    places = svg.apart({"a": 351.0, "b": 352.0, "c": 351.5})
    ordered = sorted(places.values())
    assert all(b - a >= svg.LINE_HEIGHT for a, b in zip(ordered, ordered[1:]))
    assert ordered[-1] <= svg.HEIGHT - svg.BOTTOM


def test_zero_is_not_drawn_on_a_log_scale():
    _, lines = drawn(a_curve(ours=[[1, 0.0], [10, 5.0]]))
    assert [len(line) for line in lines] == [1]
    assert svg.draw(a_curve(ours=[[1, 0.0]])) is None


def test_failed_series_is_not_measured_again():
    points = curves.Points()

    def breaks():
        raise Failed("for a reason")

    points.measure("bad", lambda _: None, breaks)
    points.measure("bad", lambda _: None, lambda: points.add("bad", 1, 1))
    for y in (3, 1, 2):
        points.add("good", 1, y)
    assert points.series() == {"good": [[1, 2]]}
    assert points.failed == {"bad": "for a reason"}


def test_targets_without_figures_have_no_verdict():
    told = targets.compare({})
    assert len(told) == len(targets.TARGETS)
    assert {target["reached"] for target in told} == {None}


def test_targets_are_compared_with_their_figures():
    figures = {targets.NO_STACK: {"": [11.0, 12.0, 13.0]}, targets.FLOOR_ROW: {"": [10.0] * 3}}
    told = targets.compare({"pairs": {"figures": figures, "bystander_bytes_changed": 1},
                          "losses": {"losses": {"events": 0, "dropped_records": 0}}})
    reached = {target["target"]: target["reached"] for target in told}
    assert reached["stack off / floor"] is False
    assert reached["bystander of -p: bytes of code changed"] is False
    assert reached["dropped events, all processors busy with real programs"] is True
    assert reached["exact stacks of 16 frames / floor"] is None


def test_parts_are_chosen_by_name():
    assert bench.part_list("pairs,threads") == ["pairs", "threads"]
    with pytest.raises(argparse.ArgumentTypeError, match="nonsense is not a part; choose from"):
        bench.part_list("pairs,nonsense")


def test_numbers_are_rounded_to_significant_digits():
    assert [number(n) for n in (None, 0.123, 12.34, 1234.5)] == ["-", "0.12", "12.3", "1,234"]


def test_machine_is_described():
    told = testbed.describe("/nowhere/at-all")
    assert told["kernel"].startswith("Linux ") and told["processors"] >= 1
    assert told["memory_bytes"] > 0 and told["versions"]["mtrace-bpf"] is None
