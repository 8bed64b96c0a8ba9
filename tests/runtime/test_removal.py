# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes that children inherit are taken away behind the tracer's end: for that the kernel holds up
each fork and exit of whoever is traced likewise, so whoever removes them gives way."""

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

FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432  # of every architecture
FSCONFIG_CMD_CREATE = 6


def system(number, *arguments):
    result = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@pytest.fixture
def probes():
    """The kernel's list of probes: a path, wherever tracefs is mounted."""
    need("uprobes", "bpf", "inherit")
    context = system(FSOPEN, b"tracefs", 0)
    system(FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0)
    mount = system(FSMOUNT, context, 0, 0)
    os.close(context)
    yield f"/proc/self/fd/{mount}/uprobe_events"
    os.close(mount)


def events(probes):
    """Names of events of whatever tracers; of one with several places once."""
    with open(probes, encoding="utf-8") as lines:
        return {line.split()[0] for line in lines if ":mtrace_bpf_" in line}


@contextlib.contextmanager
def followed(probes):
    """As a tracer does while it follows children."""
    with open(probes, encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def followers(probes):
    """Processes that say so, as the kernel lists locks: FLOCK ADVISORY READ PID MAJOR:MINOR:INODE."""
    inode = str(os.stat(probes).st_ino)
    with open("/proc/locks", encoding="ascii") as file:
        rows = [line.split() for line in file]
    return {int(row[4]) for row in rows
            if row[1:4] == ["FLOCK", "ADVISORY", "READ"] and row[5].split(":")[2] == inode}


def await_less(probes, others, count):
    """When so many are left of those that are not others'."""
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
    """How long it takes from one to the next."""
    count = len(events(probes) - others)
    assert count > 5
    times = [await_less(probes, others, count - i) for i in range(1, 5)]
    return statistics.median(late - early for early, late in zip(times, times[1:]))


def gap_of_next(launch, probes):
    """Of a trace's events, when it is over; and what is left then."""
    others = events(probes)
    launch(target("family"), "fork", options=("-f",))
    return gap(probes, others), events(probes) - others


def gap_alone(launch, probes):
    """If need be again, until nobody else on this machine traces."""
    deadline = time.monotonic() + 2 * TIMEOUT
    while time.monotonic() < deadline:
        before = followers(probes)
        result, _ = gap_of_next(launch, probes)
        if not before and not followers(probes):
            return result
    return pytest.fail("somebody else traces")


def test_who_follows_is_given_way(launch, probes):
    """Three gaps of each kind: with somebody who follows they are some twenty times as long, so that
    four times is no matter of chance. Where many tracers' probes are left nobody gives way, so those
    of tests before this one have to go first."""
    await_none_of(probes, events(probes), 10 * TIMEOUT)
    alone = gap_alone(launch, probes)
    with followed(probes):
        beside, left = gap_of_next(launch, probes)
    assert left and beside > 4 * alone
    await_none_of(probes, left)


def test_who_follows_says_so(probes, attach):
    """As long as it traces."""
    with Steady() as steady, attach(steady.pid, options=("-f",)) as tracer:
        assert tracer.process.pid in followers(probes)
        assert events(probes)
        tracer.stop()
    assert tracer.process.pid not in followers(probes)
