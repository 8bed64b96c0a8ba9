# SPDX-License-Identifier: GPL-2.0-or-later
"""Text tables."""

NOTHING = "-"


def number(value):
    """About three significant digits."""
    if value is None:
        return NOTHING
    if value and abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def print_table(head, rows):
    """rows: (name, [cells]); numbers are right-aligned."""
    cells = [(name, [c if isinstance(c, str) else number(c) for c in row]) for name, row in rows]
    first = max([len(name) for name, _ in cells] + [0])
    widths = [max([len(title)] + [len(row[i]) for _, row in cells if i < len(row)]) + 2
              for i, title in enumerate(head)]
    print(" " * first + "".join(f"{title:>{width}}" for title, width in zip(head, widths)))
    for name, row in cells:
        print(f"{name:{first}}" + "".join(f"{c:>{width}}" for c, width in zip(row, widths)))


def print_absent(missing, failed):
    for name, reason in {**missing, **failed}.items():
        print(f"  {name}: {'missing' if name in missing else 'failed'}: {reason}")
