# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks through code from many compilers, and through code without unwind tables. If the program
knows its stacks, the report has exactly those. A wrong stack is never reported as complete."""

import collections
import functools
import itertools
import os

import pytest

import harness
import stacks
import test_stacks
from machine import need

CHAINS = sorted(os.listdir(harness.target("chain")))
KINDS = ("tree", "thread", "sort", "jump", "signals")
SIGNALS = {"sleep", "spin", "sleep-alternate", "spin-alternate"}

# Neither call frame information nor frame pointers. The unwinder may follow the frame pointer of a
# caller further out, so these stacks lack frames, and are marked.
WITHOUT_TABLES = {"no-table", "no-table-clang"}

# Debian's musl has no call frame information: stacks through it are marked.
MUSL = {name for name in CHAINS if name.startswith("musl")}

# A function without call frame information also ends a stack if it was interrupted by a signal.
UNTABLED = {*MUSL, "no-table-O0", "no-table-pointers"}
SIZES = range(50000, 51000)  # of the blocks of chain

# Frames beyond main: two functions of the C library and _start. For glibc's threads: clone3.
BEHIND_MAX = 3

Told = collections.namedtuple("Told", "kind places")
Seen = collections.namedtuple("Seen", "places whole")


def told_stacks(text):
    """The stacks that chain prints: bytes by stack."""
    sums = collections.Counter()
    for line in text.splitlines():
        kind, size, *places = line.split()
        sums[Told(kind, tuple(places))] += int(size)
    return sums


def seen_stacks(process, program):
    """The reported stacks of chain's own blocks. The first frame, in the allocating function, is
    left out."""
    def place(frame):
        return ("main" if frame["module"] == program else "lib") + f"+{frame['offset']}"

    sums = collections.Counter()
    for site in process["sites"]:
        stack = process.stacks[site["stack"]]
        places = [place(frame) for frame in stack["frames"] if stacks.is_physical(frame)]
        if site["allocations"] and site["bytes_allocated"] // site["allocations"] in SIZES:
            sums[Seen(tuple(places[1:]), not stack["truncated"])] += site["bytes_allocated"]
    return sums


def agrees(told, seen, whole):
    """Whether `seen` equals `told` ("*" matches any frames), or begins it if it is not whole."""
    if not seen:
        return not whole or not told
    if not told:
        return len(seen) <= BEHIND_MAX
    if told[0] == "*":
        return agrees(told[1:], seen, whole) or agrees(told, seen[1:], whole)
    return told[0] == seen[0] and agrees(told[1:], seen[1:], whole)


def describe(seen):
    return ("" if seen.whole else "truncated: ") + " ".join(seen.places)


def trace_chain(tmp_path_factory, name, *kinds):
    """Run it traced. Returns the stacks that it prints, the stacks that are reported, and the
    process."""
    need("uprobes", "musl")
    program = harness.target(f"chain/{name}")
    result = harness.launch(str(tmp_path_factory.mktemp(name)), program, *kinds,
                            options=stacks.OPTIONS)
    assert result.status == 0
    return (told_stacks(result.stdout), seen_stacks(result.process, os.path.realpath(program)),
            result.process)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """chain(NAME): trace the program chain/NAME, once."""
    return functools.cache(lambda name: trace_chain(tmp_path_factory, name, *KINDS))


def is_part(told, seen):
    """Whether `seen` is `told` with some frames left out."""
    rest = iter(told)
    return all(place in rest for place in seen)


def is_true(name, stack, seen):
    if name in WITHOUT_TABLES and not seen.whole:
        return is_part(stack.places, seen.places)
    return agrees(stack.places, seen.places, seen.whole)


def is_complete(name, stack, seen):
    if name in MUSL and not seen.whole:
        return seen.places == tuple(itertools.takewhile("*".__ne__, stack.places))
    return seen.whole and agrees(stack.places, seen.places, True)


def assert_true(name, told, seen):
    wrong = [describe(one) for one in seen if not any(is_true(name, stack, one) for stack in told)]
    assert not wrong, f"{len(wrong)} of {len(seen)}:\n" + "\n".join(wrong[:5])


@pytest.mark.parametrize("name", CHAINS)
def test_never_wrong(chain, name):
    """Each reported stack is one of the program's stacks, and is either whole or marked. No call is
    lost."""
    told, seen, process = chain(name)
    assert process.lost() == {}
    assert sum(told.values()) == sum(seen.values())
    assert_true(name, told, seen)


@pytest.mark.parametrize("name", [name for name in CHAINS if name not in WITHOUT_TABLES])
def test_complete(chain, name):
    """Every stack of the program is reported, whole and with its bytes. That includes stacks
    through signal handlers if the interrupted code has unwind tables."""
    told, seen, _ = chain(name)
    missing = []
    for stack, size in told.items():
        found = [one for one in seen if is_complete(name, stack, one)]
        if stack.kind in SIGNALS and name in UNTABLED:
            continue
        if sum(seen[one] for one in found) < size:
            missing.append(" ".join((stack.kind, *stack.places)))
    assert not missing, f"{len(missing)} of {len(told)}:\n" + "\n".join(missing[:5])


@pytest.mark.parametrize("name", ["gcc-O2", "clang-O2", "static"])
def test_code_without_tables(tmp_path_factory, name):
    """Hand-written code without call frame information in the middle of a stack. An unwinder that
    trusts the frame pointer of a caller further out would skip the frames in between."""
    told, seen, _ = trace_chain(tmp_path_factory, name, "bare")
    assert_true(name, told, seen)


# Code of other compilers, including JIT compilers. These programs do not know their stacks, but a
# wrong stack would not end where threads begin.


def assert_flagged_or_complete(process):
    assert process.stacks
    assert process.lost() == {}
    assert [stack for stack in process.stacks.values()
            if not stack["truncated"] and not test_stacks.is_complete(stack)] == []


def blocks(process):
    """The number of blocks of 50000 bytes."""
    return sum(site["allocations"] for site in process["sites"]
               if site["allocations"] * 50000 == site["bytes_allocated"])


def test_go(uprobes, tmp_path):
    """C code that is called by goroutines runs on another stack, from which the unwinder cannot
    continue."""
    del uprobes
    output, process = stacks.trace(tmp_path, [harness.target("cgo")])
    assert_flagged_or_complete(process)
    assert blocks(process) == int(output)


def test_luajit(uprobes, tmp_path):
    del uprobes
    need("luajit")
    script = os.path.join(harness.ROOT, "tests/targets/jit.lua")
    output, process = stacks.trace(tmp_path, ["luajit", script])
    assert_flagged_or_complete(process)
    assert blocks(process) == int(output)


def test_node(uprobes, tmp_path):
    """Compiled JavaScript keeps frame pointers, so most stacks are complete."""
    del uprobes
    need("node")
    script = os.path.join(harness.ROOT, "tests/targets/jit.js")
    _, process = stacks.trace(tmp_path, ["node", script])
    assert_flagged_or_complete(process)
    flagged = [stack for stack in process.stacks.values()
               if stack["truncated"] and len(stack["frames"]) < stacks.DEPTH]
    assert len(flagged) < 0.05 * len(process.stacks)
