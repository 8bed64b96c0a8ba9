# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits: whether events are dropped when real programs keep all processors busy, how many
events per second are possible, what the tracer itself needs for them, and how long attaching,
detaching and reporting take."""
import contextlib
import functools
import glob
import json
import os
import shlex
import shutil
import signal
import subprocess
import time

import peers
import workloads
from calls import print_rounds
from measure import LIMIT, Failed, Lines, Rounds, interleave, run, stop, workload
from peers import BENCH, PROGRAM


def cpu_seconds(pid):
    """CPU time of all threads of a process, with nanosecond resolution."""
    spent = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
            spent += int(file.read().split()[0])
    return spent / 1e9


def resident(pid):
    """Resident memory of a process in bytes."""
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Traced:
    """A traced program, and an mtrace-bpf whose CPU time, memory and report are checked."""

    def __init__(self, program, tracer, path):
        self.program = program
        self.tracer = tracer
        self.path = path
        self.resident_at_first = resident(tracer.pid)
        self.cpu_at_first = cpu_seconds(tracer.pid)

    def cpu(self):
        return cpu_seconds(self.tracer.pid) - self.cpu_at_first

    def memory(self):
        return resident(self.tracer.pid) - self.resident_at_first

    def settle(self, seconds=20):
        """Waits until it has processed all events."""
        last, deadline = -1, time.monotonic() + seconds
        while self.cpu() - max(last, 0) > 0.002 or last < 0:
            if time.monotonic() > deadline:
                break
            last = self.cpu()
            time.sleep(0.3)

    def report(self):
        """Returns (the report, seconds from ^C to its end)."""
        start = time.monotonic()
        stop(self.tracer, signal.SIGINT, seconds=LIMIT)
        spent = time.monotonic() - start
        with open(self.path, encoding="utf-8") as file:
            return json.load(file), spent


@contextlib.contextmanager
def traced(command, *options):
    path = f"{peers.scratch()}/report.json"
    with workload(command, peers.library_of(peers.LIBRARY)) as program:
        program.ask("threads", 1, 1)  # after the C library's initial allocations
        tracer = subprocess.Popen([PROGRAM, "-p", str(program.pid), "--format", "json", "-o", path,
                                   *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
        try:
            Lines(tracer.stderr).until(b"tracing", LIMIT)
            yield Traced(program, tracer, path)
        finally:
            if tracer.poll() is None:
                stop(tracer, signal.SIGINT)


def losses_of(report):
    """Losses summed over all processes; dropped_records belong to no process."""
    total = {"dropped_records": report["dropped_records"]}
    for process in [*report["processes"], report["other_processes"]]:
        for kind, count in process["losses"].items():
            total[kind] = total.get(kind, 0) + count
    return total


def calls_of(report):
    sections = [*report["processes"], report["other_processes"]]
    return sum(s["totals"]["allocations"] + s["totals"]["frees"] for s in sections)


# Real programs on all processors -----------------------------------------------------------------


def saturating_script(seconds):
    """Two shells per processor run real programs one after the other."""
    lines = [f"end=$(($(date +%s) + {seconds}))", "work() {",
             "\twhile [ $(date +%s) -lt $end ]; do"]
    lines += [f"\t\t{shlex.join(command)} >/dev/null 2>&1" for command in workloads.available()]
    lines += ["\tdone", "}", *["work &"] * (2 * os.cpu_count()), "wait"]
    path = f"{peers.scratch()}/saturate"
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return path


def losses_part(scale):
    """Real programs keep all processors busy. All of them are traced (-f) with the default
    buffer."""
    seconds = 5 if scale.quick else 60
    path = f"{peers.scratch()}/losses.json"
    command = [PROGRAM, "-q", "-f", "--top", "1", "--format", "json", "-o", path, "--", "/bin/sh",
               saturating_script(seconds)]
    start, spent = time.monotonic(), 0
    with workloads.started(command) as tracer:
        while tracer.poll() is None:
            if time.monotonic() - start > seconds + LIMIT:
                raise Failed("does not end")
            spent = max(spent, cpu_seconds(tracer.pid))
            time.sleep(0.1)
        if tracer.returncode:
            raise Failed(f"status {tracer.returncode}")
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    sections = report["other_processes"]["sections"]
    return {"seconds_loaded": time.monotonic() - start, "calls": calls_of(report),
            "processes": len(report["processes"]) + sections, "losses": losses_of(report),
            "tracer_cpu_seconds": spent, "tool": report["tool"]}


def print_losses(result):
    seconds = result["seconds_loaded"]
    print(f"{result['calls']:,} calls of {result['processes']:,} processes in {seconds:.1f} s "
          f"({result['calls'] / seconds / 1e6:.2f} million a second); the tracer took "
          f"{100 * result['tracer_cpu_seconds'] / seconds:.0f}% of a processor")
    lost = {kind: count for kind, count in result["losses"].items() if count}
    print("lost: " + (", ".join(f"{kind} {count:,}" for kind, count in lost.items()) or "nothing"))


# Storms ------------------------------------------------------------------------------------------

STORM_KINDS = ("threads 1", "threads 2", "threads 4", "threads 8", "mixed 100000")
STORM_STACKS = ("none", "cfi")
TOO_SMALL = ("--stack", "none", "--buffer", "64k")


FIRST = 64  # pairs to fill tables with


def events_of(kind, pairs):
    """The number of events that the program itself makes; with "mixed", this includes the blocks
    allocated at first, and their table."""
    name, width = kind.split()
    return 2 * (pairs + FIRST) + (int(width) + 1 if name == "mixed" else 0)


def events_told(report):
    """Events in the report, each counted once. A free whose allocation was dropped is in no
    total. If a free was dropped, the next allocation at the same address ends the block: that
    free is counted both in the totals and as a loss."""
    losses = losses_of(report)
    return (calls_of(report) + losses["events"] + losses["unmatched_frees"] - losses["collisions"])


def storm(options, kind, pairs):
    """Makes N pairs at full speed. Each call must be recorded or counted as dropped."""
    with traced([workloads.LOAD, "8"], *options, "--top", "1") as trace:
        trace.program.ask(*kind.split(), FIRST)
        nanoseconds = trace.program.ask(*kind.split(), pairs)
        trace.settle()
        cpu = trace.cpu()
        report, _ = trace.report()
    lost, booked = losses_of(report)["events"], calls_of(report)
    rate = 2e3 / nanoseconds
    return {"made": rate, "booked": rate * booked / (booked + lost),
            "lost %": 100 * lost / (booked + lost), "lost": lost,
            "beyond truth": events_told(report) - events_of(kind, pairs),
            "tracer ns": 1e9 * cpu / (booked + lost)}


def capacity_part(scale):
    """Storms of N threads that only call malloc and free: millions of events per second made and
    recorded, the share that was dropped, how many more or fewer were reported than the program
    made (there must be none), and the tracer's own CPU time per event. The last run uses a far
    too small buffer, to check that drops are counted."""
    pairs = int(3_000_000 * scale.size)
    storms = [(kind, ("--stack", stack)) for stack in STORM_STACKS for kind in STORM_KINDS]
    storms.append(("threads 8", TOO_SMALL))
    rows = {" ".join((f"{kind},", *options)): (functools.partial(storm, options, kind, pairs), 3)
            for kind, options in storms}
    result = interleave(rows, min(scale.rounds, 3), scale.note)
    return {**result.as_dict(), "processors": os.cpu_count(),
            "capacity": capacity(Rounds(result.figures))}


def capacity(rounds):
    """Millions of events per second: the most without drops, and the most recorded in total."""
    rates = {row: (rounds.median(row, "booked"), rounds.median(row, "lost %"))
             for row in rounds.figures if rounds.values(row, "booked") and "--buffer" not in row}
    whole = [booked for booked, lost in rates.values() if not lost]
    return {"without_loss": max(whole, default=None),
            "at_most": max((booked for booked, _ in rates.values()), default=None)}


def print_capacity(result):
    print_rounds(result)
    told = {key: "-" if rate is None else f"{rate:.2f}" for key, rate in result["capacity"].items()}
    print(f"capacity, million events a second: {told['without_loss']} without a loss, "
          f"{told['at_most']} at most" + ("" if told["without_loss"] != told["at_most"] else
                                          ": more than these processors can make"))


# Attaching and detaching -------------------------------------------------------------------------

LIBRARIES = 100


def some_libraries(count):
    """Large enough libraries of the system, by name, without sanitizers, which only work in
    programs built with them."""
    paths = {os.path.realpath(path) for path in glob.glob("/usr/lib/*-linux-gnu/lib*.so.*")}
    fit = [path for path in sorted(paths) if os.path.getsize(path) > 65536 and
           not os.path.basename(path).split(".")[0].endswith("san")]
    return fit[:count]


def read_all(paths):
    """Reads the files into memory, as for running programs."""
    for path in paths:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


@contextlib.contextmanager
def with_libraries(paths):
    with tool_process([f"{BENCH}/libraries", *paths]) as process:
        Lines(process.stdout).until(b"ready", LIMIT)
        read_all(paths)
        yield process.pid


@contextlib.contextmanager
def tool_process(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        stop(process, end_of_input=True)


def bare_links(paths):
    with with_libraries(paths) as pid:
        out = run([f"{BENCH}/links", str(pid), *paths, peers.system_library()])[1].split()
    load, link, let_go = map(float, out[:3])
    return {"attach ms": load + link, "detach ms": let_go, "both ms": load + link + let_go}


def whole_tool(paths):
    with with_libraries(paths) as pid:
        start = time.monotonic()
        with peers.ours()(pid, None) as process:
            attached = time.monotonic()
            stop(process, signal.SIGINT)
            ended = time.monotonic()
    return {"attach ms": 1e3 * (attached - start), "detach ms": 1e3 * (ended - attached),
            "both ms": 1e3 * (ended - start)}


def attach_part(scale):
    """A process with only the C library, and one with 100 more libraries: the cost of the links
    alone, and of mtrace-bpf from its start until it traces and from ^C until it exits."""
    rows = {}
    for count in (0, LIBRARIES):
        paths = some_libraries(count)
        rows[f"bare links, {len(paths)} libraries"] = (functools.partial(bare_links, paths), 99)
        rows[f"mtrace-bpf, {len(paths)} libraries"] = (functools.partial(whole_tool, paths), 99)
    return interleave(rows, scale.rounds, scale.note).as_dict()


# Reports -----------------------------------------------------------------------------------------


def compiled(scale):
    """A compiler with its code in a 100 MB library: many sites, deep stacks, many names."""
    if scale.quick or not os.path.exists(f"{BENCH}/json"):
        return ["clang", "-O2", "-c", "-o", "/dev/null", workloads.big_source(60)]
    return ["clang++", "-O1", "-c", "-o", "/dev/null", f"{peers.HERE}/json.cc"]


def our_report(command, limit):
    trace, out = f"{peers.scratch()}/report.trace", f"{peers.scratch()}/report.txt"
    run([PROGRAM, "-q", "--record", trace, "--", *command], limit)
    seconds, _ = run([PROGRAM, "report", "--top", "0", "-o", out, trace], limit)
    run([PROGRAM, "report", "--top", "0", "--format", "json", "-o", out, trace], limit)
    with open(out, encoding="utf-8") as file:
        report = json.load(file)
    return {"seconds": seconds, "sites": sum(len(p["sites"]) for p in report["processes"])}


def heaptrack_report(command, limit):
    out = f"{peers.scratch()}/report-heaptrack"
    interpreter = os.path.join(os.path.dirname(os.path.realpath(shutil.which("heaptrack"))),
                               "../lib/heaptrack/libexec/heaptrack_interpret")
    run(["heaptrack", "--raw", "-o", out, *command], limit)
    raw = f"{out}.raw.zst" if os.path.exists(f"{out}.raw.zst") else f"{out}.raw.gz"
    unpack = "zstd -dc" if raw.endswith("zst") else "gzip -dc"
    seconds, _ = run(["sh", "-c", f"{unpack} {raw} | {interpreter} > {out}.data && "
                      f"heaptrack_print -f {out}.data > {out}.txt"], limit)
    with open(f"{out}.data", encoding="utf-8", errors="replace") as file:
        sites = sum(line.startswith("a ") for line in file)
    return {"seconds": seconds, "sites": sites}


def perf_report(command, limit):
    out = f"{peers.scratch()}/perf.data"
    run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "--call-graph", "dwarf,4096",
         "-o", out, "--", *command], limit)
    seconds, printed = run(["perf", "report", "--stdio", "--no-inline", "-i", out], limit)
    return {"seconds": seconds, "sites": printed.count(b"%")}


REPORTS = {
    "mtrace-bpf report": (our_report, peers.executable("clang")),
    "heaptrack_print": (heaptrack_report,
                        peers.executable("heaptrack", "heaptrack_print", "clang")),
    "perf report --stdio": (perf_report, peers.executable("perf", "clang")),
}


def report_part(scale):
    """Seconds from recorded data to a report with names, for clang compiling a file: all sites.
    (For perf, the sites are lines of its tree of samples, which is only roughly comparable.)"""
    missing = {name: absent() for name, (_, absent) in REPORTS.items() if absent()}
    command = compiled(scale) if shutil.which("clang") else []
    rows = {name: (functools.partial(measure, command, scale.limit), 1)
            for name, (measure, _) in REPORTS.items() if name not in missing}
    result = interleave(rows, 1, scale.note)
    return {**result.as_dict(), "missing": missing, "of": command}
