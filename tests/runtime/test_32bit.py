# SPDX-License-Identifier: GPL-2.0-or-later
"""32-bit programs on a 64-bit kernel. Most of these tests are imported from other files, and run
again with the same programs built for i386."""
# pylint: disable=unused-import,redefined-outer-name

import ctypes
import os
import signal

import pytest

import harness
import leaks
import test_stacks
from harness import Steady
from machine import need
from report import assert_sites, difference
from test_attach import (test_attached_process_is_never_signalled,
                         test_blocks_from_before_the_attach, test_process_exits_while_attached,
                         test_several_processes, test_truth_since_the_attach,
                         test_two_tracers_of_one_process)
from test_launch import (test_deep_stack_is_marked_as_truncated, test_every_new_and_delete,
                         test_exec, test_exec_by_a_thread, test_frames_have_names_files_and_lines,
                         test_script, test_threads, test_totals_do_not_depend_on_stacks,
                         test_truth, test_truth_static, test_truth_under_each_stack_mode,
                         test_unloaded_library_keeps_its_names)
from test_leak_cases import (check_report, program, test_mappings, test_traced,
                             test_traced_to_its_end)
from test_stacks import test_exact, test_exact_attached
from test_stacks_oracle import NO_RANDOM_ADDRESSES
from test_traps import (test_coroutines, test_trap_allocation_on_another_stack_during_a_pending_call,
                        test_trap_longjmp_and_nesting, test_trap_longjmp_out_of_mmap,
                        test_trap_mappings_of_libc_are_a_separate_api,
                        test_trap_other_tools_return_probes, test_trap_seccomp,
                        test_trap_signal_handler_on_an_alternate_stack,
                        test_trap_code_moved_to_anonymous_memory,
                        test_trap_thread_exit_frees_again, test_trap_throwing_new)

WIDE = harness.TARGETS
COMPAT32 = os.path.join(harness.TARGETS, "m32")


def is_complete(stack):
    """Names cannot be checked: Debian has no debug information for these libraries."""
    return stack["stop"] == "end"


@pytest.fixture(autouse=True)
def compat32(monkeypatch):
    """Use the 32-bit targets. Numbers and text easily look like 32-bit addresses, so turn off
    address randomization to place memory where none does."""
    need("multilib")
    monkeypatch.setattr(harness, "TARGETS", COMPAT32)
    monkeypatch.setattr(test_stacks, "KINDS", ("tree", "threads"))
    monkeypatch.setattr(test_stacks, "is_complete", is_complete)
    libc = ctypes.CDLL(None)
    before = libc.personality(0xffffffff)
    libc.personality(before | NO_RANDOM_ADDRESSES)
    yield
    libc.personality(before)


@pytest.fixture
def every_pairing(pairing):
    """The usual pairings are enough: pairing does not depend on the word size."""
    return pairing


def test_word_size_is_reported(launch):
    assert launch(harness.target("short")).process["arch"] == "i386"


def test_word_size_of_running_process_is_reported(attach):
    with Steady() as steady, attach(steady.pid) as tracer:
        assert tracer.stop().process["arch"] == "i386"


def test_trace_32_and_64_bit_processes_together(attach):
    """A 32-bit and a 64-bit process allocate in turns."""
    with Steady(2) as one, Steady(command=[f"{WIDE}/steady", "2"]) as two:
        before = one.tell(), two.tell()
        with attach(one.pid, two.pid) as tracer:
            for _ in range(5):
                after = one.tell("w"), two.tell("w")
            result = tracer.stop()
        processes = {process["pid"]: process for process in result.processes}
        assert [processes[each.pid]["arch"] for each in (one, two)] == ["i386", "x86_64"]
        assert_sites(processes[one.pid], difference(after[0], before[0]))
        assert_sites(processes[two.pid], difference(after[1], before[1]))


CHAINS = [("wide", "compat32", "wide", "compat32"), ("compat32", "wide", "compat32", "wide")]


@pytest.mark.parametrize("kinds", CHAINS, ids="-".join)
def test_exec_of_the_other_word_size(launch, pairing, kinds):
    """Each image is traced from its first call, even across several quick execs."""
    directories = {"wide": WIDE, "compat32": COMPAT32}
    programs = [os.path.join(directories[kind], "exec") for kind in kinds[:-1]]
    result = launch(*programs, os.path.join(directories[kinds[-1]], "basic"), options=pairing)
    arches = [process["arch"] for process in result.processes]
    assert arches == [{"wide": "x86_64", "compat32": "i386"}[kind] for kind in kinds]
    for process, truth in zip(result.processes, result.truths, strict=True):
        assert_sites(process, truth)
        assert process["stack_quality"]["truncated"] == 0


def test_exec_of_the_other_word_size_while_attached(attach):
    """A shell that was running before the attach executes a 32-bit program."""
    command = ["/bin/sh", "-c", f"echo READY; read x; exec {COMPAT32}/basic"]
    with Steady(command=command) as shell:
        with attach(shell.pid) as tracer:
            truth = shell.tell("x\n")
            result = tracer.finish()
    assert [process["arch"] for process in result.processes] == ["x86_64", "i386"]
    assert_sites(result.processes[1], truth)


def test_coroutine_stacks_are_flagged_as_truncated(launch):
    """The return address of a coroutine is in the middle of a C library function, so the unwinder
    cannot know that the stack ends there."""
    result = launch(harness.target("stacks"), "coroutines", options=test_stacks.DEPTH)
    told = test_stacks.told_stacks(result.stdout)
    assert len(told) == 2
    for seen in test_stacks.seen_stacks(result.process):
        assert any(stack[:len(seen)] == seen for stack in told)
    quality = result.process["stack_quality"]
    assert quality["by_reason"] == {"no_code": quality["truncated"]}


def test_leaks_are_reported_after_death_by_signal(uprobes, tmp_path, program):
    """The tracer passes ^C on to the program, which dies of it."""
    del uprobes
    with leaks.launched(tmp_path, program, "--scan") as (tracer, path, truth):
        tracer.send_signal(signal.SIGINT)
        assert tracer.wait() == -signal.SIGINT
    check_report(truth, leaks.read_report(path))


# x32: 32-bit pointers in 64-bit code.

REFUSED = "it uses the x32 ABI; only x86-64 and i386 programs can be traced"


def test_x32_is_refused():
    need("uprobes")
    result = harness.mtrace(harness.target("x32"))
    assert (result.status, result.stdout) == (1, "")
    assert result.stderr == f"mtrace-bpf: cannot trace x32: {REFUSED}\n"
