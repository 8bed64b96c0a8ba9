#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cost of one traced malloc+free pair, of stacks, of being born, and of a whole trace; everything
side by side in one run.

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
import time

BUILD = os.environ.get("BUILD", "build")
PROGRAM = f"{BUILD}/mtrace-bpf"
BARE = f"{BUILD}/bench/mtrace-bpf"
FLOOR = f"{BUILD}/tests/bench/floor"
PAIRS = f"{BUILD}/tests/bench/pairs"
SELECTED = f"{BUILD}/tests/bench/selected"
STOPS = f"{BUILD}/tests/bench/stops"
BIRTHS = f"{BUILD}/tests/bench/births"
CALLS = 64  # more than are recorded
DEPTHS = (8, 16, 32)
SAMPLES = 3
PTRACE = ("--backend", "ptrace")
THREE_STOPS = "floor of ptrace: three bare stops"


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
    """The program under test: asked by line, answers in nanoseconds for each."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1,
                                        env={"LD_LIBRARY_PATH": os.path.dirname(LIBRARY)})
        self.pid = self.process.pid

    def measure(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
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


def system_wide(name):
    """Trace what is called so; the library is probed as soon as one such process maps it."""
    return lambda _: tool([PROGRAM, "--comm", name, "--stack", "none", "-o", "/dev/null"],
                          "tracing", "stderr")


@contextlib.contextmanager
def beside():
    """Another process on the same library is traced system-wide, and the one that is measured is
    not."""
    shutil.copy(PAIRS, SELECTED)
    other = Workload(SELECTED)
    other.measure(1000)
    with system_wide("selected")(None):
        yield
    other.close()


def ltrace(pid):
    """Breakpoints by ptrace, too, and nothing recorded. It does not say when it is ready."""
    return traced_by(["ltrace", "-c", "-o", "/dev/null", "-e", "malloc+free", "-p", str(pid)], pid)


def mtrace_ng(pid):
    """The tool that this one replaces."""
    return traced_by(["mtrace-ng", "-t", "-o", "/dev/null", "-p", str(pid)], pid)


@contextlib.contextmanager
def traced_by(command, pid):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not tracer_of(pid):
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} did not attach")
    try:
        yield
    finally:
        process.send_signal(2)
        process.wait()


def tracer_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"TracerPid:\s+(\d+)", status.read())[1])


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
        ("mtrace-bpf", ours(), 60_000),
        ("mtrace-bpf --sample 512k", ours("--sample", "512k"), 60_000),
        ("mtrace-bpf --min-size 64k", ours("--min-size", "64k"), 60_000),
        ("mtrace-bpf -f --stack none", ours("-f", "--stack", "none"), 60_000),
        ("--system-wide --stack none, traced", system_wide("pairs"), 60_000),
        ("--system-wide, a bystander", lambda _: beside(), 60_000),
        ("mtrace-bpf --backend ptrace, no stack", ours(*PTRACE, "--stack", "none"), 5_000),
        ("mtrace-bpf --backend ptrace", ours(*PTRACE), 5_000),
    ]
    table.append((THREE_STOPS, native, 5_000))
    for name, attach in (("ltrace -c", ltrace), ("mtrace-ng -t", mtrace_ng)):
        if shutil.which(name.split()[0]):
            table.append((name, attach, 2_000))
        else:
            print(f"{name.split()[0]} is missing: its row is left out", file=sys.stderr)
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
        workload = Workload(*([STOPS] if name == THREE_STOPS else [PAIRS, str(calls)]))
        workload.measure(1000)
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
    ("mtrace-bpf --backend ptrace, no stack", "ltrace -c", 0.50),
    ("mtrace-bpf --backend ptrace, no stack", "mtrace-ng -t", 0.20),
]


def report(rounds):
    names = list(rounds[0])
    base = names[1]
    print(f"one malloc+free pair, 1 thread, median of {len(rounds)} rounds")
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} CPUs\n")
    print(f"{'':38}{'ns':>10}{'/ floor':>10}{'/ native':>10}")
    for name in names:
        time = statistics.median(r[name] for r in rounds)
        print(f"{name:38}{time:10.0f}{median_ratio(rounds, name, base):10.2f}"
              f"{median_ratio(rounds, name, names[0]):10.0f}")
    print()
    for name, other, most in TARGETS:
        if other in names:
            ratio = median_ratio(rounds, name, other)
            print(f"{'ok ' if ratio <= most else 'MISSED'} {name} / {other}: "
                  f"{ratio:.3f} (at most {most})")


def birth_rows():
    return [("native", native), ("mtrace-bpf", ours()), ("mtrace-bpf -f", ours("-f"))]


BIRTH_COUNTS = {"thread": 2000, "fork": 500}


def birth_round():
    result = {}
    for name, attach in birth_rows():
        workload = Workload(BIRTHS)
        with attach(workload.pid):
            for kind, count in BIRTH_COUNTS.items():
                workload.measure(kind, count // 10)
                result[f"{name} {kind}"] = min(workload.measure(kind, count)
                                               for _ in range(SAMPLES))
        workload.close()
    return result


def report_births(rounds):
    """Threads and children that come and go; with -f each is born with its parent's probes."""
    print(f"\na thread or a child that comes and goes, \u00b5s, median of {len(rounds)} rounds\n")
    print(f"{'':24}" + "".join(f"{kind:>10}{'/ native':>10}" for kind in BIRTH_COUNTS))
    for name, _ in birth_rows():
        row = f"{name:24}"
        for kind in BIRTH_COUNTS:
            cost = statistics.median(r[f"{name} {kind}"] for r in rounds)
            row += f"{cost / 1000:10.1f}{median_ratio(rounds, f'{name} {kind}', f'native {kind}'):10.2f}"
        print(row)


TRACES = {"mtrace-bpf": (), "mtrace-bpf -f": ("-f",)}
SETTLE = 10  # seconds, until what was left in the background is done


def trace_round():
    """Whole traces of a program that does nothing, one right behind the other: what is left to a
    process in the background is waited for by whoever comes next."""
    result = {}
    for name, options in TRACES.items():
        for turn in ("first", "next"):
            start = time.monotonic()
            subprocess.run([PROGRAM, *options, "-o", "/dev/null", "--", "/bin/true"], check=True,
                           stderr=subprocess.DEVNULL)
            result[f"{name} {turn}"] = time.monotonic() - start
        time.sleep(SETTLE)
    return result


def report_traces(rounds):
    print(f"\na whole trace of a program that does nothing, ms, median of {len(rounds)} rounds\n")
    print(f"{'':24}{'first':>10}{'next':>10}")
    for name in TRACES:
        times = [statistics.median(r[f"{name} {turn}"] for r in rounds)
                 for turn in ("first", "next")]
        print(f"{name:24}" + "".join(f"{1000 * spent:10.0f}" for spent in times))


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


def pair_table(rounds):
    table = rows()
    result = [run_round(table) for _ in range(rounds)]
    report(result)
    return result


def stack_table(rounds):
    result = [run_round(stack_rows(), CALLS) for _ in range(rounds)]
    report_stacks(result)
    return result


def birth_table(rounds):
    result = [birth_round() for _ in range(rounds)]
    report_births(result)
    return result


def trace_table(rounds):
    result = [trace_round() for _ in range(rounds)]
    report_traces(result)
    return result


TABLES = {"pairs": pair_table, "stacks": stack_table, "births": birth_table, "traces": trace_table}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write every round's figures there")
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    arguments = parser.parse_args()
    make_library()
    wanted = [arguments.only] if arguments.only else list(TABLES)
    result = {name: TABLES[name](arguments.rounds) for name in wanted}
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump({"kernel": platform.release(), "rounds": result}, out, indent=1)


if __name__ == "__main__":
    main()
