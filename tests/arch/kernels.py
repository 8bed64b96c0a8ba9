# SPDX-License-Identifier: GPL-2.0-or-later
"""What is expected of each kernel (tools/kernels), and why if it is less than on the newest one."""

import dataclasses

import pytest


@dataclasses.dataclass(frozen=True)
class Kernel:
    """build: the folder of the program for that processor; targets: that of its test programs.
    source: the default backend. means: how calls are followed; family: the same for child
    processes. why: the reported reason for ptrace. outermost: functions at the outer end of stacks
    that we see and the C++ runtime's unwinder does not. innermost: functions at which our stacks
    end, but not those of that unwinder. stops: how stacks may end; incomplete: the number of stacks
    that end before the outermost frame, if it is known. compat32: a 32-bit program, if the kernel has
    no uprobes for 32-bit programs."""
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
    compat32: str = ""


def foreign(arch, kernel, **more):
    return Kernel(build=f"build-{arch}-static", targets=f"build/guest/{kernel}", **more)


def without_bpf(arch, kernel, **more):
    return foreign(arch, kernel, source="ptrace", why="this mtrace-bpf was built without BPF",
                   **more)


INHERITED = "perf events that children inherit and task storage"
SESSIONS = "uprobe sessions"
COMPAT32 = "build/guest/arm64/compat32/basic"
PERF = "one perf event per probe and task storage"

EXPECTED = {
    # Lacks attach cookies (5.15), task storage (5.11) and pointers to global functions (5.13).
    "5.10": Kernel(source="ptrace", why="the BPF programs do not work on this kernel"),
    # Lacks multi-uprobes (6.6) and inherited events that are read with each sample (6.12).
    "6.1": Kernel(means=PERF, family=PERF),
    # Lacks sessions (6.13).
    "6.12": Kernel(means="multi-uprobes and task storage", family=INHERITED),
    "newest": Kernel(means=SESSIONS, family=INHERITED),
    # Lacks both uprobes and BPF.
    "no-uprobes": Kernel(source="ptrace", why="this kernel lacks uprobes or BPF"),
    # Stacks of 32-bit coroutines end where the coroutines begin (docs/design/stacks.md).
    "686": without_bpf("i386", "686", innermost=("coroutine()",), stops=("end", "no_code")),
    # The unwind tables mark _start and the start code of threads and coroutines as code that cannot
    # be unwound, and the C++ runtime's unwinder ends before it. glibc's code there has no name
    # without its debug file. One stack ends in glibc's printf(), which jumps through tables.
    "armmp": without_bpf("arm", "armmp", outermost=("_start", "clone", "__clone", ""), incomplete=1,
                         stops=("end", "no_table")),
    "armel": without_bpf("armel", "armel", outermost=("_start", "clone", "__clone", ""),
                         incomplete=1, stops=("end", "no_table")),
    "arm64": foreign("arm64", "arm64", means=PERF, family=PERF, compat32=COMPAT32),
    "arm64-newest": foreign("arm64", "arm64", means=SESSIONS, family=INHERITED, compat32=COMPAT32),
    # Above the start function of a thread there is a null frame, where the C++ runtime's unwinder
    # ends.
    "ppc32": without_bpf("powerpc", "ppc32", outermost=("clone", "makecontext")),
}

DEFAULT = ("5.10", "6.1", "6.12", "newest", "no-uprobes")


def in_guest(script, targets=(), setting="", seconds=None, files=(), only=None):
    """The script of a test, which runs in a shell in the guest. %(name)s is a parameter of the
    test. `setting` runs before it. `files` are additional files: (path in the guest, path here).
    `only` is the one kernel that the test runs on; by default it runs on all."""
    return pytest.mark.guest(script=script, targets=targets, setting=setting, seconds=seconds,
                             files=files, only=only)
