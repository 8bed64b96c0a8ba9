# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the leak scan's truth table (tests/targets/leak_truth.h): what they expect, what
each leak checker finds in them, and the comparison."""

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree

import harness
import report
from report import MAP_APIS, plain

CLASSES = ("definite", "indirect", "possible", "stack_only", "reachable", "unknown")
PROGRAMS = ("leak_cases", "leak_places", "leak_cases_cxx", "leak_cases_cxx_old")
SCAN_PROCESS = os.path.join(harness.TARGETS, "..", "tests", "scan", "scan_process")

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def case_of(functions):
    """The case that a stack belongs to, or None."""
    for function in functions:
        if plain(function).startswith("case_"):
            return plain(function)[len("case_"):]
    return None


class Tally:
    """Blocks and bytes by class. In a truth, None matches any number."""

    def __init__(self, classes=None):
        self.classes = {name: [0, 0] for name in CLASSES}
        for name, pair in (classes or {}).items():
            self.classes[name] = list(pair)

    def add(self, name, blocks, size):
        self.classes[name][0] += blocks
        self.classes[name][1] += size

    def agrees(self, found, classes=CLASSES):
        return all(mine in (None, theirs) for name in classes
                   for mine, theirs in zip(self.classes[name], found.classes[name]))

    def __str__(self):
        def number(value):
            return "any" if value is None else str(value)
        return " ".join(f"{name} {number(pair[0])}/{number(pair[1])}"
                        for name, pair in self.classes.items() if pair != [0, 0]) or "nothing"


class Truth:
    """What a program expects of its cases, in its order."""

    def __init__(self, text):
        rows = [json.loads(line) for line in text.splitlines() if line.startswith('{"number"')]
        self.numbers = {row["number"]: row["case"] for row in rows}
        self.cases = {row["case"]: Tally(row["class"]) for row in rows}


def compare(truth, found, exceptions=None, classes=CLASSES):
    """Compare all cases, and return the lines of those that differ. An exception replaces the truth
    of a case: {case: (classes, why)}. An exception that is not needed is an error."""
    exceptions = exceptions or {}
    wrong = [f"{case}: an exception for a case that there is not"
             for case in exceptions if case not in truth.cases]
    for case, expected in truth.cases.items():
        got = found.get(case, Tally())
        mark, why = "", ""
        if case in exceptions:
            assert not expected.agrees(got, classes), f"{case}: agrees; no exception needed"
            expected, why = Tally(exceptions[case][0]), exceptions[case][1]
        if not expected.agrees(got, classes):
            mark = "  <<< differs"
            wrong.append(f"{case}: expected {expected}; found {got}")
        print(f"{case:26} {str(expected):58} {str(got):58} {why}{mark}")
    return wrong


def run(command, **more):
    more = {"stdin": subprocess.DEVNULL, "timeout": 4 * harness.TIMEOUT, "env": ENVIRONMENT, **more}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                          **more)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def by_engine(program, directory=harness.TARGETS, options=(), **more):
    """Run the scan by itself. A preloaded library records all blocks."""
    out = run([SCAN_PROCESS, *options, os.path.join(directory, "recorder.so"),
               os.path.join(directory, program)], **more).stdout
    truth = Truth(out)
    document = json.loads(out.splitlines()[-1])
    assert document["unreadable"] == 0
    return truth, {case: Tally(document["scan"][str(number)])
                   for number, case in truth.numbers.items()}


# The dynamic linker stores how many cycles relocation took: some 80 million under valgrind. At
# valgrind's default address, that number would be an address in its heap.
VALGRIND = ["valgrind", "-q", "--aspace-minaddr=0x40000000", "--leak-check=no",
            "--show-leak-kinds=all", "--num-callers=40", "--leak-resolution=high", "--xml=yes"]
VALGRIND_KINDS = {"Leak_DefinitelyLost": "definite", "Leak_IndirectlyLost": "indirect",
                  "Leak_PossiblyLost": "possible", "Leak_StillReachable": "reachable"}


def first_check(root):
    """The program requests a check itself, once all threads are running. Valgrind makes another one
    at exit; ignore it."""
    for element in root:
        if element.tag == "status" and element.findtext("state") == "FINISHED":
            return
        if element.tag == "error":
            yield element


def by_valgrind(program):
    """Built with short chains: see leak_cases.c."""
    found = collections.defaultdict(Tally)
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        out = run([*VALGRIND, f"--xml-file={file.name}",
                   harness.target(f"valgrind/{program}")]).stdout
        root = xml.etree.ElementTree.parse(file.name).getroot()
    for error in first_check(root):
        kind = VALGRIND_KINDS.get(error.findtext("kind"))
        case = case_of(frame.findtext("fn") or "" for frame in error.iter("frame"))
        if kind and case:
            # "144 (48 direct, 96 indirect) bytes in 1 blocks are …"
            direct = re.search(r"^([\d,]+) (?:\(([\d,]+) direct)?", error.findtext("xwhat/text"))
            found[case].add(kind, int(error.findtext("xwhat/leakedblocks")),
                            int((direct[2] or direct[1]).replace(",", "")))
    return Truth(out), found


LSAN_RECORD = re.compile(r"^(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) .*\n"
                         r"((?: +#\d+ .*\n)+)", re.MULTILINE)


def by_lsan(program):
    """LeakSanitizer reports definite and indirect leaks only."""
    options = "fast_unwind_on_malloc=0:malloc_context_size=40"
    done = run([harness.target(f"lsan/{program}")], env={**ENVIRONMENT, "LSAN_OPTIONS": options})
    found = collections.defaultdict(Tally)
    for kind, size, blocks, frames in LSAN_RECORD.findall(done.stderr):
        case = case_of(re.findall(r" in (\S+)", frames))
        if case:
            found[case].add("definite" if kind == "Direct" else "indirect", int(blocks), int(size))
    return Truth(done.stdout), found


@contextlib.contextmanager
def launched(directory, program, *options):
    """Trace a program from its start; yields (tracer, path of the report, truth) once it is
    ready."""
    path = os.path.join(directory, "report.json")
    command = [harness.MTRACE, "--format", "json", "-o", path, "--depth", "64", "--top", "0",
               *options, "--", harness.target(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT) as process:
        deadline = harness.Deadline(process, 5 * harness.TIMEOUT)  # slow with ptrace
        said = []
        while "READY\n" not in said:
            said.append(process.stdout.readline())
            assert said[-1], f"ended with {process.wait()}"
        try:
            yield process, path, Truth("".join(said))
        finally:
            process.stdin.close()
            process.wait()
            deadline.cancel()


def read_report(path):
    """The only process of a report, or None if there is no report yet."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (FileNotFoundError, ValueError):
        return None
    report.check(document)
    [process] = document["processes"]
    return report.Process(process)


def scanned_twice(process, path):
    """The report of the second scan from now on. The first one may have begun earlier."""
    times = set()
    begin = time.monotonic_ns()
    while True:
        assert process.poll() is None, "out of time"
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.3)  # writing and reading a report takes longer than a scan
        reported = read_report(path)
        if reported and reported["scan"]["done"] and reported["scan"]["taken_ns"] > begin:
            times.add(reported["scan"]["taken_ns"])
        if len(times) >= 2:
            return reported


def by_report(process):
    """The heap sites of a report, by the case that their stacks name."""
    found = collections.defaultdict(Tally)
    for site in process["sites"]:
        case = case_of(process.functions(site))
        for name in CLASSES if case and site["api"] not in MAP_APIS else ():
            found[case].add(name, site[f"{name}_blocks"], site[f"{name}_bytes"])
    return found
