# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine provides, and what a test requires.

A test says need("valgrind"). If that is missing, the test is skipped with the reason. $REQUIRE
("uprobes valgrind", or "all") turns the skip into a failure, as does $CI for everything that
tools/install-deps can install on any machine.
"""

import contextlib
import glob
import os
import platform
import shutil
import subprocess
import tempfile

import pytest


def kernel(*version):
    release = platform.release().split("-")[0].split(".")
    return tuple(int(part) for part in release[:2]) >= version


def uprobes():
    """What the backend in use needs: see harness.py."""
    return os.environ.get("BACKEND", "bpf") != "bpf" or (
        os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux")
        and os.path.exists("/sys/bus/event_source/devices/uprobe"))


def overlayfs():
    with open("/proc/filesystems", encoding="ascii") as filesystems:
        return os.geteuid() == 0 and "\toverlay\n" in filesystems.read()


def cgroup2():
    with open("/proc/mounts", encoding="utf-8") as mounts:
        return os.geteuid() == 0 and any(line.split()[2] == "cgroup2" for line in mounts)


def memory_cgroup():
    """The directory below which cgroups with a limit of memory can be made, and the limit's file."""
    with open("/proc/mounts", encoding="utf-8") as file:
        mounts = [line.split()[1:4] for line in file]
    for path, kind, options in mounts:
        if kind == "cgroup" and "memory" in options.split(","):
            return path, "memory.limit_in_bytes"
        control = os.path.join(path, "cgroup.subtree_control")
        if kind == "cgroup2" and os.path.exists(control):
            with open(control, encoding="ascii") as file:
                if "memory" in file.read().split():
                    return path, "memory.max"
    return None


def ptrace_scope():
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def library(name):
    found = glob.glob(f"/usr/lib/*/{name}")
    return found[0] if found else None


@contextlib.contextmanager
def swap_file(size=4 << 20):
    """A swap file on a disk (tmpfs cannot hold one)."""
    with tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="swap") as file:
        os.posix_fallocate(file.fileno(), 0, size)
        subprocess.run(["mkswap", file.name], check=True, capture_output=True)
        subprocess.run(["swapon", file.name], check=True, capture_output=True)
        try:
            yield
        finally:
            subprocess.run(["swapoff", file.name], check=True, capture_output=True)


def swap():
    try:
        with swap_file():
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


# facility: (is it available?, can tools/install-deps install it?, the reason for a skip)
FACILITIES = {
    "root": (lambda: os.geteuid() == 0, False, "needs root"),
    "uprobes": (uprobes, False, "needs root and a kernel with uprobes and BTF"),
    "bpf": (lambda: os.environ.get("BACKEND", "bpf") == "bpf", False,
            "what it shows is of BPF, and $BACKEND is not"),
    "multi": (lambda: kernel(6, 6), False, "multi-uprobes need Linux 6.6"),
    "mappings": (lambda: kernel(6, 7), False, "BPF programs see mappings since Linux 6.7"),
    "inherit": (lambda: kernel(6, 12), False, "probes that children inherit need Linux 6.12"),
    "session": (lambda: kernel(6, 13), False, "uprobe sessions need Linux 6.13"),
    "ptrace": (lambda: os.geteuid() == 0 or ptrace_scope() == 0, False,
               "LeakSanitizer needs to trace its own process"),
    "multilib": (lambda: os.path.exists("/usr/lib32/crt1.o"), True,
                 "needs lib32gcc-12-dev, lib32stdc++-12-dev and libc6-dev-i386"),
    "swap": (swap, False, "needs root, and a disk in /var/tmp that takes a swap file"),
    "netns": (lambda: os.geteuid() == 0 and shutil.which("ip"), os.geteuid() == 0,
              "needs root and iproute2"),
    "ns_last_pid": (lambda: os.path.exists("/proc/sys/kernel/ns_last_pid"), False,
                    "choosing pids needs CONFIG_CHECKPOINT_RESTORE"),
    "valgrind": (lambda: shutil.which("valgrind"), True, "needs valgrind"),
    "mtrace": (lambda: shutil.which("mtrace") and library("libc_malloc_debug.so.0")
               and shutil.which("addr2line"), True, "needs libc-devtools and binutils"),
    "redis": (lambda: shutil.which("redis-server") and shutil.which("redis-benchmark"), True,
              "needs redis-server and redis-tools"),
    "programs": (lambda: all(map(shutil.which, ("sqlite3", "xz", "git", "perl", "gcc"))), True,
                 "needs sqlite3, xz, git, perl and gcc"),
    "nginx": (lambda: shutil.which("nginx"), True, "needs nginx-light"),
    "postgres": (lambda: os.path.exists("/usr/lib/postgresql/15/bin/postgres"), True,
                 "needs postgresql-15"),
    "ripgrep": (lambda: shutil.which("rg"), True, "needs ripgrep"),
    "luajit": (lambda: shutil.which("luajit"), True, "needs luajit"),
    "node": (lambda: shutil.which("node"), True, "needs nodejs"),
    "binutils": (lambda: all(map(shutil.which, ("gcc", "objcopy", "strip"))), True,
                 "needs gcc and binutils"),
    "debuginfod": (lambda: library("libdebuginfod.so.1"), True, "needs libdebuginfod1"),
    "overlayfs": (overlayfs, False, "needs root and a kernel with overlayfs"),
    "cgroup2": (cgroup2, False, "needs root and a cgroup 2 hierarchy"),
    "memory_cgroup": (lambda: os.geteuid() == 0 and memory_cgroup(), False,
                      "needs root and a cgroup hierarchy that limits memory"),
    "strace": (lambda: shutil.which("strace"), True, "needs strace"),
    "go": (lambda: shutil.which("go"), True, "needs golang-go"),
    "google-pprof": (lambda: shutil.which("google-pprof"), True, "needs google-perftools"),
    "prometheus": (lambda: shutil.which("prometheus") and shutil.which("promtool"), True,
                   "needs prometheus"),
    "gdb": (lambda: shutil.which("gdb"), True, "needs gdb"),
    "setpriv": (lambda: shutil.which("setpriv"), True, "needs setpriv"),
    "bpftrace": (lambda: shutil.which("bpftrace"), True, "needs bpftrace"),
    "musl": (lambda: os.path.exists("/lib/ld-musl-x86_64.so.1"), True, "needs musl"),
    "jemalloc": (lambda: library("libjemalloc.so.2"), True, "needs libjemalloc2"),
    "tcmalloc": (lambda: library("libtcmalloc_minimal.so.4"), True, "needs libtcmalloc-minimal4"),
    "static-jemalloc": (lambda: library("libjemalloc.a"), True, "needs libjemalloc-dev"),
    "static-tcmalloc": (lambda: library("libtcmalloc_minimal.a"), True,
                        "needs libgoogle-perftools-dev"),
    "rust": (lambda: shutil.which("rustc"), True, "needs rustc"),
    "mimalloc": (lambda: library("libmimalloc.so.2.0"), True, "needs libmimalloc2.0"),
}


def need(*facilities):
    required = os.environ.get("REQUIRE", "").replace(",", " ").split()
    for name in facilities:
        here, installable, reason = FACILITIES[name]
        if here():
            continue
        if name in required or "all" in required or (installable and os.environ.get("CI")):
            pytest.fail(f"required, and not here: {name}: {reason}")
        pytest.skip(f"{name}: {reason}")
