# SPDX-License-Identifier: GPL-2.0-or-later
"""How costs grow with stack depth, threads, processes, live blocks, sites and memory. Each part
returns curves: {title, file, x, y, series: {name: [[x, y], ...]}}, which svg.py draws."""
import statistics

import peers
from calls import pair, sample
from limits import losses_of, traced
from measure import Failed
from peers import FLOOR_ROW, NATIVE, TOOLS, Tool
from table import print_absent, print_table
from workloads import LOAD


class Points:
    """The measurements at each x of each series; the median is reported."""

    def __init__(self):
        self.values = {}
        self.failed = {}

    def add(self, series, x, y):
        self.values.setdefault(series, {}).setdefault(x, []).append(y)

    def measure(self, series, note, function):
        """After its first failure, a series is not measured again."""
        if series in self.failed:
            return
        note(series)
        try:
            function()
        except (Failed, OSError, ValueError) as failure:
            self.failed[series] = str(failure)

    def series(self):
        return {name: [[x, statistics.median(ys)] for x, ys in sorted(points.items())]
                for name, points in self.values.items()}


def curve(title, file, x, y, points):
    return {"title": title, "file": file, "x": x, "y": y, "series": points.series(),
            "failed": points.failed}


def print_curve(result):
    for one in result["curves"]:
        xs = sorted({x for points in one["series"].values() for x, _ in points})
        print(f"{one['title']}: {one['y']} by {one['x']}")
        print_table([f"{x:,}" for x in xs],
                    [(name, [dict(map(tuple, points)).get(x) for x in xs])
                     for name, points in one["series"].items()])
        print_absent({}, one["failed"])


# Depth, threads, processes: the cost of a pair ---------------------------------------------------


def depth_part(scale):
    """The cost of a pair by stack depth, with all frames recorded."""
    tools = {FLOOR_ROW: TOOLS[FLOOR_ROW], peers.NO_STACK: TOOLS[peers.NO_STACK],
             peers.FP: Tool("", 60_000, peers.ours("--stack", "fp", "-d", "127")),
             peers.CFI: Tool("", 60_000, peers.ours("--stack", "cfi", "-d", "127"))}
    tools.update({name: TOOLS[name] for name in (peers.HEAPTRACK,) if not TOOLS[name].missing()})
    points = Points()
    for _ in range(min(scale.rounds, 3)):
        for frames in (8, 32) if scale.quick else (6, 8, 16, 32, 64, 120):
            for name, tool in tools.items():
                points.measure(name, scale.note, lambda t=tool, f=frames, n=name: points.add(
                    n, f, pair(t, f)[""]))
    return {"curves": [curve("A traced pair by stack depth", "depth", "frames", "ns per pair",
                             points)]}


def by_width(points, name, tool, kind, widths, samples=2):
    """Measures all widths in one session of `load`."""
    with tool.session([LOAD]) as program:
        for width in widths:
            points.add(name, width, sample(tool, program, [f"{kind} {width}"], samples)
                       [f"{kind} {width}"])


def width_curve(scale, title, kind, names, widths):
    points = Points()
    tools, _ = peers.present(names)
    for _ in range(min(scale.rounds, 3)):
        for name, tool in tools.items():
            points.measure(name, scale.note, lambda n=name, t=tool: by_width(
                points, n, t, kind, widths))
    return {"curves": [curve(title, kind, kind, "ns per pair, wall clock", points)]}


def threads_part(scale):
    """Pairs made by several threads in total, in wall clock time."""
    return width_curve(scale, "A traced pair by threads", "threads",
                       (NATIVE, FLOOR_ROW, peers.NO_STACK, peers.CFI, peers.HEAPTRACK),
                       (1, 4) if scale.quick else (1, 2, 4, 8, 16, 32))


FAMILIES = {NATIVE: TOOLS[NATIVE],
            "mtrace-bpf -f --stack none": TOOLS["mtrace-bpf -f --stack none"],
            "mtrace-bpf -f": Tool("", 60_000, peers.ours("-f")),
            "--system-wide": Tool("", 60_000, peers.system_wide("load"))}


def processes_part(scale):
    """Pairs made by several children in total, which are forked for it, in wall clock time."""
    points = Points()
    widths = (1, 4) if scale.quick else (1, 4, 16, 64, 256)
    for _ in range(min(scale.rounds, 3)):
        for name, tool in FAMILIES.items():
            points.measure(name, scale.note, lambda n=name, t=tool: by_width(
                points, n, t, "processes", widths, 1))
    return {"curves": [curve("A traced pair by processes", "processes", "processes",
                             "ns per pair, wall clock", points)]}


# Live blocks and sites: memory of the model ------------------------------------------------------

TRACERS = {peers.NO_STACK: ("--stack", "none"), peers.CFI: ("--stack", "cfi")}
PAIRS_EACH = 60_000


def by_axis(axis, rows):
    return [curve(title, file, axis, unit, points) for title, file, unit, points in rows]


def grow_books(points, name, options, counts):
    cost, memory, cpu = points
    with traced([LOAD], *options) as trace:
        for count in counts:
            trace.program.ask("small", count, 1000, limit=600)
            trace.settle()
            before = trace.cpu()
            cost.add(name, count, trace.program.ask("small", count, PAIRS_EACH))
            trace.settle()
            cpu.add(name, count, 1e9 * (trace.cpu() - before) / (2 * PAIRS_EACH))
            memory.add(name, count, trace.memory() / count)
        report, _ = trace.report()
    lost = losses_of(report)["events"]
    if lost:
        memory.failed[name] = f"{lost:,} events were lost meanwhile"


def blocks_part(scale):
    """Blocks of 16 to 64 bytes: each new one replaces a random one."""
    counts = [10**n for n in range(3, 6 if scale.quick else 8)]
    cost, memory, cpu = points = Points(), Points(), Points()
    for name in (NATIVE, peers.HEAPTRACK):
        if not TOOLS[name].missing():
            cost.measure(name, scale.note, lambda n=name: by_width(cost, n, TOOLS[n], "small",
                                                                   counts))
    for name, options in TRACERS.items():
        cost.measure(name, scale.note, lambda n=name, o=options: grow_books(points, n, o, counts))
    return {"curves": by_axis("live blocks", [
        ("A traced pair by live blocks", "blocks-cost", "ns per pair", cost),
        ("Memory of the tool per live block", "blocks-memory", "bytes per block", memory),
        ("The tool's own time by live blocks", "blocks-cpu", "ns per event", cpu)])}


def report_sites(points, name, sites):
    cost, memory, seconds = points
    with traced([LOAD], "--top", "0") as trace:
        cost.add(name, sites, trace.program.ask("sites", sites, max(sites, PAIRS_EACH)))
        trace.settle()
        taken = trace.memory()
        report, spent = trace.report()
    memory.add(name, sites, taken / len(report["processes"][0]["sites"]))
    seconds.add(name, sites, spent)


def sites_part(scale):
    """Pairs from several sites, each with a stack of 27 frames. The report has all sites that
    the model keeps (131,072 per process)."""
    cost, memory, seconds = points = Points(), Points(), Points()
    name = "mtrace-bpf"
    for exponent in range(2, 5 if scale.quick else 7):
        cost.measure(name, scale.note, lambda e=exponent: report_sites(points, name, 10**e))
        cost.measure(NATIVE, scale.note, lambda e=exponent: native_sites(cost, 10**e))
    return {"curves": by_axis("sites", [
        ("A traced pair by sites", "sites-cost", "ns per pair", cost),
        ("Memory of the tool per site that it keeps", "sites-memory", "bytes per site", memory),
        ("From ^C to the end of the report by sites", "sites-report", "seconds", seconds)])}


def native_sites(cost, sites):
    with TOOLS[NATIVE].session([LOAD]) as program:
        cost.add(NATIVE, sites, program.ask("sites", sites, max(sites, PAIRS_EACH)))


# Leak scans --------------------------------------------------------------------------------------


def scan(points, x, blocks, size):
    """The scan after ^C, of blocks that each point to the next."""
    with traced([LOAD], "-a", "--stack", "none", "--top", "1") as trace:
        trace.program.ask("chain", blocks, size, limit=600)
        trace.settle()
        report, _ = trace.report()
    result = report["processes"][0]["scan"]
    if not result["done"]:
        raise Failed(f"no scan: {result['reason']}")
    points.add("the whole scan", x, result["duration_ms"])
    points.add("while the process is paused", x, result["pause_ms"])


def scan_curve(scale, title, file, axis, shapes):
    points = Points()
    for _ in range(min(scale.rounds, 3)):
        for x, (blocks, size) in shapes.items():
            points.measure("the scan", scale.note,
                           lambda x=x, b=blocks, s=size: scan(points, x, b, s))
    return {"curves": [curve(title, file, axis, "ms", points)]}


def scan_memory_part(scale):
    """100,000 blocks in a chain, of 128 bytes to 20 KiB each."""
    sizes = (128, 1024) if scale.quick else (128, 512, 2048, 8192, 20480)
    return scan_curve(scale, "A leak scan by memory", "scan-memory", "MiB",
                      {round(100_000 * size / 2**20): (100_000, size) for size in sizes})


def scan_blocks_part(scale):
    """Blocks of 40 bytes in a chain."""
    counts = [10**n for n in range(3, 6 if scale.quick else 8)]
    return scan_curve(scale, "A leak scan by blocks", "scan-blocks", "blocks",
                      {count: (count, 40) for count in counts})
