# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth table of the leak scan: the expected and the actual result of each case, for the scan
by itself and for the whole program, with the target stopped and running. Valgrind and LeakSanitizer
run the same cases; each disagreement has a row that says why. `pytest -s` shows all tables."""

import os
import signal

import pytest

import harness
import leaks
from machine import kernel, need
from test_stacks_oracle import without_random_addresses

HELD = {"reachable": (1, 48)}
LOST = {"definite": (1, 48)}


def rows(why, **cases):
    return {case: (found, why) for case, found in cases.items()}


TRACED = rows("a mapping is a block, too: it is definite, and what it holds is indirect",
              in_lost_mapping={"indirect": (1, 48)})

ON_STACK = {"stack_only": (1, 48)}
UNJUDGED = rows("nobody tells whether the program can still read a word on the stack or in a register",
                on_thread_stack=ON_STACK, on_main_stack=ON_STACK, in_rbx=ON_STACK, in_r12=ON_STACK,
                in_xmm=ON_STACK, in_high_xmm=ON_STACK, in_red_zone=ON_STACK)
# All of the thread's stack lies within the memory below the thread pointer that counts as thread-local.
UNJUDGED_32_BIT = {case: row for case, row in UNJUDGED.items() if case != "on_thread_stack"}
REALIGNED = rows("main aligns the stack in 32-bit programs, so its CFA is an expression, which is not analysed",
                 on_main_stack=ON_STACK)

WITHOUT_BPF = rows("only a BPF program can ask the kernel where alternate signal stacks are",
                   in_sigaltstack={"definite": (1, 65536)})

LIVE = rows("freed memory of a running program may be in use again before it is read: it counts",
            lost_root_freed={"definite": (1, 48), "indirect": (6, 288), "reachable": (7, 336)},
            stale_in_freed={"reachable": (3, 144)},
            hash_lost={"possible": (None, None), "reachable": (None, None)})
LIVE.update(UNJUDGED)
BY_ENGINE = {**UNJUDGED, **WITHOUT_BPF}
BY_ENGINE_32_BIT = {**UNJUDGED_32_BIT, **WITHOUT_BPF}

STEPS = {
    4: rows("a multiple of 4", unaligned_by_four=HELD, in_epoll_event=HELD),
    1: rows("any address", unaligned_by_four=HELD, in_epoll_event=HELD, unaligned_by_one=HELD,
            unaligned_in_block={"reachable": (2, 96)}),
}

BY_KERNEL = rows("it does not ask the kernel for pointers", in_timer=LOST, in_io_uring=LOST,
                 in_epoll={"definite": (1, 48), "indirect": (1, 48)},
                 in_sigaltstack={"definite": (1, 65536)})

VALGRIND = {
    **rows("a lost cycle keeps a definite block although another lost block leads into it",
           lost_to_cycle={"definite": (2, 96), "indirect": (1, 48)},
           lost_cycle_to_cycle={"definite": (2, 96), "indirect": (2, 96)}),
    **rows("it does not know these idioms: redis' strings, and glibc's index of a thread's storage",
           interior_characters={"possible": (1, 44)}, by_pthread_create={"possible": (1, None)}),
    **rows("it does not know tags in the upper bits of pointers",
           tagged=LOST, in_tagged_pointer=LOST, tagged_chain={"definite": (3, 144)},
           tagged_in_lost_chain={"definite": (2, 96)}),
    **rows("it looks into general registers only", in_xmm=LOST, in_high_xmm=LOST),
    **rows("it looks into mappings only that can be read and written now",
           in_read_only_mapping=LOST, in_protected_mapping=LOST),
    **rows("a thread's stack is a mapping as any other, if the stack pointer has never been there",
           in_dead_stack=HELD),
    **BY_KERNEL,
}

LSAN = {
    **rows("of a cycle, each block is below another one, so none is definite",
           lost_cycle={"indirect": (3, 144)}, lost_long_cycle={"indirect": (100000, 4800000)},
           lost_cycle_to_cycle={"indirect": (4, 192)}, lost_two_cycles={"indirect": (4, 192)},
           lost_ring={"indirect": (10, 480)}, shared_cycle={"indirect": (2, 160)}),
    **rows("a cycle: the nodes lead back into the object",
           map_lost={"indirect": (41, None)}, list_lost={"indirect": (11, None)},
           hash_lost={"indirect": (None, None)}),
    **rows("its allocator puts blocks side by side: vector_held's end is this one's start",
           vector_lost={"definite": (1, 24)}),
    **rows("it does not know tags in the upper bits of pointers",
           tagged=LOST, in_tagged_pointer=LOST, tagged_chain={"definite": (3, 144)},
           tagged_in_lost_chain={"definite": (2, 96)}),
    **rows("its allocator gives no less than one byte", lost_empty={"definite": (1, 1)}),
    **rows("it does not know the red zone", in_red_zone=LOST),
    **rows("what a program maps is no root",
           in_mapping=LOST, in_shared_mapping=LOST, in_shared_unmapped_page=LOST,
           in_lost_mapping=LOST, in_file_mapping=LOST, in_shared_file_mapping=LOST,
           in_read_only_mapping=LOST,
           in_protected_mapping=LOST, on_coroutine_stack=LOST),
    **BY_KERNEL,
}


def of_program(table, truth):
    return {case: row for case, row in table.items() if case in truth.cases}


def differences(truth, found, exceptions=None, classes=leaks.CLASSES):
    assert len(truth.cases) > 30
    exceptions = of_program(exceptions or {}, truth)
    return leaks.compare(truth, found, exceptions, classes)


def check(*arguments):
    assert differences(*arguments) == []


@pytest.fixture(params=leaks.PROGRAMS)
def program(request):
    return request.param


@pytest.mark.parametrize("options", [(), ("--live", "2"), ("--live", "5")],
                         ids=["stop", "live2", "live5"])
def test_engine(program, options):
    need("root")
    check(*leaks.by_engine(program, options=options), BY_ENGINE)


@pytest.mark.parametrize("step", STEPS)
def test_engine_steps(program, step):
    need("root")
    check(*leaks.by_engine(program, options=("--step", str(step))),
          {**STEPS[step], **BY_ENGINE})


@pytest.mark.parametrize("options", [(), ("--live", "2")], ids=["stop", "live2"])
def test_engine_32_bit(program, options):
    """Numbers and text easily look like 32-bit addresses, so turn off address randomization to
    place the heap where none does. Other words are random (the stack canary, mangled pointers,
    clocks), and in one of some thousand runs one of them points to a leaked block. A real error
    shows up in both of two runs."""
    need("root", "multilib")

    def wrong():
        return differences(*leaks.by_engine(program, os.path.join(harness.TARGETS, "m32"), options,
                                            preexec_fn=without_random_addresses),
                           BY_ENGINE_32_BIT)
    first = wrong()
    assert not first or not set(first) & set(wrong()), first


UNREAD = "shared memory without a name is opened by who is privileged"


def unless_what_is_not_read(truth, exceptions):
    """Whether a block is leaked is unknown if a pointer to it may be in unreadable memory."""
    def all_of(classes, at):
        numbers = [classes.get(name, (0, 0))[at] for name in ("definite", "indirect")]
        return None if None in numbers else sum(numbers)

    table = {}
    for case, expected in truth.cases.items():
        classes = exceptions[case][0] if case in exceptions else expected.classes
        if any(tuple(classes.get(name, (0, 0))) != (0, 0) for name in ("definite", "indirect")):
            kept = {name: tuple(classes[name]) for name in ("possible", "reachable")
                    if name in classes}
            table[case] = ({**kept, "unknown": (all_of(classes, 0), all_of(classes, 1))},
                           UNREAD)
    table.update(rows(UNREAD, in_shared_unmapped_page={"unknown": (1, 48)}))
    return {**exceptions, **table}


ARCHES_32BIT = ("i386", "arm", "powerpc")
ANY = (None, None)


def allow_random_words(truth):
    """Some words of a process are random: the stack canary, AT_RANDOM, mangled pointers, clocks. In
    a 32-bit address space, one of them points into a leaked block of 256 KiB in one of some two
    thousand runs, so that the block is possible instead of definite. test_engine_32_bit runs the
    program twice, so it can require definite."""
    if "lost_huge" in truth.cases:
        truth.cases["lost_huge"] = leaks.Tally({"definite": ANY, "indirect": ANY, "possible": ANY})


def check_report(truth, process, exceptions=None):
    exceptions = {**TRACED, **(exceptions or {})}
    if process["backend"] == "ptrace" or not kernel(6, 1):
        exceptions.update(WITHOUT_BPF)
    if process["arch"] in ARCHES_32BIT:
        allow_random_words(truth)
        exceptions.pop("on_thread_stack", None)
        exceptions.update(REALIGNED if process["arch"] == "i386" else UNJUDGED_32_BIT)
    exceptions = of_program(exceptions, truth)
    assert process.lost() == {}
    assert process["scan"]["done"], process["scan"]["reason"]
    unread = process["scan"]["bytes_unreadable"]
    if os.geteuid() and "in_shared_mapping" in truth.cases:
        assert unread > 0
        exceptions = unless_what_is_not_read(truth, exceptions)
    else:
        assert unread == 0
    check(truth, leaks.by_report(process), exceptions)


@pytest.mark.parametrize("mode", ["stop", "live"])
def test_traced(uprobes, tmp_path, program, mode):
    """Scan while the program waits."""
    del uprobes
    options = ("--scan-every", "100ms", f"--scan-{mode}")
    with leaks.launched(tmp_path, program, *options) as (tracer, path, truth):
        process = leaks.scanned_twice(tracer, path)
    assert process["scan"]["mode"] == mode
    check_report(truth, process, LIVE if mode == "live" else None)


@pytest.mark.parametrize("step", STEPS)
def test_traced_until_killed_by_signal(uprobes, tmp_path, program, step):
    """The program dies of ^C, which the tracer passes on. Uses other alignments."""
    del uprobes
    options = ("--scan", "--align", str(step))
    with leaks.launched(tmp_path, program, *options) as (tracer, path, truth):
        tracer.send_signal(signal.SIGINT)
        assert tracer.wait() == -signal.SIGINT
    check_report(truth, leaks.read_report(path), STEPS[step])


def test_traced_to_its_end(launch, program):
    result = launch(harness.target(program), options=("--scan", "--depth", "64", "--top", "0"),
                    env=leaks.ENVIRONMENT, timeout=5 * harness.TIMEOUT)  # slow with ptrace
    assert result.status == 0
    check_report(leaks.Truth(result.stdout), result.process)


def test_mappings(launch):
    """Mappings are blocks. The leaked one is distinguished from those that the program still
    references."""
    process = launch(harness.target("leak_places"), options=("--scan", "--top", "0"),
                     env=leaks.ENVIRONMENT).process
    key = "unknown" if os.geteuid() else "definite"
    lost = {leaks.case_of(process.functions(site)): site[key + "_bytes"]
            for site in process["sites"] if site["api"] == "mmap" and site[key + "_bytes"]}
    assert lost == {"in_lost_mapping": 16384}


def test_valgrind(program):
    need("valgrind")
    check(*leaks.by_valgrind(program), VALGRIND)


def test_leak_sanitizer(program):
    need("ptrace")
    check(*leaks.by_lsan(program), LSAN, ("definite", "indirect"))
