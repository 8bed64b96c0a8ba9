# SPDX-License-Identifier: GPL-2.0-or-later
"""What tracing costs real programs, and allocation patterns other than plain pairs."""
import contextlib
import dataclasses
import functools
import os
import shutil
import signal
import subprocess
import time
import typing

import peers
from calls import sample
from measure import LIMIT, Failed, Lines, Rounds, interleave, run, stop
from peers import BENCH, FLOOR_ROW, NATIVE, TOOLS
from table import print_absent, print_table

LOAD = f"{BENCH}/load"

# Workloads of load.c: kind and width.
PATTERNS = ("mixed 100000", "handover 1024", "threads 1", "threads 2", "threads 4", "threads 8")
PATTERN_TOOLS = (NATIVE, FLOOR_ROW, peers.NO_STACK, peers.CFI, "mtrace-bpf --record",
                 "mtrace-bpf --sample 512k", peers.BPFTRACE_SITES, peers.MEMLEAK_ROW,
                 peers.HEAPTRACK, "LeakSanitizer", peers.VALGRIND)


def patterns(tool, kinds, samples, scale=0.5):
    with tool.session([LOAD]) as program:
        return sample(tool, program, kinds, samples, scale)


def workloads_part(scale):
    """ns of wall clock time per malloc+free pair: mixed sizes with 100,000 live blocks, blocks
    that another thread frees, and 1 to 8 threads at once."""
    tools, missing = peers.present(PATTERN_TOOLS)
    rows = {name: (functools.partial(patterns, tool, PATTERNS, 2), tool.rounds)
            for name, tool in tools.items()}
    result = interleave(rows, min(scale.rounds, 5), scale.note)
    return {**result.as_dict((NATIVE, FLOOR_ROW)), "missing": missing}


# Real programs -----------------------------------------------------------------------------------

SQL = """PRAGMA journal_mode = off; CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, note TEXT);
CREATE INDEX i ON t (name);
INSERT INTO t (name, note) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
WHERE i < {count}) SELECT 'name ' || i * 7919 % {count}, printf('note %d of %s', i, hex(i)) FROM n;
SELECT count(*), sum(length(note)) FROM t WHERE name BETWEEN 'name 2' AND 'name 7';"""

PYTHON = """
import json
data = [{"id": i, "name": "name %d" % i, "tags": ["x" * (i % 700), str(i)]} for i in range(3000)]
for _ in range(COUNT):
    text = json.dumps(data)
    data = sorted(json.loads(text), key=lambda entry: entry["name"])
"""


def sqlite(scale):
    return ["sqlite3", ":memory:", SQL.format(count=int(50_000 * scale))]


def python(scale):
    return ["/usr/bin/python3", "-c", PYTHON.replace("COUNT", str(max(int(12 * scale), 1)))]


def json_parser(scale):
    return [f"{BENCH}/json", str(max(int(8 * scale), 1))]


@functools.cache
def big_source(functions):
    """Like generated code: many similar functions."""
    path = f"{peers.scratch()}/big-{functions}.c"
    with open(path, "w", encoding="utf-8") as out:
        out.write("struct s { int a[16]; struct s *next; };\n")
        for i in range(functions):
            out.write(f"int f{i}(struct s *s, int n)\n{{\n\tint sum = {i};\n"
                      "\tfor (struct s *p = s; p; p = p->next)\n"
                      f"\t\tfor (int j = 0; j < n % {i % 13 + 1}; j++)\n"
                      f"\t\t\tsum += p->a[j] * {i % 7} + (p->a[(j + {i % 5}) % 16] << {i % 3});\n"
                      f"\treturn sum{f' + f{i - 1}(s, n - 1)' if i else ''};\n}}\n")
    return path


@functools.cache
def compiler():
    return run(["gcc", "-print-prog-name=cc1"])[1].decode().strip()


def cc1(scale):
    return [compiler(), "-quiet", "-O2", "-o", "/dev/null", big_source(max(int(150 * scale), 20))]


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    command: typing.Callable  # function of the scale
    missing: typing.Callable


PROGRAMS = [
    Program("sqlite3", sqlite, peers.executable("sqlite3")),
    Program("python3", python, peers.executable("/usr/bin/python3")),
    Program("cc1", cc1, peers.executable("gcc")),
    Program("JSON in C++", json_parser, lambda: None if os.path.exists(f"{BENCH}/json")
            else "not built (Debian: nlohmann-json3-dev)"),
]
REDIS = "redis"
PROGRAM_TOOLS = {
    NATIVE: TOOLS[NATIVE],
    FLOOR_ROW: TOOLS[FLOOR_ROW],
    peers.NO_STACK: TOOLS[peers.NO_STACK],
    "mtrace-bpf": dataclasses.replace(TOOLS[peers.CFI], attach=peers.ours()),
    "mtrace-bpf --sample 512k": TOOLS["mtrace-bpf --sample 512k"],
    peers.BPFTRACE: dataclasses.replace(TOOLS[peers.BPFTRACE], rounds=1),
    peers.MEMLEAK_ROW: dataclasses.replace(TOOLS[peers.MEMLEAK_ROW], rounds=1),
    peers.HEAPTRACK: TOOLS[peers.HEAPTRACK],
    peers.VALGRIND: dataclasses.replace(TOOLS[peers.VALGRIND], rounds=1),
}
QUICK_TOOLS = (NATIVE, FLOOR_ROW, "mtrace-bpf", peers.HEAPTRACK)
# Waits for a line, then executes the program.
GATE = ["/bin/sh", "-c", 'read -r _; exec "$@"', "gate"]


def finish(process, start):
    try:
        if process.wait(LIMIT) != 0:
            raise Failed(f"status {process.returncode}")
    except subprocess.TimeoutExpired:
        raise Failed(f"took more than {LIMIT} s") from None
    return time.monotonic() - start


@contextlib.contextmanager
def started(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        stop(process, signal.SIGKILL)


def time_program(tool, command):
    """Seconds of a program that is traced from its first instruction. If a tool launches it,
    this includes the tool's own work before and after."""
    if tool.launch:
        start = time.monotonic()
        with started(tool.launch(command)) as process:
            process.stdin.close()
            process.stdin = None
            return finish(process, start)
    with started([*GATE, *command]) as process, \
            tool.attach(process.pid, peers.system_library()):
        start = time.monotonic()
        process.stdin.write(b"\n")
        process.stdin.flush()
        return finish(process, start)


@contextlib.contextmanager
def redis_server(wrap, socket):
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
               "--appendonly", "no"]
    process = subprocess.Popen(wrap(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        Lines(process.stdout).until(rb"ready to accept connections at", 30)
        yield process.pid
    finally:
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False,
                       capture_output=True, timeout=LIMIT)
        stop(process, seconds=20)


def time_redis(tool, scale):
    """Seconds of redis-benchmark, with values larger than what a free list caches."""
    socket = f"{peers.scratch()}/redis"
    load = ["redis-benchmark", "-s", socket, "-q", "-n", str(max(int(20_000 * scale), 1000)), "-r",
            "10000", "-d", "200", "-P", "16", "-t", "set,get,lpush,lpop,sadd,hset"]
    attach = tool.attach or peers.native
    with redis_server(tool.launch or (lambda command: command), socket) as pid, \
            attach(pid, peers.system_library()):
        return run(load)[0]


def program_row(tool, programs, scale):
    result = {}
    for program in programs:
        result[program.name] = time_program(tool, program.command(scale))
    if not peers.executable("redis-server", "redis-benchmark")():
        result[REDIS] = time_redis(tool, scale)
    return result


def programs_part(scale):
    """Seconds of real programs, traced from their first instruction. (redis uses jemalloc, which
    the floor, bpftrace and memleak do not see, because they trace the C library.)"""
    names = QUICK_TOOLS if scale.quick else PROGRAM_TOOLS
    tools, missing = peers.present(names, PROGRAM_TOOLS)
    absent = {program.name: program.missing() for program in PROGRAMS}
    absent[REDIS] = peers.executable("redis-server", "redis-benchmark")()
    here = [program for program in PROGRAMS if not absent[program.name]]
    rows = {name: (functools.partial(program_row, tool, here, scale.size), tool.rounds)
            for name, tool in tools.items()}
    result = interleave(rows, min(scale.rounds, 3), scale.note)
    missing.update({name: reason for name, reason in absent.items() if reason})
    return {**result.as_dict((NATIVE, FLOOR_ROW)), "missing": missing}


def print_ratios(result):
    """Prints each figure and its ratio to that of the program alone."""
    rounds = Rounds(result["figures"])
    columns = rounds.columns()
    print_table(columns, [(name, [rounds.median(name, c) for c in columns])
                          for name in rounds.figures])
    print("\ntimes native")
    print_table(columns, [(name, [rounds.ratio(name, NATIVE, c) for c in columns])
                          for name in rounds.figures if name != NATIVE])
    print_absent(result["missing"], result["failed"])


def available():
    """Commands of the installed real programs, for a load."""
    names = [program for program in PROGRAMS if not program.missing()]
    commands = [program.command(1) for program in names]
    if shutil.which("git") and os.path.isdir(".git"):
        commands.append(["git", "log", "--stat", "-n", "300"])
    return commands
