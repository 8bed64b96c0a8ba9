# SPDX-License-Identifier: GPL-2.0-or-later
"""What a leak scan does with pages that are not in memory, and that it does not bring them in."""

import contextlib
import subprocess

import pytest

from harness import Deadline, target
from machine import need, swap_file

PAGE = 4096


@pytest.fixture
def swap():
    """A small swap file."""
    need("swap")
    with swap_file():
        yield


@contextlib.contextmanager
def waiting(how):
    """The target "swapped", before it starts to work."""
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


def test_swapped_out_pointer_is_not_read(attach, swap):
    """The page is not read, so it is unknown whether the block is leaked."""
    del swap
    report, present = scan(attach, "pointer")
    assert site_of(report, "t_kept")["unknown_blocks"] == 1
    assert report["scan"]["bytes_unreadable"] == PAGE
    assert report["scan"]["definite"]["blocks"] == 0
    assert present == 0


def test_swapped_out_pointer_is_read_on_request(attach, swap):
    del swap
    report, present = scan(attach, "pointer", "--scan-swapped")
    assert site_of(report, "t_kept")["reachable_blocks"] == 1
    assert report["scan"]["bytes_unreadable"] == 0
    assert present == 1


def test_leaked_block_that_is_swapped_out(attach, swap):
    """Unreadable contents of a leaked block do not matter, and are not read for the example."""
    del swap
    report, present = scan(attach, "block")
    site = site_of(report, "t_pages")
    assert site["definite_blocks"] == 1
    example = site["examples"]["definite"]
    assert (example["resident_bytes"], example["swapped_bytes"]) == (8 * PAGE, 8 * PAGE)
    assert example["first_bytes"] == ""
    assert present == 8


def test_leaked_block_that_was_never_written(attach):
    report, present = scan(attach, "untouched")
    example = site_of(report, "t_pages")["examples"]["definite"]
    assert (example["resident_bytes"], example["swapped_bytes"]) == (0, 0)
    assert example["first_bytes"] == ""
    assert present == 0
