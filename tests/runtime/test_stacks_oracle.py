# SPDX-License-Identifier: GPL-2.0-or-later
"""Our stacks equal those of libdwfl, which unwinds the same programs under ptrace
(tests/oracle/malloc_stacks.c). We find every stack that it finds, frame by frame, up to the
outermost one. If a program always does the same, the numbers of calls are also equal."""

import collections
import ctypes
import os
import subprocess

import pytest

import harness
import stacks
import test_programs
from machine import need
from report import MAP_APIS

ORACLE = os.path.join(harness.TARGETS, "../tests/oracle/malloc_stacks")
DEPTH = stacks.DEPTH
NO_RANDOM_ADDRESSES = 0x0040000

Stack = collections.namedtuple("Stack", "places whole")


def without_random_addresses():
    """Compilers and hash tables depend on addresses, so use the same ones in both runs."""
    ctypes.CDLL(None).personality(NO_RANDOM_ADDRESSES)


def oracle_stacks(directory, command, every):
    """Calls by stack, and calls by incomplete stack, where libdwfl did not reach the end."""
    path = os.path.join(directory, "oracle.txt")
    subprocess.run([ORACLE, "-k", str(every), "-o", path, *command], stdin=subprocess.DEVNULL,
                   capture_output=True, check=True, timeout=harness.TIMEOUT,
                   env=test_programs.ENVIRONMENT, preexec_fn=without_random_addresses)
    calls, broken = collections.Counter(), collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            count, _, *places = line.split()
            if places[-1] == "?":
                broken[tuple(places[:-1])] += int(count)
            else:
                calls[Stack(tuple(places[:DEPTH]), len(places) <= DEPTH)] += int(count)
    return calls, broken


def place(frame):
    return f"{os.path.basename(frame['module'])}+{frame['offset']}"


def our_stacks(process):
    calls = collections.Counter()
    for site in process["sites"]:
        if site["api"] not in MAP_APIS:
            stack = process.stacks[site["stack"]]
            places = tuple(place(frame) for frame in stack["frames"] if stacks.is_physical(frame))
            calls[Stack(places, not stack["truncated"])] += (site["allocations"] +
                                                             site["failed_allocations"])
    return calls


def common(one, other):
    """The number of outermost frames that are equal."""
    return len(os.path.commonprefix([one.places[::-1], other.places[::-1]]))


def side_by_side(missing, ours):
    """A stack that we did not find, next to our most similar one, outermost frame first."""
    nearest = max(ours, key=lambda stack: common(missing, stack), default=Stack((), True))
    left, right = missing.places[::-1], nearest.places[::-1]
    lines = [f"{'libdwfl':45}   mtrace-bpf" + ("" if nearest.whole else " (truncated)")]
    for i in range(max(len(left), len(right))):
        one, other = (stack[i] if i < len(stack) else "-" for stack in (left, right))
        lines.append(f"{one:45} {' ' if one == other else '!'} {other}")
    return "\n".join(lines)


def assert_all_found(theirs, ours):
    missing = [stack for stack in theirs if stack not in ours]
    text = "\n\n".join(side_by_side(stack, ours) for stack in missing[:3])
    assert not missing, f"{len(missing)} of {len(theirs)} stacks are not ours:\n{text}"


def beginnings(ours, lengths):
    return {stack.places[:length] for stack in ours for length in lengths}


def assert_begun(broken, ours):
    """If libdwfl found only the beginning of a stack, one of our stacks begins with it."""
    assert set(broken) <= beginnings(ours, {len(places) for places in broken})


def repository(directory):
    test_programs.repository(directory)
    return ["git", "-C", str(directory), "log", "--stat", "-p"]


def python(code):
    def command(directory):
        del directory
        return ["/usr/bin/python3", "-S", "-c", code]
    return command


PYTHON_CODE = """
import re
def longest(words):
    return max((word for word in words if len(word) > 0), key=lambda word: (len(word), word))
class Error(Exception):
    pass
try:
    text = re.sub("(a|b)+c?(?P<name>[x-z]*)", lambda match: match["name"] * 2, "abcxyz" * 9)
    raise Error(f"{longest(text.split('x')):>9}")
except Error as error:
    print(sorted(map(str, range(300)), key=lambda number: number * 2)[0], error)
"""


def perl(directory):
    del directory
    return ["perl", "-e", "sub f { my $n = shift; return $n ? [f($n - 1), \"$n\" x 9] : {} } "
            "f($_ % 30) for 1 .. 60; my @s = sort { \"$a.\" cmp \"$b.\" } 1 .. 200; "
            "my $t = 'abc' x 40; $t =~ s/(b)(c)/$2$1/g; print sprintf('%s', $t), scalar @s"]


C_SOURCE = """
struct list { struct list *next; double value; };
static double sum(const struct list *list)
{
	double total = 0;
	for (; list; list = list->next)
		total += list->value * 2;
	return total;
}
double mean(struct list *list, int count, char *text)
{
	switch (count) { case 0: return 0; case 1: return list->value; case 7: text[1] = 3; }
	for (int i = 0; i < count; i++)
		text[i] = __builtin_popcount(i) ? text[i / 2] : 'x';
	return sum(list) / count;
}
"""

CXX_SOURCE = """
template <int N> struct counted : counted<N - 1> { virtual int get() const { return N; } };
template <> struct counted<0> { virtual ~counted() {} };
template <class... All> auto sum(All... all) { return (all + ... + 0); }
int main()
{
	counted<9> object;
	auto call = [&](auto x) -> long {
		try { return sum(x, object.get(), 3); } catch (int e) { return e; }
	};
	return call(4) + call(2L);
}
"""


def compiler(name, suffix, text, *options):
    def command(directory):
        source = directory / f"source.{suffix}"
        source.write_text(text)
        path = subprocess.run(["gcc", f"-print-prog-name={name}"], capture_output=True, text=True,
                              check=True).stdout.strip()
        return [path, "-quiet", "-O2", *options, str(source), "-o", "/dev/null"]
    return command


def ripgrep(directory):
    """A Rust program."""
    del directory
    need("ripgrep")
    folder = os.path.join(harness.ROOT, "tests/unit")
    return ["rg", "-j1", "--sort", "path", "(co|ma)ll.c *[(]", folder]


def target(*words):
    def command(directory):
        del directory
        return [harness.target(words[0]), *words[1:]]
    return command


# name: (command, the oracle looks at one of this many calls, the minimum number of distinct stacks)
PROGRAMS = {
    "git": (repository, 1, 300),
    "python3": (python(PYTHON_CODE), 1, 4000),
    "perl": (perl, 1, 300),
    "sqlite3": (test_programs.sqlite, 1, 300),
    "cc1": (compiler("cc1", "c", C_SOURCE), 1, 3000),
    "cc1plus": (compiler("cc1plus", "cc", CXX_SOURCE, "-std=c++17"), 3, 3000),
    "ripgrep": (ripgrep, 1, 300),
    "tree": (target("stacks", "tree"), 1, 300),
    "threads": (target("stacks", "threads"), 1, 1000),
    "regex": (target("stacks", "regex"), 1, 20),
    "callbacks": (target("callbacks", "2"), 1, 1000),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_stacks_equal_libdwfl(uprobes, tmp_path, name):
    """In glibc 2.36, the dynamic linker's _start has no call frame information. libdwfl ends there
    without knowing that it is the outermost frame."""
    del uprobes
    need("programs")
    make, every, least = PROGRAMS[name]
    command = make(tmp_path)
    theirs, broken = oracle_stacks(tmp_path, command, every)
    _, process = stacks.trace(tmp_path, command, preexec_fn=without_random_addresses)
    ours = our_stacks(process)
    assert process.lost() == {}
    assert len(theirs) >= least
    assert_all_found(theirs, ours)
    assert sum(broken.values()) < 0.01 * sum(theirs.values())
    assert_begun(broken, ours)
    if every == 1:
        assert {stack: ours[stack] - calls for stack, calls in theirs.items()
                if ours[stack] != calls} == {}


def test_module_loaded_at_run_time(uprobes, tmp_path):
    """A module that is loaded at run time. Its first stacks may be truncated there, because its
    unwind table is still being built. No stack is wrong."""
    del uprobes
    command = python("import _json; _json.scanstring('\"text\"', 1)")(tmp_path)
    theirs, _ = oracle_stacks(tmp_path, command, 1)
    _, process = stacks.trace(tmp_path, command, preexec_fn=without_random_addresses)
    ours = our_stacks(process)
    cut = [stack for stack in ours if not stack.whole]
    assert all("_json" in stack.places[-1] for stack in cut)
    assert {stack.places for stack in cut} <= beginnings(theirs, {len(s.places) for s in cut})
    assert_all_found(collections.Counter({
        stack: calls for stack, calls in theirs.items()
        if not any(place.startswith("_json") for place in stack.places)}), ours)
