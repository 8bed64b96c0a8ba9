#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the benchmark's curves: svg.py FILE.json DIRECTORY writes one SVG for each.

Plain lines on logarithmic axes, with names at their ends. The line colours work on light and dark
backgrounds; text and axes follow the reader's colour scheme.
"""
import argparse
import json
import math
import os
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 200, 44, 48
COLOURS = ("#2f7ed8", "#d9730d", "#2a9d5c", "#c0392b", "#8e5bd0", "#8a8a8a")
LINE_HEIGHT = 14
STYLE = """text{font:12px sans-serif;fill:#24292f}.title{font-size:14px;font-weight:bold}
.axis{stroke:#57606a}.grid{stroke:#57606a;stroke-opacity:.2}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.axis{stroke:#8b949e}.grid{stroke:#8b949e}}"""


def short(value):
    """A label: 0.5, 20, 3k, 10M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def decades(low, high):
    """Round figures within the range, enough for an axis."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        marks = [step * 10.0**e for e in exponents for step in steps]
        marks = [mark for mark in marks if low <= mark * 1.0001 and mark <= high * 1.0001]
        if len(marks) >= 4:
            break
    return marks


class Axis:
    """Maps values to positions on a logarithmic scale."""

    def __init__(self, values, start, end):
        low, high = min(values), max(values)
        if low == high:
            low, high = low / 2, high * 2
        self.low, self.high, self.start, self.end = low, high, start, end

    def place(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def marks(self):
        return decades(self.low, self.high)


def apart(places):
    """Moves positions, in order, so that lines of text do not overlap."""
    moved = {}
    last = -math.inf
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        last = max(place, last + LINE_HEIGHT)
        moved[name] = last
    below = last - (HEIGHT - BOTTOM)
    return {name: place - max(below, 0) for name, place in moved.items()}


def grid(x, y, names):
    """Grid lines with their figures, and the axis titles."""
    out = []
    for mark in x.marks():
        at = x.place(mark)
        out.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
                   f'<text x="{at}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                   f'{short(mark)}</text>')
    for mark in y.marks():
        at = y.place(mark)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>'
                   f'<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{short(mark)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}'
               f'H{WIDTH - RIGHT}"/>')
    out.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">'
               f'{escape(names[0])}</text>')
    out.append(f'<text x="8" y="{TOP - 8}">{escape(names[1])}</text>')
    return out


def line(points, colour):
    path = " ".join(f"{x},{y}" for x, y in points)
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points)
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>{dots}'


def draw(curve):
    """Returns the SVG of a curve as text, or None if there is nothing to draw."""
    series = {name: [(x, y) for x, y in points if x > 0 and y > 0]
              for name, points in curve["series"].items()}
    series = {name: points for name, points in series.items() if points}
    every = [point for points in series.values() for point in points]
    if not every:
        return None
    x = Axis([px for px, _ in every], LEFT, WIDTH - RIGHT)
    y = Axis([py for _, py in every], HEIGHT - BOTTOM, TOP)
    ends = apart({name: y.place(points[-1][1]) for name, points in series.items()})
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           f'width="{WIDTH}" height="{HEIGHT}" role="img">',
           f"<title>{escape(curve['title'])}</title><style>{STYLE}</style>",
           f'<text class="title" x="8" y="18">{escape(curve["title"])}</text>',
           *grid(x, y, (curve["x"], curve["y"]))]
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        out.append(line([(x.place(px), y.place(py)) for px, py in points], colour))
        out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{ends[name] + 4:.1f}" '
                   f'style="fill:{colour}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def curves_of(result):
    return [curve for part in result["parts"].values() for curve in part.get("curves", [])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json")
    parser.add_argument("directory")
    arguments = parser.parse_args()
    with open(arguments.json, encoding="utf-8") as file:
        curves = curves_of(json.load(file))
    os.makedirs(arguments.directory, exist_ok=True)
    for curve in curves:
        drawing = draw(curve)
        if drawing:
            path = f"{arguments.directory}/{curve['file']}.svg"
            with open(path, "w", encoding="utf-8") as out:
                out.write(drawing)
            print(path)


if __name__ == "__main__":
    main()
