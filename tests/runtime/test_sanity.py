# SPDX-License-Identifier: GPL-2.0-or-later
"""--sanity: finds exactly the errors of a truth table of frees, compared with memcheck on the same
programs, and finds no error in real programs."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree

import pytest

import harness
import test_programs
import test_scan_programs
from machine import need
from report import Process, plain

SANITY = ("--sanity",)


def functions(process, stack):
    return [plain(frame["function"]) for frame in process.stacks[stack]["frames"]]


def case_of(names, prefix):
    """The case that the stack belongs to, or the function names if there is none."""
    found = [name[len(prefix):] for name in names if name.startswith(prefix)]
    return found[0] if found else str(names)


def assert_nothing(process):
    found = [(error, [functions(process, error[key]) for key in
                      ("allocated_at", "freed_at", "freed_again_at") if error[key] is not None])
             for error in process["errors"]]
    assert not found
    sanity = process["sanity"]
    assert (sanity["done"], sanity["errors"], sanity["unlisted"]) == (True, 0, 0)
    assert sanity["unjudged_frees"] <= process["losses"]["unmatched_frees"]


def memcheck(*command, check=True):
    """[(kind, functions of the first stack)] of memcheck's errors."""
    need("valgrind")
    run = subprocess.run(["valgrind", "-q", "--xml=yes", "--xml-fd=2", *command],
                         capture_output=True, text=True, check=check, timeout=harness.TIMEOUT)
    document = xml.etree.ElementTree.fromstring(run.stderr[run.stderr.index("<?xml"):])
    return [(error.find("kind").text,
             [plain(frame.findtext("fn")) for frame in error.find("stack").findall("frame")])
            for error in document.findall("error")]


# Every allocation function with every release function.

def truth_of_pairs(lines):
    return {line["pair"]: line["error"] for line in lines}


@pytest.fixture(name="pairs", scope="module")
def pairs_fixture(tmp_path_factory):
    need("uprobes")
    return harness.launch(str(tmp_path_factory.mktemp("pairs")), harness.target("sanity"),
                          options=SANITY)


def test_pairs(pairs):
    process = pairs.process
    found = {name: None for name in truth_of_pairs(pairs.truths)}
    for error in process["errors"]:
        pair = case_of(functions(process, error["freed_at"]), "pair_")
        assert not found[pair], "an error is found once"
        found[pair] = error["kind"]
    assert found == truth_of_pairs(pairs.truths)
    assert process["sanity"]["errors"] == len([kind for kind in found.values() if kind])


NAMES = {"new": "operator new", "array": "operator new[]", "delete": "operator delete",
         "aligned": "aligned_alloc", "memalign": "aligned_alloc", "posix": "posix_memalign",
         "strdup": "malloc", "asprintf": "malloc"}


def name_of(word):
    if word.startswith("delete_array"):
        return "operator delete[]"
    return NAMES.get(word.split("_")[0], word)


def test_pairs_are_named(pairs):
    """Functions are reported under the name that the program called, although new[] and delete only
    jump to others."""
    process, checked = pairs.process, 0
    sites = {site["id"]: site for site in process["sites"]}
    for error in process["errors"]:
        pair = case_of(functions(process, error["freed_at"]), "pair_")
        for release in ("free", "realloc", "delete", "delete_array"):
            if not pair.endswith("_" + release):
                continue
            allocation = pair[:-len(release) - 1]
            if allocation in ("getline", "array_delete"):
                continue
            assert error["api"] == name_of(release), pair
            assert error["allocated_by"] == name_of(allocation) == sites[error["site"]]["api"]
            assert case_of(functions(process, error["allocated_at"]), "pair_") == pair
            checked += 1
            break
    assert checked > 30


def test_pairs_memcheck(pairs):
    """memcheck 3.19 ignores the size argument of sized delete."""
    found = {name: None for name in truth_of_pairs(pairs.truths)}
    for kind, names in memcheck(harness.target("sanity")):
        assert kind == "MismatchedFree"
        found[case_of(names, "pair_")] = "mismatched_free"
    assert found == {pair: error if error != "size_mismatch" else None
                     for pair, error in truth_of_pairs(pairs.truths).items()}


def test_sites_count_mismatches(pairs):
    process = pairs.process
    counted = sum(site["mismatched"] for site in process["sites"])
    assert counted == process["sanity"]["errors"]
    assert not any(site["bad_frees"] for site in process["sites"])


# Frees of invalid pointers. Each is a separate program, because it may crash.

CASES = ("none", "twice", "between", "delete", "realloc", "thread", "stale", "stack", "inside",
         "static")


def bad(directory, case, options=SANITY, **more):
    return harness.launch(str(directory), harness.target("sanity_bad"), case, options=options,
                          **more)


def test_all_cases():
    run = subprocess.run([harness.target("sanity_bad")], capture_output=True, text=True, check=True)
    assert tuple(json.loads(line)["case"] for line in run.stdout.splitlines()) == CASES


@pytest.mark.parametrize("case", CASES)
def test_bad_free(uprobes, tmp_path, case):
    del uprobes
    result = bad(tmp_path, case)
    [process], kind = result.processes, result.truth["error"]
    if not kind:
        assert_nothing(process)
        return
    [error] = process["errors"]
    assert (error["kind"], error["count"]) == (kind, 1)
    last = error["freed_again_at"] if kind == "double_free" else error["freed_at"]
    assert case_of(functions(process, last), "bad_") == case
    if kind == "double_free":
        assert functions(process, error["allocated_at"])[0] == "made_here"
        assert functions(process, error["freed_at"])[0] == "freed_here"
        assert (error["allocated_by"], error["freed_by"], error["size"]) == ("malloc", "free", 40)
        [site] = [site for site in process["sites"] if site["bad_frees"]]
        assert (site["id"], site["bad_frees"]) == (error["site"], 1)
    assert process["losses"]["unmatched_frees"] == 0


@pytest.mark.parametrize("case", ["inside", "twice"])
def test_bad_free_after_exec(uprobes, tmp_path, case):
    """All blocks of a new image are known as well."""
    del uprobes
    result = harness.launch(str(tmp_path), "sh", "-c", 'exec "$0" "$1"',
                            harness.target("sanity_bad"), case, options=SANITY)
    before, after = result.processes
    assert_nothing(before)
    [error] = after["errors"]
    assert error["kind"] == result.truth["error"]


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("realloc", "delete")])
def test_bad_free_memcheck(tmp_path, case):
    """memcheck reports the same kind for all of them. It does not reuse addresses soon, so in
    "stale" it finds the free by the former owner."""
    errors = [kind for kind, names in memcheck(harness.target("sanity_bad"), case, check=False)
              if kind in ("InvalidFree", "MismatchedFree") and case_of(names, "bad_") == case]
    assert errors == ([] if case in ("none", "stale") else ["InvalidFree"])
    del tmp_path


def test_tolerated_double_free_is_reported(uprobes, tmp_path):
    """If the allocator tolerates the error, the program and the trace continue."""
    del uprobes
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    result = bad(tmp_path, "between", env=environment)
    assert result.status == 0
    [error] = result.process["errors"]
    assert error["kind"] == "double_free"


# Valid calls that are easily mistaken for errors.

@pytest.mark.parametrize("name", ["sanity_handlers", "sanity_replaced"])
@pytest.mark.parametrize("options", [(), ("--pairing", "task"), ("--stack", "none"),
                                     ("--stack", "fp"), ("--follow-fork",)], ids=" ".join)
def test_no_error(uprobes, tmp_path, name, options):
    del uprobes
    result = harness.launch(str(tmp_path), harness.target(name), options=(*SANITY, *options))
    assert result.status == 0, result.stderr
    assert_nothing(result.process)


@pytest.mark.parametrize("options", [("--pairing", "task"), ("--stack", "fp"), ("--follow-fork",)],
                         ids=" ".join)
def test_pairs_with_other_options(uprobes, tmp_path, pairs, options):
    """The same errors are found with every pairing and stack mode."""
    del uprobes
    result = harness.launch(str(tmp_path), harness.target("sanity"), options=(*SANITY, *options))
    [process] = result.processes
    kinds = sorted(kind for kind in truth_of_pairs(pairs.truths).values() if kind)
    assert sorted(error["kind"] for error in process["errors"] for _ in range(error["count"])) \
        == kinds


def test_thread_caches(uprobes, tmp_path):
    """Exiting threads free their caches again. These frees are internal to the library."""
    del uprobes
    result = harness.launch(str(tmp_path), harness.target("threads"), "10", "1", "tcache",
                            options=SANITY)
    assert_nothing(result.process)
    assert result.process["internal"]["frees"] == 80


ATTACHED = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = [libc.malloc(100) for _ in range(50)]
print("READY", flush=True)
sys.stdin.readline()
for block in blocks:
    libc.free(ctypes.c_void_p(block))
print("DONE", flush=True)
sys.stdin.readline()
"""


def test_blocks_from_before_the_attach_are_not_checked(attach):
    """Blocks from before the attach are unknown, so their free is not an error."""
    with subprocess.Popen(["/usr/bin/python3", "-c", ATTACHED], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        try:
            assert target.stdout.readline() == "READY\n"
            with attach(target.pid, options=SANITY) as tracer:
                target.stdin.write("\n")
                target.stdin.flush()
                assert target.stdout.readline() == "DONE\n"
                process = tracer.stop().process
        finally:
            target.kill()
    assert_nothing(process)
    assert process["sanity"]["unjudged_frees"] >= 50


def test_omitted_object(uprobes, tmp_path):
    """With -O, not every block is known either, but a double free is still detected."""
    del uprobes
    options = (*SANITY, "--omit", "libnone.so")
    assert not bad(tmp_path, "stack", options).process["errors"]
    assert [error["kind"] for error in bad(tmp_path, "twice", options).process["errors"]] \
        == ["double_free"]


# What users see.

def test_without_the_option(uprobes, tmp_path):
    del uprobes
    process = bad(tmp_path, "twice", ()).process
    assert not process["sanity"]["done"] and not process["errors"]
    assert process["losses"]["unmatched_frees"] == 1


@pytest.mark.parametrize("case, status", [("none", 0), ("between", 9)])
def test_error_exitcode(uprobes, case, status):
    del uprobes
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    result = harness.mtrace("-S", "--error-exitcode", "9", "-o", "/dev/null", "--",
                            harness.target("sanity_bad"), case, env=environment)
    assert result.status == status, result.stderr


def test_text(uprobes):
    del uprobes
    result = harness.mtrace("-q", "-S", "--", harness.target("sanity_bad"), "twice")
    lines = [line.strip() for line in result.stderr.splitlines()]
    assert result.status == -signal.SIGABRT
    assert "1.  double free: free and free" in lines
    order = ["allocated by malloc at", "freed by free at", "freed again by free at"]
    assert [line for line in lines if line in order] == order
    [summary] = [line for line in lines if line.startswith("SUMMARY: ")]
    assert "1 error; " in summary


@pytest.mark.parametrize("key, case", [("badfree", "twice"), ("mismatched", None)])
def test_sort(uprobes, tmp_path, key, case):
    del uprobes
    options = (*SANITY, "--sort", key)
    result = bad(tmp_path, case, options) if case else harness.launch(
        str(tmp_path), harness.target("sanity"), options=options)
    field = {"badfree": "bad_frees"}.get(key, key)
    counts = [site[field] for site in result.process["sites"]]
    assert counts[0] and counts == sorted(counts, reverse=True)


# Real programs, without errors.

def cc1plus(directory):
    need("programs")
    source = directory / "some.cc"
    source.write_text("#include <map>\n#include <string>\n#include <vector>\n"
                      "int main() { std::map<std::string, std::vector<int>> m;\n"
                      "m[\"a\"].push_back(1); return m.size() > 1; }\n")
    compiler, machine = (
        subprocess.run(["g++", asked], capture_output=True, text=True, check=True).stdout.strip()
        for asked in ("-print-prog-name=cc1plus", "-print-multiarch"))
    return [compiler, "-quiet", "-imultiarch", machine, "-O1", "-o", str(directory / "some.s"),
            str(source)]


def git(directory):
    return test_programs.git_log(directory)


def python3(directory):
    del directory
    return ["/usr/bin/python3", "-c",
            "import ctypes, decimal, json, sqlite3, ssl, subprocess, concurrent.futures as f\n"
            "e = f.ThreadPoolExecutor(8)\n"
            "print(sum(e.map(lambda i: len(json.dumps(list(range(i)))), range(200))))\n"
            "subprocess.run(['true'])"]


def perl(directory):
    del directory
    return ["perl", "-e", "use POSIX; use Data::Dumper; my %h; $h{$_} = 'x' x $_ for 1..500;"
            "print length Dumper(\\%h); eval { die {a => 1} };"
            "for (1..10) { my $p = fork; exit 0 unless $p; wait }"]


def sqlite(directory):
    return test_programs.sqlite(directory)


@pytest.mark.parametrize("program", [sqlite, git, python3, perl, cc1plus],
                         ids=lambda program: program.__name__)
def test_real_program(uprobes, tmp_path, program):
    del uprobes
    command = program(tmp_path)
    if not shutil.which(command[0]):
        need("programs")
    result = harness.launch(str(tmp_path), *command, options=(*SANITY, "--buffer", "256m", "--depth", "8"),
                            timeout=4 * harness.TIMEOUT)
    assert result.status == 0, result.stderr
    for process in result.processes:
        assert_nothing(process)
        assert process["losses"]["events"] == 0


SERVERS = [test_scan_programs.redis, test_scan_programs.python, test_scan_programs.nginx,
           test_scan_programs.postgres]


@pytest.mark.parametrize("program", SERVERS, ids=lambda program: program.__name__)
def test_server_attached(attach, tmp_path, program):
    """A server under load, traced from the middle of its life."""
    with program(str(tmp_path)) as (process, load):
        load.more(2)
        with attach(process.pid, options=(*SANITY, "--buffer", "256m")) as tracer:
            load.more(5)
            found = tracer.stop().process
        load.more(1)
    assert found["totals"]["allocations"] > 100
    assert_nothing(found)


@pytest.mark.parametrize("program", [test_scan_programs.python, test_scan_programs.sqlite3,
                                     test_scan_programs.nginx], ids=lambda program: program.__name__)
def test_server_launched(uprobes, tmp_path, program):
    """Every block is known, so every free must be of a known block."""
    del uprobes
    path = str(tmp_path / "report.json")
    tracer = [harness.MTRACE, "--format", "json", "-o", path, *SANITY, "--buffer", "256m", "--"]
    with program(str(tmp_path), tracer) as (process, load):
        pid = test_scan_programs.program_of(process)
        try:
            load.more(5)
            process.send_signal(signal.SIGINT)
            process.wait(harness.TIMEOUT)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    with open(path, encoding="utf-8") as file:
        [found] = json.load(file)["processes"]
    assert found["totals"]["allocations"] > 100
    assert_nothing(Process(found))
