# SPDX-License-Identifier: GPL-2.0-or-later
"""The targets, and whether they are met. Each is checked with figures of this run only."""
import dataclasses
import typing

import calls
import peers
from measure import Rounds
from peers import CFI, FLOOR_ROW, NATIVE, NO_STACK, OURS_BY_PTRACE


def ratio(part, row, base, column=""):
    return lambda parts: Rounds(parts[part]["figures"]).ratio(row, base, column)


def stack_target(kind, depth):
    return lambda parts: calls.stack_ratio(parts["stacks"]["figures"], kind, depth)


def median(part, row, column):
    return lambda parts: Rounds(parts[part]["figures"]).median(row, column)


def lost(parts):
    losses = parts["losses"]["losses"]
    return losses["events"] + losses["dropped_records"]


def worst_beyond_truth(parts):
    """Events neither recorded nor counted as dropped, or more than the program made."""
    values = [value for row in parts["capacity"]["figures"].values()
              for value in row.get("beyond truth", []) if value is not None]
    return max(map(abs, values), default=None)


def dearest_event(parts):
    """For storms without drops: percent of a processor at a million events per second."""
    rounds = Rounds(parts["capacity"]["figures"])
    costs = [rounds.median(row, "tracer ns") for row in rounds.figures
             if rounds.values(row, "lost %") and not rounds.median(row, "lost %")]
    return max(costs) / 10 if costs else None


def at_last_point(part, file, series, times=1):
    def value(parts):
        points = next(c for c in parts[part]["curves"] if c["file"] == file)
        return points["series"][series][-1][1] * times if not points["failed"] else None
    return value


def many_libraries(parts):
    names = [name for name in parts["attach"]["figures"] if ", 0 " not in name]
    bare = next(name for name in names if name.startswith("bare"))
    return ratio("attach", next(n for n in names if n != bare), bare, "both ms")(parts)


def report_ratio(other, per_site):
    """Ratio of the seconds for the whole report, or of the seconds per listed site."""
    def value(parts):
        rounds = Rounds(parts["report"]["figures"])
        ours, theirs = [rounds.median(row, "seconds") / (rounds.median(row, "sites") if per_site
                                                         else 1)
                        for row in ("mtrace-bpf report", other)]
        return ours / theirs
    return value


@dataclasses.dataclass(frozen=True)
class Target:
    what: str
    most: float
    value: typing.Callable


SYMBOLS = peers.BPFTRACE

TARGETS = [
    Target("stack off / floor", 1.15, ratio("pairs", NO_STACK, FLOOR_ROW)),
    Target("exact stacks of 16 frames / floor", 1.6, ratio("pairs", calls.cfi_row(16), FLOOR_ROW)),
    Target("exact stacks of 16 frames / BCC memleak", 0.2,
           ratio("pairs", calls.cfi_row(16), peers.MEMLEAK_ROW)),
    Target("stack off / bpftrace at the symbols", 0.2, ratio("pairs", NO_STACK, SYMBOLS)),
    Target("stack off / bpftrace at our sites", 1.6,
           ratio("pairs", NO_STACK, peers.BPFTRACE_SITES)),
    Target("by ptrace / ltrace -c", 0.5, ratio("pairs", OURS_BY_PTRACE, peers.LTRACE)),
    Target("by ptrace / mtrace-ng", 0.2, ratio("pairs", OURS_BY_PTRACE, peers.MTRACE_NG_ROW)),
    Target("bystander of -p: bytes of code changed", 0,
           lambda parts: parts["pairs"]["bystander_bytes_changed"]),
    Target("bystander of -p / native", 1.1, ratio("pairs", peers.BYSTANDER, NATIVE)),
    *[Target(f"walk / bpf_get_stackid, {depth} frames", 0.65, stack_target("walk", depth))
      for depth in calls.DEPTHS],
    *[Target(f"mtrace-bpf --stack cfi / bpf_get_stackid, {depth} frames", 0.75,
             stack_target("cfi", depth)) for depth in calls.DEPTHS],
    Target("dropped events, all processors busy with real programs", 0, lost),
    Target("storms: events neither counted nor reported as dropped", 0, worst_beyond_truth),
    Target("processor time of the tracer, %, at a million events a second", 35, dearest_event),
    Target("processor time of the tracer, %, at the most live blocks", 35,
           at_last_point("blocks", "blocks-cpu", CFI, 0.1)),
    Target("bytes of tool memory per live block, at the most blocks", 40,
           at_last_point("blocks", "blocks-memory", CFI)),
    Target("attach and detach, 100 libraries / bare links", 2, many_libraries),
    Target("report / heaptrack's", 1, report_ratio("heaptrack_print", False)),
    Target("report, per site / perf report --stdio, per line", 1,
           report_ratio("perf report --stdio", True)),
]


def compare(parts):
    told = []
    for target in TARGETS:
        try:
            value = target.value(parts)
        except (KeyError, StopIteration, TypeError, IndexError):
            value = None
        told.append({"target": target.what, "at_most": target.most, "value": value,
                     "reached": None if value is None else value <= target.most})
    return told


WORDS = {True: "reached", False: "MISSED", None: "not measured"}


def print_targets(told):
    print("\n== targets ==")
    width = max(len(target["target"]) for target in told)
    for target in told:
        value = "-" if target["value"] is None else f"{target['value']:.3g}"
        print(f"{WORDS[target['reached']]:14}{target['target']:{width}}{value:>10}  "
              f"(at most {target['at_most']:g})")
