# SPDX-License-Identifier: GPL-2.0-or-later
"""--gates always: allocation functions are sampled by code in the process. Estimates lie within
their bounds, and the process never notices.

Statistical tests allow eight times the standard deviation, so that no run fails by chance. With a
mean of one byte every call of the target is sampled: its blocks have 64 bytes or more.
"""

import os
import platform
import shutil
import signal
import subprocess

import harness
import pytest

from gates import (assert_bounds, assert_code, assert_exact, assert_gated, assert_sound,
                   assert_unharmed, assert_untouched, changed_bytes, code_of, gated, has_gates,
                   lines_of_gates, mappings, of_target, start, trace)
from harness import Steady, target
from machine import need
from report import difference
from test_allocators import PRELOADED, preloading
from test_attach import Worker

MEANS = {"4k": 4096, "64k": 65536}
CHILD_STATUS = 42 << 8  # of gated, as from wait
FUNCTIONS = {"t_malloc", "t_calloc", "t_posix_memalign", "t_aligned_alloc", "t_realloc",
             "t_reallocarray", "t_new", "t_new_array", "t_new_nothrow", "t_new_aligned"}


@pytest.fixture(autouse=True)
def machine_with_gates():
    need("bpf", "uprobes")
    if platform.machine() != "x86_64":
        pytest.skip("gates are for x86-64")


# What is estimated.

@pytest.mark.parametrize("threads", [1, 4])
def test_every_call_is_seen_once(attach, threads):
    with start(threads) as steady:
        result, truth = trace(attach, steady, "wlwxf")
        assert_gated(result, "libc.so")
        assert_sound(result.process)
        assert_exact(result.process, truth)
        assert_unharmed(truth)
        assert truth["caught"] == 50 * threads
        apis = {result.process.function(site): site["api"] for site in result.process["sites"]}
        assert apis["t_reallocarray"] == "reallocarray" and apis["t_calloc"] == "calloc"


@pytest.mark.parametrize("mean", MEANS)
def test_estimates(attach, mean):
    with start(4) as steady:
        result, truth = trace(attach, steady, "wwwl", gated(mean))
        assert_sound(result.process)
        assert_bounds(result.process, truth, MEANS[mean])
        assert result.process["sampling"]["mean_bytes"] == MEANS[mean]
        assert {site["function"] for site in truth["sites"]} == FUNCTIONS | {"t_leak"}


@pytest.mark.parametrize("mean", MEANS)
def test_only_the_leak_is_left(attach, mean):
    """All sampled blocks that were freed are seen to be freed."""
    with start(4) as steady:
        result, truth = trace(attach, steady, "wlwf", gated(mean))
        assert_sound(result.process)
        assert_bounds(result.process, truth, MEANS[mean])
        live = {name: sums["live_blocks"] for name, sums in of_target(result.process).items()}
        assert {name for name, blocks in live.items() if blocks} == {"t_leak"}
        first = max(result.process["sites"], key=lambda site: site["live_bytes"])
        assert "t_leak" in result.process.functions(first)


@pytest.mark.parametrize("name", PRELOADED)
def test_preloaded_allocators(attach, name):
    """Their operators have gates of their own. mimalloc has a function that cannot have a gate, so
    all are probed; its new does not throw, it aborts."""
    with start(2, environment=preloading(name)) as steady:
        code = code_of(steady.pid)
        result, truth = trace(attach, steady, "wf" if name == "mimalloc" else "wxf")
        assert name != "mimalloc" or "no gates: " in result.stderr
        assert_gated(result, *(() if name == "mimalloc" else (name,)))
        assert_sound(result.process)
        assert_exact(result.process, truth)
        assert_unharmed(truth)
        assert truth["caught"] == (0 if name == "mimalloc" else 100)
        assert_untouched(steady.pid, code)
        result, truth = trace(attach, steady, "ww", gated("4k"))
        assert_bounds(result.process, truth, 4096)


def test_static_glibc(attach):
    with Steady(command=[target("gated-static"), "2"]) as steady:
        code = code_of(steady.pid)
        result, truth = trace(attach, steady, "wxf")
        assert_gated(result, "gated-static")
        assert_exact(result.process, truth)
        assert_unharmed(truth)
        assert_untouched(steady.pid, code)


def test_musl(attach):
    """The smallest blocks of steady have one byte."""
    need("musl")
    with Steady(command=[target("steady-musl"), "2"]) as steady:
        code = code_of(steady.pid)
        result, truth = trace(attach, steady, 5 * "w", gated("4k"))
        assert_gated(result, "libc.so")
        assert_sound(result.process)
        assert_bounds(result.process, truth, 4096, least=1)
        assert steady.tell("c")["corrupt"] == 0
        assert_untouched(steady.pid, code)


# When there are gates.

@pytest.mark.parametrize("options", [
    ("--gates", "never", "--sample", "4k"), ("--sample", "512"), ("--gates", "always"),
    ("--gates", "always", "--sample", "4k", "-f"),
    ("--gates", "always", "--sample", "4k", "--min-size", "16")])
def test_probes_are_used_otherwise(attach, options):
    with start() as steady:
        with attach(steady.pid, options=("-v", *options)) as tracer:
            assert not has_gates(steady.pid)
            steady.tell("w")
            result = tracer.stop()
        assert result.process.heap()["allocations"] > 0
        assert not lines_of_gates(result)


def test_gates_are_removed_at_the_end(attach):
    with start() as steady:
        code = code_of(steady.pid)
        for _ in range(3):
            with attach(steady.pid, options=gated()) as tracer:
                assert has_gates(steady.pid)
                before = steady.tell("f")
                after = steady.tell("w")
                result = tracer.stop()
            assert_gated(result, "libc.so")
            assert_exact(result.process, difference(after, before))
            assert_untouched(steady.pid, code)
            assert_unharmed(steady.tell("w"))
        assert steady.quit() == 0


def test_attaching_while_threads_allocate(attach):
    with start(4) as steady:
        code = code_of(steady.pid)
        with Worker(steady):
            for _ in range(5):
                with attach(steady.pid, options=gated("64k")) as tracer:
                    assert_gated(tracer.stop(), "libc.so")
        assert_unharmed(steady.tell())
        assert_untouched(steady.pid, code)


# What the process does meanwhile.

def test_child_is_not_traced(attach):
    """The gates of a child do nothing."""
    with start() as steady:
        result, truth = trace(attach, steady, "wkwkf")
        assert truth["child"] == CHILD_STATUS
        assert_sound(result.process)
        assert_exact(result.process, truth)
        assert_unharmed(truth)


def test_child_outlives_the_gates(attach):
    """A child that was forked while gated keeps them, and works."""
    with start() as steady:
        with attach(steady.pid, options=gated()) as tracer:
            steady.tell("w")
            child = steady.tell("s")["child"]
            tracer.stop()
        assert has_gates(child)
        assert not has_gates(steady.pid)
        truth = steady.tell("r")
        assert truth["child"] == CHILD_STATUS
        assert_unharmed(truth)


def test_exec(attach):
    """The new program has no gates: it is probed, once the tracer has seen the exec."""
    with start() as steady:
        with attach(steady.pid, options=gated()) as tracer:
            old = steady.tell("w")
            steady.begin_anew()
            assert not has_gates(steady.pid)
            tracer.wait_for("libc.so", "malloc+")
            written = os.stat(tracer.path).st_ino if os.path.exists(tracer.path) else None
            tracer.signal(signal.SIGUSR1)
            while not os.path.exists(tracer.path) or os.stat(tracer.path).st_ino == written:
                assert tracer.process.poll() is None
            before = steady.tell()
            new = steady.tell("w")
            result = tracer.stop()
        first, second = result.processes
        assert_exact(first, old)
        assert_exact(second, difference(new, before))
        assert second["losses"]["gap_ns"] > 0
        assert_unharmed(new)
        assert steady.quit() == 0


def test_libraries_that_are_loaded_and_unloaded(attach, tmp_path):
    path = shutil.copy(target("libplugin.so"), tmp_path / "a.so")
    with Steady(command=[target("loader")]) as steady:
        code = code_of(steady.pid)
        old = steady.tell("w\n")
        with attach(steady.pid, options=gated()) as tracer:
            for command in (f"o {path}", "w", "c", f"o {path}", "c", "w"):
                new = steady.tell(command + "\n")
            result = tracer.stop()
        assert_gated(result, "libc.so")
        assert_exact(result.process, difference(new, old))
        assert_untouched(steady.pid, code)


def test_program_exits(attach):
    with start() as steady:
        before = steady.tell()
        with attach(steady.pid, options=gated()) as tracer:
            after = steady.tell("w")
            assert steady.quit() == 0
            result = tracer.finish()
        assert result.status == 0 and result.process["exited"]
        assert_exact(result.process, difference(after, before))


# What is left when the tracer is killed.

@pytest.mark.parametrize("options", [gated(), (), ("-f",)])
def test_killed_tracer(attach, options):
    """The gates stay, and do nothing. The next tracer removes them."""
    with start() as steady:
        code = code_of(steady.pid)
        with attach(steady.pid, options=gated()) as tracer:
            steady.tell("w")
            tracer.kill()
        assert has_gates(steady.pid)
        assert_unharmed(steady.tell("w"))
        old = steady.tell("f")  # no blocks are left that the next tracer has not seen
        with attach(steady.pid, options=options) as tracer:
            new = steady.tell("w")
            result = tracer.stop()
        assert_exact(result.process, difference(new, old))
        assert_unharmed(steady.tell("f"))
        assert_untouched(steady.pid, code)
        assert steady.quit() == 0


def test_first_thread_exits(attach):
    """Then probes serve the process."""
    with Steady(command=[target("loader")]) as steady:
        old = steady.tell("w\n")
        with attach(steady.pid, options=gated()) as tracer:
            steady.tell("w\n")
            steady.tell("l\n")
            tracer.wait_for("its first thread has exited")
            assert not has_gates(steady.pid)
            new = steady.tell("w\n")
            result = tracer.stop()
        assert_exact(result.process, difference(new, old))


def test_second_copy_of_a_library(attach):
    """dlmopen loads the C library again: that one, and all later ones, are probed."""
    with Steady(command=[target("loader")]) as steady:
        steady.tell("w\n")
        with attach(steady.pid, options=gated()) as tracer:
            steady.tell("w\n")
            first = {words[0] for words in mappings(steady.pid)}
            steady.tell(f"n {target('libplugin.so')}\n")
            probes = [0, 0]
            while probes[-1] < len(FUNCTIONS) or probes[-1] != probes[-2]:
                assert tracer.process.poll() is None
                probes.append(changed_bytes(steady.pid, "libc.so", first))
            steady.tell(f"n {target('libplugin.so')}\n")
            result = tracer.stop()
        assert lines_of_gates(result)
        functions = result.process.sums(result.process.function)
        assert functions["t_plugin"]["allocations"] > 0, functions
        assert result.process["losses"]["gap_ns"] > 0


def test_two_tracers(attach):
    """Gates are not placed over the probes of another tracer."""
    with start() as steady:
        code = code_of(steady.pid)
        before = steady.tell()
        with attach(steady.pid) as one:
            with attach(steady.pid, options=gated()) as two:
                assert_unharmed(steady.tell("w"))
                assert not lines_of_gates(two.stop())
            after = steady.tell("f")
            result = one.stop()
        assert_exact(result.process, difference(after, before))
        assert_untouched(steady.pid, code)


@pytest.mark.parametrize("options", [gated(), ()])
def test_gates_in_use(attach, options):
    """A second tracer says that it cannot trace the process, and does not touch the gates."""
    with start() as steady:
        before = steady.tell()
        with attach(steady.pid, options=gated()) as tracer:
            steady.tell("w")  # the probes are in place
            done = subprocess.run([harness.MTRACE, *options, "-p", str(steady.pid)],
                                  capture_output=True, text=True, check=False,
                                  stdin=subprocess.DEVNULL)
            assert done.returncode == 1
            assert "another tracer samples process" in done.stderr
            after = steady.tell("w")
            result = tracer.stop()
        assert_exact(result.process, difference(after, before))


def test_probes_in_all_processes(attach, tmp_path):
    """The kernel places them by file. Pages with jumps are not of that file, so none hits a jump."""
    with start() as steady:
        before = steady.tell()
        with attach(steady.pid, options=gated()) as tracer:
            other = subprocess.Popen([harness.MTRACE, "--comm", "no-such", "-o",
                                      str(tmp_path / "other")],
                                     stderr=subprocess.PIPE, text=True)
            while "tracing" not in (line := other.stderr.readline()):
                assert line
            assert_unharmed(steady.tell("w"))
            after = steady.tell("f")
            other.send_signal(signal.SIGINT)
            assert other.wait(harness.TIMEOUT) == 0
            other.stderr.close()
            result = tracer.stop()
        assert_exact(result.process, difference(after, before))
        assert steady.quit() == 0
