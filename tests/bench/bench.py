#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cost of one traced malloc+free pair, everything side by side in one run.

Each round attaches every tool in turn to a fresh process of the same program and takes its best of
a few samples; a ratio is taken within a round, and the median over the rounds is what is printed,
so that a machine whose speed drifts does not favour anybody.
"""
import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
PROGRAM = f"{BUILD}/mtrace-bpf"
BARE = f"{BUILD}/bench/mtrace-bpf"
FLOOR = f"{BUILD}/tests/bench/floor"
PAIRS = f"{BUILD}/tests/bench/pairs"
CALLS = 64  # more than are recorded
DEPTHS = (8, 16, 32)
SAMPLES = 3


LIBRARY = os.path.abspath(f"{BUILD}/tests/bench/libc.so.6")


def system_library():
    listing = subprocess.run(["ldd", PAIRS], capture_output=True, text=True, check=True).stdout
    return re.search(r"=> (\S+/libc\.so\.6)", listing)[1]


def our_sites(library):
    """malloc's and free's probe sites: [("malloc", 0), ("free", 3)], with their functions."""
    out = subprocess.run([FLOOR, "0", library], capture_output=True, text=True,
                         check=True).stdout
    return [(name, int(offset)) for name, offset in re.findall(r"(\w+)\+(\d+)", out)]


def section(library, name):
    """(address, file offset, size) of a section."""
    listing = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True,
                             check=True).stdout
    match = re.search(rf"\s{re.escape(name)}\s+\w+\s+(\w+) (\w+) (\w+)", listing)
    return tuple(int(word, 16) for word in match.groups())


def give_sizes(library):
    """objcopy adds symbols of size 0, in which bpftrace places no probe."""
    _, start, size = section(library, ".symtab")
    with open(library, "r+b") as file:
        for entry in range(start, start + size, 24):
            file.seek(entry + 16)
            file.write((16).to_bytes(8, "little"))


def make_library():
    """bpftrace here probes symbols only: a copy of the C library with names for our sites."""
    library = os.path.realpath(system_library())
    names = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    command = ["objcopy"]
    for name, offset in our_sites(library):
        address = int(re.search(rf"^(\w+) \w {name}@", names, re.MULTILINE)[1], 16)
        place = address + offset - section(library, ".text")[0]
        command.append(f"--add-symbol={name}_site=.text:{place},function,global")
    subprocess.run([*command, library, LIBRARY], check=True)
    give_sizes(LIBRARY)


class Workload:
    """The program under test: asked by line, answers in nanoseconds per pair."""

    def __init__(self, calls=0):
        self.process = subprocess.Popen([PAIRS, str(calls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1,
                                        env={"LD_LIBRARY_PATH": os.path.dirname(LIBRARY)})
        self.measure(1000)
        self.pid = self.process.pid

    def measure(self, pairs):
        self.process.stdin.write(f"{pairs}\n")
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def tool(command, ready, stream="stdout"):
    """Run a tool, wait for its word that it is attached, stop it by ^C or end of input."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE if stream == "stdout" else subprocess.DEVNULL,
                               stderr=subprocess.PIPE if stream == "stderr" else subprocess.DEVNULL)
    for line in getattr(process, stream):
        if re.search(ready, line):
            break
    else:
        raise RuntimeError(f"{command[0]} did not attach")
    try:
        yield
    finally:
        process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(2)
        getattr(process, stream).read()
        process.wait()


def native(_):
    return contextlib.nullcontext()


def floor(pid):
    return tool([FLOOR, str(pid), LIBRARY], "ready")


def stackid(depth):
    return lambda pid: tool([FLOOR, str(pid), LIBRARY, str(depth)], "ready")


def ours(*options, program=PROGRAM):
    return lambda pid: tool([program, "-p", str(pid), "-o", "/dev/null", *options], "tracing",
                            "stderr")


def bpftrace(*symbols):
    script = "BEGIN { printf(\"ready\\n\"); } " + " ".join(
        f"uprobe:{LIBRARY}:{name} {{ @{name} = count(); }}" for name in symbols)
    return lambda pid: tool(["bpftrace", "-p", str(pid), "-e", script], "ready")


def rows():
    table = [
        ("native", native, 2_000_000),
        ("floor: empty probes, our sites", floor, 60_000),
        ("mtrace-bpf --stack none", ours("--stack", "none"), 60_000),
        ("mtrace-bpf --stack fp", ours("--stack", "fp"), 60_000),
    ]
    if shutil.which("bpftrace"):
        table += [
            ("bpftrace count(), at the symbols", bpftrace("malloc", "free"), 20_000),
            ("bpftrace count(), our sites", bpftrace("malloc_site", "free_site"), 60_000),
        ]
    else:
        print("bpftrace is missing: its rows are left out", file=sys.stderr)
    return table


def stack_rows():
    """Recorded stacks of known depth, on a program with frame pointers."""
    table = [("floor", floor, 60_000), ("none", ours("--stack", "none"), 60_000)]
    for depth in DEPTHS:
        table.append((f"stackid {depth}", stackid(depth), 60_000))
        for kind in ("fp", "cfi"):
            table.append((f"{kind} {depth}", ours("--stack", kind, "--depth", str(depth)), 60_000))
        table.append((f"walk {depth}", ours("--stack", "cfi", "--depth", str(depth), program=BARE),
                      60_000))
    return table


def run_round(table, calls=0):
    result = {}
    for name, attach, pairs in table:
        workload = Workload(calls)
        with attach(workload.pid):
            workload.measure(pairs // 10)
            result[name] = min(workload.measure(pairs) for _ in range(SAMPLES))
        workload.close()
    return result


def median_ratio(rounds, name, base):
    return statistics.median(r[name] / r[base] for r in rounds)


STACK_TARGETS = {"walk": 0.65, "cfi": 0.75}

TARGETS = [
    ("mtrace-bpf --stack none", "floor: empty probes, our sites", 1.25),
    ("mtrace-bpf --stack none", "bpftrace count(), at the symbols", 0.20),
    ("mtrace-bpf --stack none", "bpftrace count(), our sites", 1.60),
]


def report(rounds):
    names = list(rounds[0])
    base = names[1]
    print(f"one malloc+free pair, 1 thread, median of {len(rounds)} rounds")
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} CPUs\n")
    print(f"{'':36}{'ns':>10}{'/ floor':>10}{'/ native':>10}")
    for name in names:
        time = statistics.median(r[name] for r in rounds)
        print(f"{name:36}{time:10.0f}{median_ratio(rounds, name, base):10.2f}"
              f"{median_ratio(rounds, name, names[0]):10.0f}")
    print()
    for name, other, most in TARGETS:
        if other in names:
            ratio = median_ratio(rounds, name, other)
            print(f"{'ok ' if ratio <= most else 'MISSED'} {name} / {other}: "
                  f"{ratio:.3f} (at most {most})")


STACK_BASES = {"stackid": "floor", "fp": "none", "walk": "none", "cfi": "none"}


def stack_cost(one_round, kind, depth):
    return one_round[f"{kind} {depth}"] - one_round[STACK_BASES[kind]]


def report_stacks(rounds):
    """What a stack adds to a pair: our walk along tables (walk), and with all that follows (cfi:
    compared with those seen, new ones sent), beside the kernel's along frame pointers, for a stack
    map (stackid) and in our records (fp)."""
    print(f"\nwhat a stack costs, ns, median of {len(rounds)} rounds\n")
    print(f"{'frames':>10}" + "".join(f"{kind:>10}" for kind in STACK_BASES))
    for depth in DEPTHS:
        costs = [statistics.median(stack_cost(r, kind, depth) for r in rounds)
                 for kind in STACK_BASES]
        print(f"{depth:10}" + "".join(f"{cost:10.0f}" for cost in costs))
    print()
    for kind, most in STACK_TARGETS.items():
        for depth in DEPTHS:
            ratio = statistics.median(
                stack_cost(r, kind, depth) / stack_cost(r, "stackid", depth) for r in rounds)
            print(f"{'ok ' if ratio <= most else 'MISSED'} {kind} / stackid, {depth} frames: "
                  f"{ratio:.3f} (at most {most})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write every round's figures there")
    parser.add_argument("--only", choices=("pairs", "stacks"), help="one of the two tables")
    arguments = parser.parse_args()
    make_library()
    rounds, stacks = [], []
    if arguments.only != "stacks":
        table = rows()
        rounds = [run_round(table) for _ in range(arguments.rounds)]
        report(rounds)
    if arguments.only != "pairs":
        stacks = [run_round(stack_rows(), CALLS) for _ in range(arguments.rounds)]
        report_stacks(stacks)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump({"kernel": platform.release(), "unit": "ns per malloc+free pair",
                       "rounds": rounds, "stack rounds": stacks}, out, indent=1)


if __name__ == "__main__":
    main()
