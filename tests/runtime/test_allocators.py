# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocators are found automatically, whatever they are and however they are linked, and each call
of the program gives exactly one event. Known faults of other tools have a test by name."""

import json
import os
import re
import shutil
import subprocess

import pytest

import harness
from harness import Steady, target
from machine import library, need
from report import COUNTS, assert_sites, difference, expected

PRELOADED = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2.0",
}


def preload(path):
    return {**os.environ, "LD_PRELOAD": path}


def preloading(name):
    need(name)
    return preload(library(PRELOADED[name]))


def built(name, facility):
    need(facility)
    return target(name)


def caller(process, site):
    """The caller of the allocator. mimalloc's operator new has two names."""
    return next((name for name in process.functions(site)
                 if not name.startswith(("operator new", "mi_new"))), "")


def assert_functions(process, truth, losses=()):
    """Like assert_sites, but ignores the API: new and new[] may share one address."""
    seen = process.sums(lambda site: caller(process, site),
                        lambda site: caller(process, site).startswith("t_"))
    assert {name: n for name, n in process.lost().items() if name not in losses} == {}
    assert process["losses"]["unmatched_frees"] == 0
    assert seen == expected(truth, key=lambda entry: entry["function"])


def failures_of(name):
    """How many times new throws. mimalloc is written in C and aborts instead."""
    return "0" if name == "mimalloc" else "100"


# Preloaded allocators.

@pytest.mark.parametrize("name", PRELOADED)
def test_preloaded_new_and_delete(launch, name):
    """Their operator new has an allocator inlined, which a probe of malloc does not see, and it
    throws, which a return probe does not survive."""
    result = launch(target("cxx"), failures_of(name), env=preloading(name))
    assert result.status == 0
    assert_functions(result.process, result.truth)


def test_preloaded_new_and_delete_by_each_pairing(launch, pairing):
    result = launch(target("cxx"), "100", env=preloading("jemalloc"), options=pairing)
    assert result.status == 0
    assert_functions(result.process, result.truth)


@pytest.mark.parametrize("name", PRELOADED)
@pytest.mark.parametrize("mode", ["pairs", "cross", "realloc"])
def test_preloaded_threads(launch, name, mode):
    result = launch(target("threads"), "8", "1000", mode, env=preloading(name))
    assert_sites(result.process, result.truth)
    assert result.process["losses"]["unmatched_frees"] == 0


@pytest.mark.parametrize("stack", ["fp", "none"])
def test_totals_of_preloaded_new_do_not_depend_on_stack_mode(launch, stack):
    """The totals do not depend on the stack mode."""
    by_tables = launch(target("cxx"), "100", env=preloading("jemalloc")).process
    other = launch(target("cxx"), "100", env=preloading("jemalloc"), options=("--stack", stack))
    assert other.process["totals"] == by_tables["totals"]


@pytest.mark.parametrize("name", ["basic", "threads"])
def test_preloaded_interposer_that_forwards_calls(launch, pairing, name):
    """Each call passes through two allocators and counts once. The second free is internal."""
    arguments = ("4", "500") if name == "threads" else ()
    result = launch(target(name), *arguments, env=preload(target("libinterposer.so")),
                    options=pairing)
    assert_sites(result.process, result.truth)
    assert result.process["losses"]["unmatched_frees"] == 0
    assert result.process["internal"]["frees"] > 0


# Allocators that are linked into the program.

@pytest.mark.parametrize("name, facility", [
    ("basic-static", None), ("basic-static-pie", None), ("basic-musl", "musl"),
    ("basic-musl-static", "musl"), ("prefixed-je_", None), ("prefixed-_rjem_", None)])
def test_linked_allocator(launch, name, facility):
    need(*filter(None, [facility]))
    result = launch(target(name))
    assert_sites(result.process, result.truth)
    assert result.process["losses"]["no_allocator"] == 0


@pytest.mark.parametrize("name, facility", [
    ("cxx-jemalloc", "static-jemalloc"), ("cxx-tcmalloc", "static-tcmalloc")])
def test_linked_allocator_with_new_and_delete(launch, name, facility):
    result = launch(built(name, facility), "100")
    assert result.status == 0
    assert_functions(result.process, result.truth)


def test_static_glibc_with_new_and_delete(launch):
    result = launch(target("cxx-static"), "100")
    heap = result.process.sums(lambda site: "new", lambda site: site["api"].startswith("operator"))
    truth = expected(result.truth, key=lambda entry: "new")
    truth["new"]["bytes_allocated"] += result.truth["rounding"]
    truth["new"]["live_bytes"] += result.truth["live_rounding"]
    assert heap == truth


def test_own_malloc(launch, pairing):
    result = launch(target("ownmalloc"), "none", options=pairing)
    assert_sites(result.process, result.truth)


@pytest.mark.parametrize("given", ["{path}:own_", "{name}:own_"])
def test_allocator_by_option(launch, given):
    """An unknown prefix, in an object given by path or by name."""
    path = target("prefixed-own_")
    option = given.format(path=path, name=os.path.basename(path))
    result = launch(path, options=("--allocator", option))
    assert_sites(result.process, result.truth)


def test_unknown_allocator_is_not_traced(launch):
    """Without the option, its blocks are not seen; libc's are exact."""
    result = launch(target("prefixed-own_"))
    seen = result.process.sums(result.process.function)
    truth = expected(result.truth, key=lambda entry: entry["function"])
    assert seen["t_libc"] == truth["t_libc"]
    assert "t_malloc" not in seen


def test_allocator_option_with_another_prefix(launch):
    result = launch(target("prefixed-own_"),
                    options=("--allocator", target("prefixed-own_") + ":none_"))
    assert 'no allocation function with the prefix "none_"' in result.stderr


@pytest.mark.parametrize("value", ["", ":je_", "./app:a-b", "app:a b"])
def test_allocator_option_refuses(value):
    result = harness.mtrace("--allocator", value, "--", "/bin/true")
    assert result.status == 2
    assert harness.one_line(result.stderr)


def test_missing_allocator_is_reported(launch, tmp_path):
    """A stripped static program has no known allocator, so the report must not say "no events
    dropped"."""
    result = launch(target("prefixed-stripped"))
    assert result.status == 0
    assert result.process["losses"]["no_allocator"] == 1
    text = harness.mtrace("-o", str(tmp_path / "report"), "--", target("prefixed-stripped"))
    assert text.status == 0
    words = (tmp_path / "report").read_text(encoding="utf-8")
    assert "no allocation function found" in words
    assert "no events dropped" not in words


# Other languages.

def block_counts(process, size):
    """The counts of the sites whose blocks all have that size."""
    sites = [site for site in process["sites"]
             if site["allocations"] and site["bytes_allocated"] == size * site["allocations"]]
    return {name: sum(site[name] for site in sites) for name in COUNTS}


@pytest.mark.parametrize("name", ["rust-libc", "rust-rjem"])
def test_rust(launch, name):
    """With libc's allocator, and with jemalloc under the names of its Rust crate."""
    result = launch(built(name, "rust"))
    allocated, kept = map(int, result.stdout.split())
    seen = block_counts(result.process, 50000)
    assert (seen["allocations"], seen["live_blocks"]) == (allocated, kept)
    assert result.process.lost() == {}
    assert result.process["losses"]["unmatched_frees"] == 0


def test_go_that_calls_c(launch):
    result = launch(target("cgo"))
    seen = block_counts(result.process, 50000)
    assert (seen["allocations"], seen["frees"]) == (int(result.stdout), int(result.stdout))


# Containers: a mount namespace with files that exist only there.

def copy_with_libraries(program, directory, *more):
    """Copy the program and the libraries that it maps."""
    shown = subprocess.run(["ldd", program, *more], capture_output=True, text=True, check=False)
    paths = {program, *more, *re.findall(r"(/[^ :]+) \(0x", shown.stdout)}
    for path in paths:
        shutil.copy(path, directory)


@pytest.fixture(params=["glibc", "musl", *PRELOADED])
def contained(request, tmp_path):
    """A command that runs the target "steady" from a file system that only its mount namespace
    has."""
    need("root")
    name, program = request.param, target("steady")
    more = []
    if name == "musl":
        need("musl")
        program = target("steady-musl")
    elif name != "glibc":
        need(name)
        more.append(library(PRELOADED[name]))
    image, inside = tmp_path / "image", tmp_path / "inside"
    image.mkdir()
    inside.mkdir()
    copy_with_libraries(program, image, *more)
    preloads = "".join(f"LD_PRELOAD={inside}/{os.path.basename(path)} " for path in more)
    paths = f"LD_LIBRARY_PATH={inside} " if name != "musl" else ""
    return ["unshare", "--mount", "/bin/sh", "-c",
            f"mount -t tmpfs none {inside} && cp {image}/* {inside} && rm -r {image} && "
            f"exec env {paths}{preloads}{inside}/{os.path.basename(program)} 4"]


def test_container(attach, contained):
    """Its libraries are found through the process, not by a path of ours, and no stack is lost.
    (BCC's memleak has no stacks from another namespace.)"""
    with Steady(command=contained) as steady:
        before = steady.tell("w")
        with attach(steady.pid) as tracer:
            after = steady.tell("w")
            result = tracer.stop()
        assert_sites(result.process, difference(after, before))
        assert steady.tell("c")["corrupt"] == 0


# Sanitizers and translators.

SANITIZED = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0",
             "LSAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0"}


@pytest.mark.parametrize("name, words", [
    ("basic-asan", "AddressSanitizer"), ("basic-asan-static", "AddressSanitizer"),
    ("basic-lsan", "LeakSanitizer")])
def test_sanitizer(launch, name, words):
    result = launch(target(name), env=SANITIZED)
    assert result.status == 0
    assert_sites(result.process, result.truth)
    told = [line for line in result.stderr.splitlines() if line.startswith("mtrace-bpf: ")]
    assert len(told) == 1 and words in told[0]


@pytest.mark.parametrize("command", [
    ("valgrind", "-q"), ("/bin/sh", "-c", 'exec valgrind -q "$0"')], ids=["itself", "by exec"])
def test_launched_valgrind_lives(launch, command):
    """Valgrind would translate our breakpoints, and its program would die of them. So no probes are
    placed."""
    need("valgrind")
    result = launch(*command, target("short"))
    assert result.status == 7
    assert "valgrind" in result.stderr
    assert result.processes[-1]["losses"]["no_allocator"] == 1
    assert json.loads(result.stdout)["sites"]


def test_running_valgrind_is_refused():
    need("valgrind", "uprobes")
    with Steady(command=["valgrind", "-q", target("steady"), "2"]) as steady:
        result = harness.mtrace("-p", str(steady.pid))
        assert result.status == 1
        assert harness.one_line(result.stderr) and "valgrind" in result.stderr
        assert steady.tell("w")["rounds"] == 1
        assert steady.quit() == 0


# Faults of other tools.

def site_counts(process, function):
    return process.sums(process.function)[function]


def test_fault_of_memleak_mmap_within_malloc(launch):
    """BCC memleak: an mmap within malloc replaces the size and stack of a large block."""
    result = launch(target("basic"))
    process = result.process
    large = [site for site in process["sites"] if site["peak_live_bytes"] >= 4 << 20]
    assert [process.function(site) for site in large] == ["t_malloc"]
    assert process["mappings"] == {"maps": 0, "bytes": 0}


def test_fault_of_memleak_static_musl(launch):
    """BCC memleak refuses it, heaptrack hangs on static programs, and mtrace-ng aborts."""
    need("musl")
    result = launch(target("basic-musl-static"))
    assert_sites(result.process, result.truth)


def test_fault_of_memleak_failed_realloc(launch):
    """BCC memleak drops the old block when realloc fails."""
    result = launch(target("basic"))
    truth = expected(result.truth, key=lambda entry: entry["function"])
    assert truth["t_realloc"]["failed_allocations"] > 0
    assert site_counts(result.process, "t_realloc") == truth["t_realloc"]


def test_fault_of_memleak_long_path(launch, tmp_path):
    """BCC memleak truncates the path of an object to 31 characters."""
    directory = tmp_path / ("long" * 20)
    directory.mkdir()
    path = shutil.copy(target("prefixed-own_"), directory / ("name" * 20))
    result = launch(str(path), options=("--allocator", f"{path}:own_"))
    assert_sites(result.process, result.truth)


def test_fault_of_memleak_caller_of_new(launch):
    """BCC memleak misses the caller of operator new."""
    result = launch(target("cxx"), "0", env=preloading("jemalloc"))
    truth = expected(result.truth, key=lambda entry: entry["function"])
    assert site_counts(result.process, "t_new") == truth["t_new"]


def test_fault_of_memleak_fast_path_of_new(launch):
    """jemalloc 5.3 inlines malloc's fast path into operator new, where a probe of malloc sees
    nothing. Here every call is seen."""
    result = launch(target("cxx"), "0", env=preloading("jemalloc"))
    news = [site for site in result.process["sites"]
            if result.process.function(site) in ("t_new", "t_new_array")]
    assert sum(site["allocations"] for site in news) == 48


@pytest.mark.parametrize("name", [None, "jemalloc", "tcmalloc"])
def test_fault_of_mtrace_ng_blind_after_a_throw(launch, name):
    """mtrace-ng: after operator new throws, the thread is never traced again."""
    env = preloading(name) if name else None
    process = launch(target("cxx"), "3", env=env).process
    counts = site_counts(process, "t_new")
    assert counts["allocations"] == 24  # the half that comes after the throws
    assert site_counts(process, "t_new_throws")["failed_allocations"] == 3


def test_fault_of_mtrace_ng_realloc_to_nothing(launch):
    """mtrace-ng: realloc(p, 0) leaves the block live."""
    result = launch(target("basic"))
    truth = expected(result.truth, key=lambda entry: entry["function"])
    assert site_counts(result.process, "t_realloc")["live_blocks"] == \
        truth["t_realloc"]["live_blocks"]
    assert result.process["losses"]["collisions"] == 0


def test_fault_of_mtrace_ng_static_function(launch):
    """mtrace-ng takes a static function for an allocator if it has an allocator's name."""
    result = launch(target("prefixed-je_"))
    assert not [site for site in result.process["sites"] if site["api"] == "pvalloc"]
