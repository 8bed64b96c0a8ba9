# SPDX-License-Identifier: GPL-2.0-or-later
"""Growing sites are suspects, others are not; --keep; long-running services."""

import json
import os
import signal
import socket
import subprocess

import pytest

from harness import (BACKEND_OPTIONS, MTRACE, TIMEOUT, Lines, Steady, launch, mtrace,
                     target)
from machine import need
from test_record import report_of
from test_soak import line_of


def first_suspect(process):
    worst, = process["suspects"]
    site, = [site for site in process["sites"] if site["id"] == worst["site"]]
    return process.frames(site)[0], site, worst["reasons"]


def shell_of(script, *command):
    """Start a shell that runs a script, without waiting for it."""
    shell = subprocess.Popen([MTRACE, *BACKEND_OPTIONS, "-i", *command], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    shell.stdin.write(script)
    shell.stdin.flush()
    return shell


def test_nothing_grows(steady):
    shell = shell_of("suspects\nquit\n", "-p", str(steady.pid))
    shown, errors = shell.communicate(timeout=TIMEOUT)
    assert shell.returncode == 0, errors
    assert shown == "no site has grown for ten seconds or more\n"


def test_leaking_site_is_a_suspect(tmp_path):
    """The recording gives exactly the same result, and diff shows the same suspect."""
    need("uprobes")
    text, path = str(tmp_path / "report.txt"), str(tmp_path / "trace.rec")
    shell = shell_of("wait\nsuspects\nsite 0\n", target("slow_leak"), "13")
    result = launch(str(tmp_path), target("slow_leak"), "13",
                    options=("-a", "--record", path, f"--format=text={text}"))
    assert result.status == 0, result.stderr
    process = result.process
    frame, site, reasons = first_suspect(process)
    assert (frame["function"], frame["line"]) == \
        ("leak_request", line_of("slow_leak.c", "malloc(LEAK)"))
    assert reasons.startswith("grows ") and "was ever freed" in reasons
    assert "definite leaks" in reasons
    growth = site["growth"]
    assert growth["at_least"] <= growth["bytes_per_second"] <= growth["at_most"]
    # The last quarter of a second is not in the series: its interval is not complete.
    assert 0 <= site["live_bytes"] - growth["series"][-1][2] < 16384
    with open(text, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line]
    assert lines[3].startswith("Suspects ") and "leak_request (slow_leak.c:" in lines[4]

    at_once, = [site for site in process["sites"] if process.function(site) == "free_at_once"]
    assert at_once["lifetimes"]["temporary"] == at_once["frees"] == at_once["allocations"]
    assert sum(at_once["lifetimes"]["histogram"]) == at_once["frees"]
    heap = [site for site in process["sites"] if site["api"] != "mmap"]
    assert sum(site["at_peak_bytes"] for site in heap) == process["peak"]["bytes"]
    assert process["peak"]["bytes"] >= process["totals"]["peak_live_bytes"] * 0.99

    shown, errors = shell.communicate(timeout=TIMEOUT)
    assert shell.returncode == 0, errors
    assert "leak_request (slow_leak.c:" in shown and "was ever freed" in shown

    replayed = report_of(path, str(tmp_path)).process
    for key in ("suspects", "sites", "peak"):
        assert replayed[key] == process[key]

    report = str(tmp_path / "report.json")
    compared = mtrace("diff", report, report)
    assert compared.status == 0, compared.stderr
    assert "Suspects" in compared.stdout and reasons[:20] in compared.stdout


class Service(Lines):
    """A trace without a terminal, whose messages are read line by line."""

    def __init__(self, *arguments, environment=None):
        super().__init__(
            *BACKEND_OPTIONS, *arguments, stdout=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
            env={**os.environ, **(environment or {})})

    def read_until(self, *words):
        """The lines up to the one that contains all words."""
        begin = len(self.log)
        line = self.read_line(words)
        while not all(word in line for word in words):
            line = self.read_line(words)
        return self.log[begin:]

    def report(self):
        """Request a report, and wait until it is written."""
        self.signal(signal.SIGUSR1)
        self.read_until("report: mtrace-bpf uses ")

    def stop(self):
        self.signal(signal.SIGINT)
        return self.process.stderr.read(), self.process.wait(TIMEOUT)


@pytest.fixture(name="steady")
def fixture_steady():
    need("uprobes")
    with Steady() as steady:
        yield steady


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def test_latest_reports_are_kept(steady, tmp_path):
    with Service("-v", "-p", str(steady.pid), "--format", "json", "-o", str(tmp_path / "r%n.json"),
                 "--keep", "3") as service:
        service.read_until("tracing", f"({steady.pid})")
        for _ in range(4):
            service.report()
        # Reports are written after their number is printed, so the next one may be in progress.
        (tmp_path / "mine.json").write_text("mine")
        os.replace(tmp_path / "mine.json", tmp_path / "r3.json")
        for _ in range(2):
            service.report()
        rest, status = service.stop()
        assert status == 0, rest
    assert names(tmp_path) == ["r3.json", "r5.json", "r6.json", "r7.json"]
    assert (tmp_path / "r3.json").read_text() == "mine"
    for number in (5, 6, 7):
        assert load(tmp_path / f"r{number}.json")["schema"]


def test_reader_sees_complete_reports(steady, tmp_path):
    path = tmp_path / "report.json"
    with Service("-v", "-p", str(steady.pid), "--format", "json", "-o", str(path),
                 "--interval", "100ms") as service:
        service.read_until("report: mtrace-bpf uses ")
        service.read_until("report: mtrace-bpf uses ")
        seen = set()
        while len(seen) < 5:
            steady.tell("w")
            seen.add(load(path)["taken_at"])
        rest, status = service.stop()
        assert status == 0, rest
    assert names(tmp_path) == ["report.json"]


def test_report_lists_changes_since_the_last_report(steady, tmp_path):
    with Service("-v", "-p", str(steady.pid), "-o", str(tmp_path / "%n.txt")) as service:
        service.read_until("tracing", f"({steady.pid})")
        steady.tell("w")
        service.report()
        for _ in range(3):
            steady.tell("w")
        rest, status = service.stop()
        assert status == 0, rest
    first, second = [(tmp_path / f"{number}.txt").read_text() for number in (1, 2)]
    assert "Since the last report" not in first
    assert "Since the last report" in second and "\nGrew " in second
    assert "t_kept" in second[second.index("\nGrew "):]


def test_sighup_reloads_the_configuration(steady, tmp_path):
    config, out = tmp_path / "config", tmp_path / "out"
    out.mkdir()
    config.write_text(f"format text\noutput {out}/%n.txt\n")
    with Service("-p", str(steady.pid), "--config", str(config)) as service:
        service.read_until("tracing", f"({steady.pid})")
        steady.tell("w")
        config.write_text(f"format text\noutput {out}/%n.txt\nsort allocations\ndepth 7\nverbose\n")
        service.signal(signal.SIGHUP)
        lines = service.read_until("configuration reloaded")
        assert any("restart mtrace-bpf to apply changes of: depth" in line for line in lines), lines
        service.report()
        config.write_text("nonsense\n")
        service.signal(signal.SIGHUP)
        service.read_until("keeping the old one", "nonsense")
        service.report()
        rest, status = service.stop()
        assert status == 0, rest
    assert names(out) == ["1.txt", "2.txt", "3.txt"]
    for name in names(out):
        assert "sorted by calls" in (out / name).read_text()


def wait_for(manager, told, text):
    """Watchdog messages arrive forever, so limit their number."""
    for _ in range(10 * TIMEOUT):
        told.append(manager.recv(200).decode())
        if told[-1].startswith(text):
            return
    raise AssertionError(f"no {text} among {told[:20]}")


@pytest.mark.parametrize("abstract", [False, True])
def test_service_manager_is_notified(steady, tmp_path, abstract):
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name if abstract else name)
        manager.settimeout(TIMEOUT)
        with Service("-p", str(steady.pid),
                     environment={"NOTIFY_SOCKET": ("@" if abstract else "") + name,
                                  "WATCHDOG_USEC": "200000"}) as service:
            told = []
            wait_for(manager, told, "WATCHDOG=1")
            wait_for(manager, told, "WATCHDOG=1")
            assert told[0] == "READY=1"
            service.signal(signal.SIGHUP)
            wait_for(manager, told, "RELOADING=1\nMONOTONIC_USEC=")
            wait_for(manager, told, "READY=1")
            _, status = service.stop()
            assert status == 0
            wait_for(manager, told, "STOPPING=1")


def test_wrong_usage():
    for arguments, reason in ((("--keep", "3", "-p", "1"), "%n"),
                              (("--keep", "0", "-o", "r%n", "-p", "1"), "not a number"),
                              (("--sort", "grwth", "-p", "1"), "growth")):
        run = mtrace(*arguments)
        assert run.status == 2 and reason in run.stderr, run.stderr
