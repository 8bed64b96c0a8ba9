# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks by unwind tables: complete on programs as distributions compile them, and frame by frame
those of another unwinder."""

import collections
import os
import subprocess

import pytest

import harness
import test_programs
from machine import need

DEPTH = ("--depth", "127")
OUTERMOST = ("_start", "__clone3", "clone3", "__clone", "__GI___clone3", "_dl_start_user")
KINDS = ("tree", "threads", "coroutines")


def last_function(stack):
    return stack["frames"][-1]["function"]


def before_last(stack):
    """In a stripped program _start has no name: who called main tells. Where a coroutine begins, the
    byte before the return address belongs to another function, or none."""
    return {frame["function"] for frame in stack["frames"][-3:]}


def is_complete(stack):
    return not stack["truncated"] and (
        last_function(stack) in OUTERMOST or
        before_last(stack) & {"__libc_start_call_main", "coroutine()"})


def assert_complete(process):
    broken = [stack for stack in process.stacks.values() if not is_complete(stack)]
    assert process.stacks
    assert process["losses"]["stacks"] == 0
    assert [[frame["function"] for frame in stack["frames"]] for stack in broken] == []


PROGRAMS = {
    "git": test_programs.git_log,
    "python3": test_programs.python,
    "perl": test_programs.perl,
    "sqlite3": test_programs.sqlite,
    "cc1": test_programs.cc1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_complete(launch, tmp_path, name):
    """Every stack reaches the beginning of its thread."""
    need("programs")
    process = launch(*PROGRAMS[name](tmp_path), options=DEPTH,
                     env=test_programs.ENVIRONMENT).process
    assert_complete(process)


def place(frame):
    module = os.path.basename(frame["module"]).split(".")[0]
    return f"{module}+{frame['offset']}"


def told_stacks(text):
    """What the target says: the places of a stack, and the bytes that were allocated there."""
    sums = collections.Counter()
    for line in text.splitlines():
        size, *places = line.split()
        sums[tuple(places)] += int(size)
    return sums


def seen_stacks(process):
    """The same of the report: sites of the function that allocates, their frames but the first."""
    sums = collections.Counter()
    for site in process["sites"]:
        frames = [frame for frame in process.frames(site) if not frame["inlined"]]
        if site["api"] == "malloc" and frames and frames[0]["function"] == "take()":
            sums[tuple(place(frame) for frame in frames[1:])] += site["bytes_allocated"]
    return sums


@pytest.mark.parametrize("options", [(), ("--pairing", "task"), ("--stack", "cfi")], ids=str)
def test_exact(launch, options):
    """Every frame is that of the C++ runtime's unwinder, through frames of all shapes, threads,
    exceptions, callbacks of the C library and coroutines."""
    result = launch(harness.target("stacks"), *KINDS, options=(*DEPTH, *options))
    told, seen = told_stacks(result.stdout), seen_stacks(result.process)
    assert len(told) > 1000
    assert (told - seen, seen - told) == (collections.Counter(), collections.Counter())
    assert_complete(result.process)


def test_exact_attached(attach, tmp_path):
    """The same of a process that was running before."""
    del tmp_path
    with subprocess.Popen([harness.target("stacks"), "wait", *KINDS], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        with attach(target.pid, options=DEPTH) as tracer:
            text, _ = target.communicate("\n", timeout=harness.TIMEOUT)
            process = tracer.finish().process
    told, seen = told_stacks(text), seen_stacks(process)
    assert len(told) > 1000
    assert (told - seen, seen - told) == (collections.Counter(), collections.Counter())


def test_regex(launch):
    """std::regex, exceptions and threads of the standard library: all complete."""
    assert_complete(launch(harness.target("stacks"), "regex", "threads", options=DEPTH).process)


def test_signal(launch):
    """A stack that leads through a signal frame is cut there, and says so: no frame is wrong."""
    result = launch(harness.target("stacks"), "signals", options=DEPTH)
    told, process = told_stacks(result.stdout), result.process
    [(places, size)] = told.items()
    [(seen, bytes_seen)] = seen_stacks(process).items()
    assert size == bytes_seen
    assert places[:len(seen)] == seen
    assert [stack["truncated"] for stack in process.stacks.values()
            if any(frame["function"] == "take()" for frame in stack["frames"])] == [True]


def test_depth(launch):
    """Stacks of more frames than asked for are the first ones of the whole, and marked."""
    result = launch(harness.target("stacks"), "tree", options=("--depth", "5"))
    seen = seen_stacks(result.process)
    assert set(seen) == {places[:4] for places in told_stacks(result.stdout)}
    assert result.process["losses"]["truncated_stacks"] > 0


def test_true_caller(launch):
    """Behind operator new stands its caller, whatever operator new was compiled with."""
    process = launch(harness.target("cxx"), "0").process
    callers = {functions[1] for functions in map(process.functions, process["sites"])
               if functions and functions[0].startswith("operator new") and len(functions) > 1}
    assert {"t_new", "t_new_aligned", "t_new_array_aligned"} <= callers


def test_other_probes(launch, tmp_path):
    """Return addresses that another tool's return probes have replaced are found again."""
    need("bpftrace")
    del tmp_path
    program = harness.target("stacks")
    script = f'uretprobe:{program}:_ZL5plaini {{ @ = count(); }} BEGIN {{ printf("ready\\n"); }}'
    with subprocess.Popen(["bpftrace", "-e", script], stdout=subprocess.PIPE, text=True) as tool:
        assert any(line == "ready\n" for line in tool.stdout)
        process = launch(program, "tree", options=DEPTH).process
        tool.send_signal(2)
        tool.communicate()
    assert_complete(process)
