# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages that are not in memory: what a leak scan makes of them, and that it leaves them there."""

import contextlib
import subprocess

import pytest

from harness import Deadline, target
from machine import need, swap_file

PAGE = 4096


@pytest.fixture
def swap():
    """A little room to swap to."""
    need("swap")
    with swap_file():
        yield


@contextlib.contextmanager
def waiting(how):
    """The target "swapped", which has not begun."""
    with subprocess.Popen([target("swapped"), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        deadline = Deadline(process, 60)
        yield process
        assert process.wait(60) == 0
        deadline.cancel()


def scan(attach, how, *options):
    """The report of a scan, and how many of the target's pages are in memory after it."""
    with waiting(how) as process, attach(process.pid, options=("-a", *options)) as tracer:
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "READY\n"
        report = tracer.stop().process
        assert report["scan"]["done"], report["scan"]["reason"]
        process.stdin.close()
        return report, int(process.stdout.readline())


def site_of(report, function):
    [site] = [site for site in report["sites"] if report.function(site) == function]
    return site


def test_a_pointer_that_is_swapped_out(attach, swap):
    """It is left there, and then nobody can say of the block whether it is lost."""
    del swap
    report, present = scan(attach, "pointer")
    assert site_of(report, "t_kept")["unknown_blocks"] == 1
    assert report["scan"]["bytes_unreadable"] == PAGE
    assert report["scan"]["definite"]["blocks"] == 0
    assert present == 0


def test_a_pointer_that_is_fetched(attach, swap):
    del swap
    report, present = scan(attach, "pointer", "--scan-swapped")
    assert site_of(report, "t_kept")["reachable_blocks"] == 1
    assert report["scan"]["bytes_unreadable"] == 0
    assert present == 1


def test_a_lost_block_that_is_swapped_out(attach, swap):
    """What cannot be read of it does no harm, and it is not read for an example either."""
    del swap
    report, present = scan(attach, "block")
    site = site_of(report, "t_pages")
    assert site["definite_blocks"] == 1
    example = site["examples"]["definite"]
    assert (example["resident_bytes"], example["swapped_bytes"]) == (8 * PAGE, 8 * PAGE)
    assert example["first_bytes"] == ""
    assert present == 8


def test_a_lost_block_that_was_never_written(attach):
    report, present = scan(attach, "untouched")
    example = site_of(report, "t_pages")["examples"]["definite"]
    assert (example["resident_bytes"], example["swapped_bytes"]) == (0, 0)
    assert example["first_bytes"] == ""
    assert present == 0
