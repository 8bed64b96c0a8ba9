# SPDX-License-Identifier: GPL-2.0-or-later
"""What is expected of each kernel (tools/kernels), and why where it is less than of the newest."""

import dataclasses

import pytest


@dataclasses.dataclass(frozen=True)
class Kernel:
    """build: where the program for that processor is; targets: its test programs. source: which one
    traces if nobody says so. means: by what calls are followed. family: and those of children. why:
    the reason that is given for ptrace. outermost: functions in which stacks begin, that we
    see and the C++ runtime's unwinder does not. innermost: those where our stacks end, and not that
    unwinder's. stops: how they end; incomplete: how many end before the outermost frame, where that
    is known. narrow: a 32-bit program, where the kernel has no uprobes for such."""
    build: str = "build"
    targets: str = "build/targets"
    source: str = "bpf"
    means: str = ""
    family: str = ""
    why: str = ""
    outermost: tuple = ()
    innermost: tuple = ()
    stops: tuple = ("end",)
    incomplete: int = None
    narrow: str = ""


def foreign(arch, kernel, **more):
    return Kernel(build=f"build-{arch}-static", targets=f"build/guest/{kernel}", **more)


def without_bpf(arch, kernel, **more):
    return foreign(arch, kernel, source="ptrace", why="this mtrace-bpf was built without BPF",
                   **more)


INHERITED = "perf events that children inherit and task storage"
SESSIONS = "uprobe sessions"
NARROW = "build/guest/arm64/narrow/basic"
PERF = "one perf event per probe and task storage"

EXPECTED = {
    # No attach cookies (5.15), task storage (5.11), pointers to global functions (5.13).
    "5.10": Kernel(source="ptrace", why="the BPF programs do not work on this kernel"),
    # No multi-uprobes (6.6), and no inherited events that are read with each sample (6.12).
    "6.1": Kernel(means=PERF, family=PERF),
    # No sessions (6.13).
    "6.12": Kernel(means="multi-uprobes and task storage", family=INHERITED),
    "newest": Kernel(means=SESSIONS, family=INHERITED),
    # Neither uprobes nor BPF.
    "no-uprobes": Kernel(source="ptrace", why="this kernel lacks uprobes or BPF"),
    # Stacks of 32-bit coroutines end where these begin (docs/DESIGN.md).
    "686": without_bpf("i386", "686", innermost=("coroutine()",), stops=("end", "no_code")),
    # The unwinder's tables call _start, and where threads and coroutines begin, code that cannot be
    # unwound: that unwinder ends before them. What glibc has there is not named without its debug
    # file. One stack ends in its printf(), which jumps by tables.
    "armmp": without_bpf("arm", "armmp", outermost=("_start", "clone", "__clone", ""), incomplete=1,
                         stops=("end", "no_table")),
    "armel": without_bpf("armel", "armel", outermost=("_start", "clone", "__clone", ""),
                         incomplete=1, stops=("end", "no_table")),
    "arm64": foreign("arm64", "arm64", means=PERF, family=PERF, narrow=NARROW),
    "arm64-newest": foreign("arm64", "arm64", means=SESSIONS, family=INHERITED, narrow=NARROW),
    # Above the function that a thread begins with there is a null frame; that unwinder ends there.
    "ppc32": without_bpf("powerpc", "ppc32", outermost=("clone", "makecontext")),
}

DEFAULT = ("5.10", "6.1", "6.12", "newest", "no-uprobes")


def in_guest(script, targets=(), setting="", seconds=None, files=(), only=None):
    """A test's part that runs in the guest, in a shell; %(name)s is a parameter of the test. The
    setting comes before it. files: what it needs besides, (place, path here) each. only: the
    kernel that it is about; else it runs on all."""
    return pytest.mark.guest(script=script, targets=targets, setting=setting, seconds=seconds,
                             files=files, only=only)
