# SPDX-License-Identifier: GPL-2.0-or-later
"""What a traced call costs: a malloc+free pair, its stack, a new thread or child, and a whole
trace of a minimal program."""
import functools
import statistics
import subprocess
import time

import peers
from measure import Rounds, interleave, run, workload
from peers import BENCH, FLOOR_ROW, NATIVE, PAIRS, TOOLS, Tool
from table import print_absent, print_table

DEPTHS = (8, 16, 32)
OTHER_FRAMES = 6  # of a stack of `pairs 0`
SAMPLES = 3
CALLS = 64  # more than are recorded
THREE_STOPS = "floor of ptrace: three bare stops"


def cfi_row(depth):
    return f"mtrace-bpf, exact stacks of {depth} frames"


def sample(tool, program, kinds=("",), samples=SAMPLES, scale=1):
    """The best of several runs: {kind: nanoseconds}."""
    count = max(int(tool.pairs * scale), 1000)
    result = {}
    for kind in kinds:
        words = kind.split() if kind else []
        program.ask(*words, max(count // 10, 1))
        result[kind] = min(program.ask(*words, count) for _ in range(samples))
    return result


def pair(tool, frames=16):
    with tool.session([PAIRS, str(frames - OTHER_FRAMES)]) as program:
        return sample(tool, program)


def bare_stops():
    with workload([f"{BENCH}/stops"]) as program:
        program.ask(1000)
        return {"": min(program.ask(5000) for _ in range(SAMPLES))}


def pairs_part(scale):
    """One malloc+free pair in one thread. The stack has 16 frames, which are all recorded if
    stacks are."""
    tools, missing = peers.present(TOOLS)
    rows = {name: (functools.partial(pair, tool), tool.rounds) for name, tool in tools.items()}
    exact = Tool("", 60_000, peers.ours("--stack", "cfi"))
    for depth in DEPTHS:
        rows[cfi_row(depth)] = (functools.partial(pair, exact, depth), 99)
    del rows[peers.CFI]
    rows[THREE_STOPS] = (bare_stops, 99)
    result = interleave(rows, scale.rounds, scale.note)
    return {**result.as_dict((NATIVE, FLOOR_ROW)), "missing": missing,
            "bystander_bytes_changed": scale.attempt(bytes_changed_beside)}


def bytes_changed_beside():
    """Changed bytes of the C library's code in an untraced process, while another process is
    traced."""
    library = peers.LIBRARY
    with workload([PAIRS], peers.library_of(library)) as other:
        other.ask(1000)
        before = code_of(other.pid, library)
        with TOOLS[peers.BYSTANDER].attach(other.pid, library):
            after = code_of(other.pid, library)
    return sum(a != b for a, b in zip(before, after))


def code_of(pid, library):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        place = next(line for line in maps if library in line and " r-xp " in line)
    start, end = (int(word, 16) for word in place.split()[0].split("-"))
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(start)
        return memory.read(end - start)


# Each step: its name, the row before it, and the row that adds it.
STEPS = [
    ("the traps at malloc and at free", NATIVE, peers.ENTRIES),
    ("the trap at malloc's return", peers.ENTRIES, FLOOR_ROW),
    ("our programs, and their two records", FLOOR_ROW, peers.NO_STACK),
    ("8 frames, followed and compared with stacks seen", peers.NO_STACK, cfi_row(8)),
    ("the next 8", cfi_row(8), cfi_row(16)),
    ("the next 16", cfi_row(16), cfi_row(32)),
]


def steps(rounds):
    """(what, nanoseconds that it adds to a pair): medians of the differences within each round."""
    told = []
    for what, below, above in STEPS:
        figures = zip(rounds.figures.get(below, {}).get("", []),
                      rounds.figures.get(above, {}).get("", []))
        added = [b - a for a, b in figures if a is not None and b is not None]
        if added:
            told.append((what, [statistics.median(added)]))
    return told


def print_pairs(result):
    rounds = Rounds(result["figures"])
    rows = [(name, [rounds.median(name), rounds.ratio(name, FLOOR_ROW), rounds.ratio(name, NATIVE)])
            for name in rounds.figures]
    print_table(["ns", "/ floor", "/ native"], rows)
    print_absent(result["missing"], result["failed"])
    print("\nwhere the time of a pair goes")
    print_table(["ns"], steps(rounds))
    print(f"bytes of code changed in a bystander of -p: {result['bystander_bytes_changed']}")


# What a stack adds -------------------------------------------------------------------------------

STACK_BASES = {"stackid": "floor", "fp": "none", "walk": "none", "cfi": "none"}


def stack_tools():
    tools = {"floor": peers.floor(), "none": peers.ours("--stack", "none")}
    for depth in DEPTHS:
        tools[f"stackid {depth}"] = peers.floor(depth)
        tools[f"walk {depth}"] = peers.ours("--stack", "cfi", "--depth", str(depth),
                                            program=peers.BARE)
        for kind in ("fp", "cfi"):
            tools[f"{kind} {depth}"] = peers.ours("--stack", kind, "--depth", str(depth))
    return {name: Tool(name, 60_000, attach) for name, attach in tools.items()}


def stacks_part(scale):
    """What a stack adds to a pair: our unwinding by tables (walk), the same with the following
    steps (cfi: compare with known stacks, send new ones), and the kernel's unwinding by frame
    pointers, into a stack map (stackid) and into our records (fp). The program has frame
    pointers."""
    rows = {name: (functools.partial(pair, tool, CALLS), 99)
            for name, tool in stack_tools().items()}
    return interleave(rows, scale.rounds, scale.note).as_dict()


def stack_cost(figures, kind, depth):
    """The added cost in each round."""
    pairs = zip(figures[f"{kind} {depth}"].get("", []), figures[STACK_BASES[kind]].get("", []))
    return [None if a is None or b is None else a - b for a, b in pairs]


def stack_ratio(figures, kind, depth):
    pairs = zip(stack_cost(figures, kind, depth), stack_cost(figures, "stackid", depth))
    ratios = [a / b for a, b in pairs if a is not None and b]
    return statistics.median(ratios) if ratios else None


def print_stacks(result):
    rows = []
    for depth in DEPTHS:
        costs = [[c for c in stack_cost(result["figures"], kind, depth) if c is not None]
                 for kind in STACK_BASES]
        rows.append((f"{depth} frames, ns", [statistics.median(c) if c else None for c in costs]))
    print_table(list(STACK_BASES), rows)
    print_absent({}, result["failed"])


# Threads, children, and whole traces -------------------------------------------------------------

BIRTHS = {"thread": 500, "fork": 200}
TRACES = {"mtrace-bpf": (), "mtrace-bpf -f": ("-f",)}
SETTLE = 10  # seconds until background work is done


def births(attach, size):
    with workload([f"{BENCH}/births"]) as program, attach(program.pid, None):
        result = {}
        for kind, most in BIRTHS.items():
            count = max(int(most * size), 10)
            program.ask(kind, count // 10)
            result[kind] = min(program.ask(kind, count) for _ in range(SAMPLES)) / 1000
        return result


def births_part(scale):
    """The cost of a thread or child that starts and exits, in µs. With -f, each starts with its
    parent's probes."""
    rows = {NATIVE: peers.native, "mtrace-bpf": peers.ours(), "mtrace-bpf -f": peers.ours("-f")}
    rows = {name: (functools.partial(births, attach, scale.size), 99)
            for name, attach in rows.items()}
    return interleave(rows, scale.rounds, scale.note).as_dict((NATIVE,))


def whole_traces(options):
    """Two traces in direct succession: the second one waits for what the first left to the
    background."""
    result = {}
    for turn in ("first", "next"):
        command = [peers.PROGRAM, *options, "-o", "/dev/null", "--", "/bin/true"]
        result[turn] = 1000 * run(command)[0]
    time.sleep(SETTLE)
    return result


def traces_part(scale):
    """A whole trace of a program that does nothing, in ms, and the next one right after it."""
    rows = {name: (functools.partial(whole_traces, options), 3)
            for name, options in TRACES.items()}
    return interleave(rows, min(scale.rounds, 3), scale.note).as_dict()


def print_rounds(result):
    """Prints any table of rounds with its own columns."""
    rounds = Rounds(result["figures"])
    columns = rounds.columns()
    rows = [(name, [rounds.median(name, c) for c in columns]) for name in rounds.figures]
    print_table(columns, rows)
    print_absent(result.get("missing", {}), result["failed"])


def output_of(*command):
    """The output of a C program that measures itself."""
    def part(scale):
        done = subprocess.run([f"{BENCH}/{command[0]}", *command[1:]], stdout=subprocess.PIPE,
                              text=True, timeout=scale.limit, check=True)
        return {"text": done.stdout.rstrip()}
    return part


def print_text(result):
    print(result["text"])
