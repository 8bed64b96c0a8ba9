# SPDX-License-Identifier: GPL-2.0-or-later
"""On each kernel, the report equals the program's truth, and the expected backend is used."""

import collections
import json
import os

import pytest

import harness
import leaks
import report
import test_leak_cases as leak_tests
import test_processes as process_tests
import test_sanity as sanity_tests
import test_stacks as stack_tests
from kernels import in_guest
from report import assert_sites, difference, expected as truth_of

FALLBACK = "tracing by ptrace because BPF cannot be used: "


def assert_source(ran, expected):
    """All processes were traced by the expected backend. If that is ptrace, one line says so, and
    why."""
    assert {process["backend"] for process in ran.processes} == {expected.source}, ran.stderr
    lines = [line for line in ran.stderr.splitlines() if FALLBACK in line]
    assert len(lines) == (expected.source == "ptrace"), ran.stderr
    assert all(expected.why in line for line in lines), ran.stderr


# Backend.

@in_guest("mtrace-bpf doctor")
def test_doctor(ran, expected):
    assert ran.status == 0
    words = " ".join(ran.stdout.split())
    verdict = words[words.index("Tracing will work here"):]
    assert f", by {'BPF' if expected.source == 'bpf' else 'ptrace'}" in verdict
    if expected.source == "bpf":
        assert f"tested on a child process: {expected.means}" in words
        assert expected.family in words[words.index("child processes"):]
        assert "unwind tables" in words


@in_guest("trace -v -- basic", targets=("basic",))
def test_pairing_is_reported(ran, expected):
    """The tracer reports how calls are followed."""
    assert_source(ran, expected)
    followed = [line for line in ran.stderr.splitlines() if "calls are traced with" in line]
    assert [line.split("traced with ")[1] for line in followed] == \
        ([expected.means] if expected.source == "bpf" else [])


# Counts.

@in_guest("trace -- %(name)s", targets=("basic", "maps", "short"))
@pytest.mark.parametrize("name", ["basic", "maps", "short"])
def test_counts(ran, expected, name):
    del name
    assert_source(ran, expected)
    assert_sites(ran.process, ran.truth)
    if "mappings" in ran.truth:
        assert ran.process["mappings"] == ran.truth["mappings"]


@in_guest("trace --backend ptrace -- basic", targets=("basic",))
def test_counts_by_ptrace(ran, expected):
    """ptrace works everywhere."""
    del expected
    assert ran.process["backend"] == "ptrace"
    assert_sites(ran.process, ran.truth)


@in_guest("trace -- basic", targets=("basic",), setting="test ! -w $JIT || echo 0 >$JIT")
def test_counts_interpreted(ran, expected):
    """Without the JIT compiler, BPF programs cannot have callbacks. Ours have some, so ptrace is
    used."""
    assert_sites(ran.process, ran.truth)
    assert ran.process["backend"] == "ptrace"
    [line] = [line for line in ran.stderr.splitlines() if FALLBACK in line]
    assert (expected.why or "the BPF JIT compiler is off") in line or \
        "the BPF JIT compiler is off" in line


@in_guest("trace -- threads 8 1000 %(mode)s", targets=("threads",))
@pytest.mark.parametrize("mode", ["pairs", "cross", "realloc"])
def test_threads(ran, expected, mode):
    del mode
    assert_source(ran, expected)
    assert_sites(ran.process, ran.truth)
    assert ran.process["losses"]["unmatched_frees"] == 0


@in_guest("trace -- cxx 100", targets=("cxx",))
def test_new_and_delete(ran, expected):
    """A program that throws is not killed."""
    assert_source(ran, expected)
    assert ran.status == 0, ran.stderr
    seen = ran.process.sums(lambda site: "new", lambda site: site["api"].startswith("operator"))
    truth = truth_of(ran.truth, key=lambda entry: "new")
    truth["new"]["bytes_allocated"] += ran.truth["rounding"]
    truth["new"]["live_bytes"] += ran.truth["live_rounding"]
    assert ran.process.lost() == {}
    assert seen == truth


# Recordings and connections are read here, regardless of the guest's byte order and word size.

def reported(*arguments):
    """The report of this machine's program for a recording of the guest, with the guest's files."""
    path = arguments[-1] + ".json"
    done = harness.mtrace("report", "--format", "json", "-o", path, *arguments)
    assert done.status == 0, done.stderr
    with open(path, encoding="utf-8") as file:
        process, = json.load(file)["processes"]
    return report.Process(process)


@in_guest("trace --record trace.rec -- basic", targets=("basic",))
def test_recorded(ran, expected, tmp_path):
    assert_source(ran, expected)
    files = os.path.join(harness.ROOT, expected.targets)
    process = reported("--binpath", files, str(tmp_path / "trace.rec"))
    assert_sites(process, ran.truth)
    for key in ("arch", "totals", "live", "losses"):
        assert process[key] == ran.process[key]


@in_guest("""
mtrace-bpf serve --listen unix:/tmp/socket --wait -- basic &
until test -e /tmp/socket; do sleep 0.1; done
trace() { mtrace-bpf connect --format json -o report.json "$@"; }
trace unix:/tmp/socket
wait
""", targets=("basic",))
def test_served(ran, expected):
    """A small machine serves a trace to another process in the guest."""
    del expected
    assert ran.status == 0, ran.stderr
    assert ran.process["backend"] == "remote"
    assert_sites(ran.process, ran.truth)


# Stacks.

@in_guest("trace --depth 127 --top 0 -- stacks tree threads coroutines", targets=("stacks",))
def test_stacks(ran, expected):
    """Every frame equals that of the C++ runtime's unwinder, and the last one is the outermost.
    (The names of outermost functions are only in the C library's separate debug information, which
    is not installed.)"""
    assert_source(ran, expected)
    told, seen = stack_tests.told_stacks(ran.stdout), stack_tests.seen_stacks(ran.process)
    assert len(told) > 1000
    told = cut(told, last_places(ran.process, expected.innermost, 1))
    seen = within(told, seen, last_places(ran.process, expected.outermost, OUTERMOST))
    assert (told - seen, seen - told) == (collections.Counter(), collections.Counter())
    stops = collections.Counter(stack["stop"] for stack in ran.process.stacks.values())
    assert set(stops) == set(expected.stops)
    assert expected.incomplete in (None, sum(stops.values()) - stops["end"])


OUTERMOST = 2  # frames: the start code of the thread, and the caller of its function


def last_places(process, names, count):
    """The places at which stacks end, with at most `count` frames of these functions."""
    last = [frame for stack in process.stacks.values() for frame in stack["frames"][-count:]]
    return {stack_tests.place(frame) for frame in last if frame["function"] in names}


def cut(told, innermost):
    """The stacks that the target printed, cut off after these places."""
    sums = collections.Counter()
    for stack, size in told.items():
        ends = [i for i, place in enumerate(stack) if place in innermost]
        sums[stack[:ends[0] + 1] if ends else stack] += size
    return sums


def within(told, seen, outermost):
    """The stacks that were seen. Trailing frames that the target's unwinder does not have are cut
    off if the target printed the rest of the stack."""
    sums = collections.Counter()
    for stack, size in seen.items():
        shorter = [stack[:-count] for count in range(1, OUTERMOST + 1)
                   if outermost.issuperset(stack[-count:]) and stack[:-count] in told]
        sums[shorter[0] if shorter and stack not in told else stack] += size
    return sums


@in_guest("trace --depth 127 --top 0 -- stacks signals", targets=("stacks",))
def test_stacks_through_signals(ran, expected):
    """With BPF, the stack is as complete as other stacks on that kernel. With ptrace, it ends at
    the signal frame on some processors."""
    assert_source(ran, expected)
    stops = {stack["stop"] for stack in ran.process.stacks.values()}
    assert stops <= set(expected.stops) | ({"signal"} if expected.source == "ptrace" else set())
    told, seen = stack_tests.told_stacks(ran.stdout), stack_tests.seen_stacks(ran.process)
    assert len(seen) == len(told) == 1
    if expected.source == "bpf":  # places in the vdso have other names in the C library
        assert [len(stack) for stack in seen] == [len(stack) for stack in told]


@in_guest("trace --stack fp -- basic", targets=("basic",))
def test_stacks_by_frame_pointers(ran, expected):
    assert_source(ran, expected)
    assert_sites(ran.process, ran.truth)


# Leaks.

@in_guest("trace --scan --depth 64 --top 0 -- %(name)s",
          targets=("valgrind/leak_cases", "valgrind/leak_cases_cxx", "valgrind/libleak.so"))
@pytest.mark.parametrize("name", ["leak_cases", "leak_cases_cxx"])
def test_leaks(ran, expected, name):
    del name
    assert_source(ran, expected)
    assert ran.status == 0, ran.stderr
    leak_tests.check_report(leaks.Truth(ran.stdout), ran.process)


# Processes.

@in_guest("trace -f -- family %(way)s", targets=("family",))
@pytest.mark.parametrize("way", ["fork", "thread", "nested 4", "vfork", "daemon"])
def test_children(ran, expected, way):
    del way
    assert_source(ran, expected)
    process_tests.assert_truths(ran)


@in_guest("trace -- exec /targets/basic", targets=("exec", "basic"))
def test_exec(ran, expected):
    assert_source(ran, expected)
    before, after = ran.processes
    assert before["pid"] == after["pid"]
    assert_sites(before, ran.truths[0], losses=("gap_ns",))
    assert_sites(after, ran.truths[1], losses=("gap_ns",))


# Each line passes through a pipe, so nothing needs to sleep.
ATTACH = """
mkfifo in out err
steady %(threads)s <in >out & target=$!
exec 4>in 5<out
read ready <&5
tell() { printf $1 >&4; read truth <&5; echo "$truth"; }
tell w
mtrace-bpf --format json -o report.json -p $target 2>err & tracer=$!
exec 6<err
while read line <&6; do case "$line" in *tracing*"($target)"*) break; esac; done
cat <&6 >&2 &
tell w; tell w; tell w
kill -INT $tracer
wait $tracer && tell c && printf q >&4 && wait $target
"""


@in_guest("""
if test -e /targets/compat32; then
	mtrace-bpf -- compat32 >/dev/null; echo $? >refused
	trace --backend ptrace -- compat32
fi
""")
def test_32_bit_programs(ran, expected):
    """If a kernel has no uprobes for 32-bit programs, these are refused, or traced by ptrace on
    request."""
    assert ("refused" in ran.files) == bool(expected.compat32)
    if expected.compat32:
        assert ran.files["refused"] == b"1\n"
        assert "mtrace-bpf: cannot trace compat32: this kernel has no uprobes for 32-bit programs" \
            in ran.stderr
        assert ran.process["backend"] == "ptrace" and ran.process["arch"] == "arm"
        truth = truth_of(ran.truth, key=lambda entry: entry["function"])
        seen = ran.process.sums(ran.process.function)
        assert {name: seen[name] for name in truth} == truth


@in_guest(ATTACH, targets=("steady",))
@pytest.mark.parametrize("threads", [1, 4])
def test_attach(ran, expected, threads):
    """The counts since the attach are right, and the target continues."""
    del threads
    assert ran.status == 0, ran.stderr
    first, *_, last, after = ran.truths
    assert ran.process["backend"] == expected.source
    assert_sites(ran.process, difference(last, first))
    assert ran.process["losses"]["unmatched_frees"] == 0
    assert after["corrupt"] == 0


# What could kill a target or corrupt the model.

@in_guest("trace -- seccomp %(mode)s", targets=("seccomp",))
@pytest.mark.parametrize("mode", ["strict", "filter"])
def test_seccomp(ran, expected, mode):
    del mode
    assert_source(ran, expected)
    assert ran.status == 0, ran.stderr
    assert_sites(ran.process, ran.truth)


@in_guest("trace -- altstack coroutine", targets=("altstack",))
def test_coroutines(ran, expected):
    assert_source(ran, expected)
    assert ran.status == 0, ran.stderr
    assert_sites(ran.process, ran.truth)


@in_guest("trace -- ownmalloc %(trick)s", targets=("ownmalloc",))
@pytest.mark.parametrize("trick", ["longjmp", "nested"])
def test_longjmp_and_nesting(ran, expected, trick):
    """A call that never returns, or recurses a hundred levels deep, does not hide later calls."""
    assert_source(ran, expected)
    assert ran.status == 0, ran.stderr
    seen = ran.process.sums(ran.process.function)
    truth = truth_of(ran.truth, key=lambda entry: entry["function"])
    assert seen["t_ordinary"] == truth["t_ordinary"]
    if trick == "nested":
        assert seen["t_tricky"] == truth["t_tricky"]


# Sanity.

@in_guest("trace --sanity -- sanity", targets=("sanity",))
def test_sanity_of_pairs(ran, expected):
    assert_source(ran, expected)
    truth = sanity_tests.truth_of_pairs(ran.truths)
    found = dict.fromkeys(truth)
    for error in ran.process["errors"]:
        pair = sanity_tests.case_of(sanity_tests.functions(ran.process, error["freed_at"]), "pair_")
        assert not found[pair], "an error is found once"
        found[pair] = error["kind"]
    assert found == truth


@in_guest("trace --sanity -- sanity_bad %(case)s", targets=("sanity_bad",))
@pytest.mark.parametrize("case", ["none", "twice", "stack"])
def test_bad_free(ran, expected, case):
    assert_source(ran, expected)
    kind = ran.truth["error"]
    assert (kind is None) == (case == "none")
    assert [error["kind"] for error in ran.process["errors"]] == ([kind] if kind else [])
