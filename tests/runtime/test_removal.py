# SPDX-License-Identifier: GPL-2.0-or-later
"""Inherited probes are removed after the tracer has exited. Each removal makes the kernel delay
forks and exits in all traced processes, so the removal slows down while another tracer follows
children."""

import contextlib
import ctypes
import fcntl
import os
import statistics
import time

import pytest

from harness import TIMEOUT, Steady, target
from machine import need

pytestmark = pytest.mark.whole_machine

FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432  # the same on every architecture
FSCONFIG_CMD_CREATE = 6


def system(number, *arguments):
    result = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@pytest.fixture
def probes():
    """The path of the kernel's list of probes, whether or not tracefs is mounted."""
    need("uprobes", "bpf", "inherit")
    context = system(FSOPEN, b"tracefs", 0)
    system(FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0)
    mount = system(FSMOUNT, context, 0, 0)
    os.close(context)
    yield f"/proc/self/fd/{mount}/uprobe_events"
    os.close(mount)


def events(probes):
    """The names of the events of all tracers. An event with several probes counts once."""
    with open(probes, encoding="utf-8") as lines:
        return {line.split()[0] for line in lines if ":mtrace_bpf_" in line}


@contextlib.contextmanager
def followed(probes):
    """Hold the lock that a tracer holds while it follows children."""
    with open(probes, encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def followers(probes):
    """Processes that hold the lock. /proc/locks has the format: FLOCK ADVISORY READ PID
    MAJOR:MINOR:INODE."""
    inode = str(os.stat(probes).st_ino)
    with open("/proc/locks", encoding="ascii") as file:
        rows = [line.split() for line in file]
    return {int(row[4]) for row in rows
            if row[1:4] == ["FLOCK", "ADVISORY", "READ"] and row[5].split(":")[2] == inode}


def await_less(probes, others, count):
    """Wait until at most `count` events are left, except `others`. Returns the time."""
    deadline = time.monotonic() + TIMEOUT
    while len(events(probes) - others) > count:
        assert time.monotonic() < deadline, f"left: {events(probes) - others}"
        time.sleep(0.002)
    return time.monotonic()


def await_none_of(probes, left, seconds=TIMEOUT):
    deadline = time.monotonic() + seconds
    while events(probes) & left:
        assert time.monotonic() < deadline, f"left: {left}"
        time.sleep(0.01)


def gap(probes, others):
    """The median time between two removals."""
    count = len(events(probes) - others)
    assert count > 5
    times = [await_less(probes, others, count - i) for i in range(1, 5)]
    return statistics.median(late - early for early, late in zip(times, times[1:]))


def gap_of_next(launch, probes):
    """Run a trace. Returns the time between removals of its events, and the events that are left
    then."""
    others = events(probes)
    launch(target("family"), "fork", options=("-f",))
    return gap(probes, others), events(probes) - others


def gap_alone(launch, probes):
    """Like gap_of_next, but repeat until no other process traces at the same time."""
    deadline = time.monotonic() + 2 * TIMEOUT
    while time.monotonic() < deadline:
        before = followers(probes)
        result, _ = gap_of_next(launch, probes)
        if not before and not followers(probes):
            return result
    return pytest.fail("somebody else traces")


def test_removal_slows_down_for_followers(launch, probes):
    """While another tracer follows children, gaps are some twenty times as long, so a factor of
    four is not a matter of chance. If many tracers' probes are left, removal does not slow down, so
    wait until those of earlier tests are gone."""
    await_none_of(probes, events(probes), 10 * TIMEOUT)
    alone = gap_alone(launch, probes)
    with followed(probes):
        beside, left = gap_of_next(launch, probes)
    assert left and beside > 4 * alone
    await_none_of(probes, left)


def test_follower_holds_the_lock(probes, attach):
    """The lock is held exactly as long as the trace runs."""
    with Steady() as steady, attach(steady.pid, options=("-f",)) as tracer:
        assert tracer.process.pid in followers(probes)
        assert events(probes)
        tracer.stop()
    assert tracer.process.pid not in followers(probes)
