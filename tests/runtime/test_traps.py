# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways in which tracing could kill a program or corrupt the model, with one test each."""

import os
import shutil
import subprocess

import pytest

import harness
from conftest import PERF_TASK
from harness import Steady, target
from machine import library, need
from report import assert_sites, difference, expected

ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2.0",
}


@pytest.fixture(params=ALLOCATORS)
def preloaded(request):
    """An environment that preloads the allocator."""
    need(request.param)
    return {**os.environ, "LD_PRELOAD": library(ALLOCATORS[request.param])}


# What could kill or corrupt the target.

def test_trap_throwing_new(launch, pairing):
    """A return probe on a function that throws would kill the program."""
    result = launch(target("cxx"), "100", options=pairing)
    assert result.status == 0
    assert result.process["totals"]["failed_allocations"] == 102


def test_trap_throwing_new_of_a_preloaded_allocator(launch, preloaded):
    """The program exits in the same way as without tracing. (mimalloc is written in C and cannot
    throw: it aborts.)"""
    alone = subprocess.run([target("cxx"), "100"], env=preloaded, capture_output=True, text=True,
                           check=False)
    result = launch(target("cxx"), "100", env=preloaded)
    assert result.status == alone.returncode, result.stderr
    assert result.stdout == alone.stdout
    assert result.status == (-6 if "mimalloc" in preloaded["LD_PRELOAD"] else 0)


def test_preloaded_allocator_is_traced(launch, preloaded):
    result = launch(target("threads"), "4", "1000", env=preloaded)
    assert_sites(result.process, result.truth)


def test_preloaded_allocator_attached(attach, preloaded):
    with Steady(4, environment=preloaded) as steady:
        before = steady.tell("w")
        with attach(steady.pid) as tracer:
            after = steady.tell("w")
            result = tracer.stop()
        assert_sites(result.process, difference(after, before))
        assert steady.tell("c")["corrupt"] == 0


def test_trap_signal_handler_on_an_alternate_stack(launch):
    """A signal handler may run while a return-probed call is pending. With sessions, no event of
    the handler can be armed then; missed returns are counted."""
    need("session")
    result = launch(target("altstack"), "signal", options=("--pairing", "session"))
    assert result.status == 0
    seen, truth = result.process.heap(), expected(result.truth, key=lambda entry: entry["api"])
    missed = result.process["losses"]["missed_returns"]
    handler = truth["malloc"]["allocations"]
    own = result.process.sums(lambda site: "t", lambda site: result.process.function(site)
                              == "t_handler")["t"]["allocations"]
    assert handler - missed <= own <= handler
    assert seen["allocations"] >= own


@pytest.mark.parametrize("trick", ["signal", "switch"])
def test_trap_allocation_on_another_stack_during_a_pending_call(launch, trick):
    """The program's own malloc is interrupted every time, so the test is deterministic."""
    need("session")
    result = launch(target("ownmalloc"), trick, options=("--pairing", "session"))
    assert result.status == 0
    seen = result.process.sums(result.process.function)
    assert seen["t_ordinary"]["allocations"] == 200
    assert seen["t_tricky"]["allocations"] == 100
    during = seen.get("t_during", {"allocations": 0})["allocations"]
    assert during + result.process["losses"]["missed_returns"] >= 100


def test_coroutines(launch, pairing):
    result = launch(target("altstack"), "coroutine", options=pairing)
    assert result.status == 0
    assert_sites(result.process, result.truth)


@pytest.mark.parametrize("mode", ["strict", "filter"])
def test_trap_seccomp(launch, pairing, mode):
    result = launch(target("seccomp"), mode, options=pairing)
    assert result.status == 0
    assert_sites(result.process, result.truth)


def test_trap_fork_while_attached(attach):
    """Children of an attached process are not disturbed."""
    command = ["/bin/sh", "-c", "echo READY; while read x; do /bin/true || exit 9; "
               "(exit 0) || exit 9; echo '{}'; done"]
    with Steady(command=command) as shell:
        with attach(shell.pid) as tracer:
            for _ in range(20):
                assert shell.tell("x\n") == {}
            result = tracer.stop()
        assert result.process["pid"] == shell.pid
        assert shell.tell("x\n") == {}


# What could corrupt the model.

@pytest.mark.parametrize("threads", [1, 10, 100])
def test_trap_thread_exit_frees_again(launch, threads):
    """At thread exit, glibc's thread cache frees its seven blocks and itself."""
    result = launch(target("threads"), str(threads), "1", "tcache")
    assert_sites(result.process, result.truth)
    assert result.process["internal"]["frees"] == 8 * threads
    assert result.process["losses"]["unmatched_frees"] == 0


def test_trap_munmap_of_the_allocators_own_chunks(launch):
    """free of a large block calls the same munmap as the program does. It does so once, because
    glibc then raises its threshold. Two more calls unmap something that is not in the model: a
    hole, and a mapping that was made by a direct system call."""
    result = launch(target("maps"))
    assert result.process["mappings"] == result.truth["mappings"]
    assert result.process["internal"]["munmaps"] == 3


def test_trap_mappings_of_libc_are_a_separate_api(launch):
    """Thread stacks and other mappings of libc do not count as the program's mappings."""
    result = launch(target("threads"), "8", "10")
    apis = {site["api"] for site in result.process["sites"]}
    assert "mmap (libc)" in apis
    assert result.process["mappings"] == {"maps": 0, "bytes": 0}


@pytest.mark.parametrize("trick", ["longjmp", "nested"])
def test_trap_longjmp_and_nesting(launch, every_pairing, trick):
    """A call that never returns, or recurses a hundred levels deep, does not hide later calls."""
    result = launch(target("ownmalloc"), trick, options=every_pairing)
    assert result.status == 0
    seen = result.process.sums(result.process.function)
    truth = expected(result.truth, key=lambda entry: entry["function"])
    assert seen["t_ordinary"] == truth["t_ordinary"]
    if trick == "nested":
        assert seen["t_tricky"] == truth["t_tricky"]


@pytest.mark.parametrize("trick", ["longjmp", "nested"])
def test_trap_longjmp_and_nesting_with_perf_event_probes(launch, trick):
    need("bpf")
    test_trap_longjmp_and_nesting(launch, PERF_TASK, trick)


@pytest.mark.parametrize("stack", [(), ("alternate",)], ids=["same", "alternate"])
def test_trap_longjmp_out_of_mmap(launch, stack):
    result = launch(target("longjmp"), *stack)
    assert result.status == 0
    assert result.process["mappings"] == result.truth["mappings"]
    seen = result.process.sums(result.process.function)
    assert seen["t_malloc"]["allocations"] == 50


def test_trap_static_function_named_like_an_allocator(launch, tmp_path):
    source = tmp_path / "own.c"
    source.write_text("""
        #include <stdlib.h>
        static __attribute__((noinline)) void *valloc_(size_t n) __asm__("valloc");
        static void *valloc_(size_t n) { __asm__ volatile("" : "+r"(n)); return (void *)n; }
        int main(void) { void *volatile p = 0; for (int i = 0; i < 100; i++) p = valloc_(i);
                         return p == 0; }
    """)
    program = str(tmp_path / "own")
    subprocess.run(["gcc", "-O1", "-o", program, str(source)], check=True)
    result = launch(program)
    assert result.status == 0
    assert "valloc" not in {site["api"] for site in result.process["sites"]}


def test_trap_realloc_to_zero_is_a_free(launch):
    result = launch(target("basic"))
    realloc = result.process.sums(result.process.function)["t_realloc"]
    assert (realloc["live_blocks"], realloc["failed_allocations"]) == (1, 2)


def kernel_setting(name, value=None):
    with open(f"/proc/sys/kernel/{name}", "r+" if value else "r", encoding="ascii") as file:
        old = file.read().strip()
        if value:
            file.seek(0)
            file.write(value)
    return old


@pytest.fixture
def big_pids():
    """The next process gets a pid above 65535."""
    need("root", "ns_last_pid")
    pid_max = kernel_setting("pid_max")
    if int(pid_max) < 100000:
        kernel_setting("pid_max", "131072")
    last = kernel_setting("ns_last_pid", "90000")
    yield
    kernel_setting("ns_last_pid", last)
    kernel_setting("pid_max", pid_max)


def test_trap_big_pid(attach, big_pids):
    with Steady() as steady:
        assert steady.pid > 65535
        before = steady.tell()
        with attach(steady.pid) as tracer:
            after = steady.tell("w")
            result = tracer.stop()
        assert result.process["pid"] == steady.pid
        assert_sites(result.process, difference(after, before))


def test_trap_other_tools_return_probes(attach):
    """bpftrace's return probes put their trampoline on the stack. The counts are still right."""
    need("bpf", "bpftrace")
    libc = next(line.split()[2] for line in subprocess.run(
        ["ldd", target("steady")], capture_output=True, text=True, check=True).stdout.splitlines()
        if "libc.so" in line)
    with Steady(2) as steady:
        other = subprocess.Popen(
            [shutil.which("bpftrace"), "-p", str(steady.pid), "-e",
             f'BEGIN {{ printf("up\\n"); }} uretprobe:{libc}:malloc {{ @n = count(); }}'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        deadline = harness.Deadline(other)
        try:
            while other.stdout.readline() not in ("up\n", ""):
                pass
            before = steady.tell()
            with attach(steady.pid) as tracer:
                after = steady.tell("w")
                result = tracer.stop()
            heap = result.process.heap()
            truth = expected(difference(after, before), key=lambda entry: entry["api"] == "mmap")
            assert heap["allocations"] == truth[False]["allocations"]
            assert heap["bytes_allocated"] == truth[False]["bytes_allocated"]
        finally:
            other.kill()
            other.wait()
            other.stdout.close()
            deadline.cancel()
        assert steady.tell("c")["corrupt"] == 0


def test_probes_are_gone_afterwards(attach):
    """The code of libc in the target is unchanged: no breakpoint is left."""
    with Steady() as steady:
        before = harness.libc_code(steady.pid)
        with attach(steady.pid) as tracer:
            assert harness.libc_code(steady.pid) != before
            tracer.stop()
        assert harness.libc_code(steady.pid) == before
        with attach(steady.pid) as tracer:
            tracer.kill()
        harness.await_libc_code(steady.pid, before)


def test_trap_code_moved_to_anonymous_memory(attach):
    """The kernel silently places no breakpoints there. The report says what could not be probed."""
    with Steady(command=[target("remapped")]) as process:
        with attach(process.pid) as tracer:
            result = tracer.stop()
        assert result.process["losses"]["unprobed_sites"] > 0
        assert process.quit() == 0
