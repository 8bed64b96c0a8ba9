# SPDX-License-Identifier: GPL-2.0-or-later
"""--max-overhead, --abort-over, and the tracer's own cost as reported after the attach and by -v.
Tests wait for decisions, never for a fixed time."""

import json
import os
import re
import subprocess

import pytest

from harness import (MTRACE, TIMEOUT, Deadline, Lines, Result, Running, Steady, Tracer, await_libc_code,
                     launch, libc_code, mtrace, one_line, target)
from machine import need
from report import assert_sites, difference
from test_sampling import assert_estimates, assert_sound, data_of, sums


class Hot:
    """A program that only allocates, until its standard input ends."""

    def __init__(self, directory, *options, command=("mixed", "0")):
        need("bpf")
        self.path = os.path.join(directory, "report.json")
        self.process = subprocess.Popen(
            [MTRACE, "--buffer", "64m", "--format", "json", "-o", self.path, *options, "--",
             target(command[0]), *command[1:]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.deadline = Deadline(self.process, 3 * TIMEOUT)
        self.log = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.deadline.cancel()
        self.process.kill()
        self.process.communicate()

    def wait_for(self, *texts):
        """Wait for these texts, in this order."""
        for text in texts:
            line = ""
            while text not in line:
                line = self.process.stderr.readline()
                assert line, f"ended before it said {text!r}: {''.join(self.log)}"
                self.log.append(line)

    def end(self):
        stdout, stderr = self.process.communicate(timeout=2 * TIMEOUT)
        run = subprocess.CompletedProcess([], self.process.returncode, stdout,
                                          "".join(self.log) + stderr)
        result = Result(run, self.path)
        assert result.status == 0, result.stderr
        return result


def test_hot_program_is_sampled(tmp_path):
    metrics, text, recording = (str(tmp_path / name) for name in ("m.prom", "r.txt", "t.rec"))
    with Hot(str(tmp_path), "-v", "--max-overhead", "2", f"--format=text={text}",
             "--prometheus-file", metrics, "--record", recording) as hot:
        hot.wait_for("now sampling one allocation per", "now sampling one allocation per")
        result = hot.end()
    data = data_of(result)
    assert_sound(data)
    assert_estimates(data, sums(result.truth))
    overhead = result.document["overhead"]
    assert overhead["budget_ppm"] == 20000 and overhead["changes"] >= 2
    assert overhead["mean_bytes"] >= data["sampling"]["least_mean_bytes"] >= 64
    assert overhead["floor_ppm"] <= overhead["ppm"]
    # Every call hits a breakpoint and the program does nothing else, so the limit cannot be met.
    # That is reported once.
    assert result.stderr.count("--max-overhead cannot be met") == 1
    with open(text, encoding="utf-8") as file:
        words = " ".join(file.read().split())
    assert "(limit 2.0%)" in words
    # According to the last measurement, which may be from the end of the program.
    assert overhead["budget_kept"] == (overhead["floor_ppm"] <= overhead["budget_ppm"])
    assert ("--max-overhead cannot be met" in words) == (not overhead["budget_kept"])
    assert "estimated from" in words
    with open(metrics, encoding="utf-8") as file:
        page = file.read()
    for line in ("mtrace_bpf_overhead_budget_ratio 0.02", "mtrace_bpf_overhead_ratio ",
                 "mtrace_bpf_overhead_floor_ratio ", "mtrace_bpf_sampling_changes_total ",
                 f"mtrace_bpf_sampling_mean_bytes {overhead['mean_bytes']}\n"):
        assert "\n" + line in page, line
    # Each call carries its sampling mean, in recordings as well.
    output = str(tmp_path / "replayed.json")
    subprocess.run([MTRACE, "report", "--format", "json", "-o", output, recording],
                   capture_output=True, check=True, timeout=TIMEOUT)
    with open(output, encoding="utf-8") as file:
        replayed, = json.load(file)["processes"]
    for key in ("totals", "live", "estimate", "sampling"):
        assert replayed[key] == data[key], key


def test_budget_of_100_percent_is_exact(tmp_path):
    with Hot(str(tmp_path), "-vv", "--max-overhead", "100%") as hot:
        hot.wait_for("cost: ", "cost: ")
        result = hot.end()
    data, overhead = data_of(result), result.document["overhead"]
    assert overhead["measurements"] >= 2 and overhead["changes"] == 0
    assert overhead["mean_bytes"] == 0 and overhead["budget_kept"]
    assert "sampling" not in data and "estimate" not in data
    assert_sites(result.process, result.truth)


def test_short_program_is_exact_with_a_budget(tmp_path):
    """A short program has no measurable cost, so the result is exact, as without a limit."""
    need("bpf")
    result = launch(str(tmp_path), target("basic"), options=("--max-overhead", "100"))
    plain = launch(str(tmp_path), target("basic"))
    for key in ("totals", "live"):
        assert data_of(result)[key] == data_of(plain)[key]


def test_budget_keeps_the_requested_sampling_rate(tmp_path):
    with Hot(str(tmp_path), "-vv", "--max-overhead", "100", "--sample", "16k") as hot:
        hot.wait_for("cost: ", "cost: ", "cost: ")
        result = hot.end()
    data, overhead = data_of(result), result.document["overhead"]
    assert_sound(data)
    assert_estimates(data, sums(result.truth))
    assert overhead["changes"] == 0 and overhead["mean_bytes"] == 16384
    assert data["sampling"]["mean_bytes"] == data["sampling"]["least_mean_bytes"] == 16384


def test_verbose_reports_the_overhead(tmp_path):
    with Hot(str(tmp_path), "-v") as hot:
        hot.wait_for("a probe hit costs", "cost: ")
        result = hot.end()
    line, = [line for line in hot.log if ": cost: " in line]
    assert "call_free" in line and " ns each" in line
    assert "report: tracing took" in result.stderr
    overhead = result.document["overhead"]
    assert overhead["budget_ppm"] is None
    assert 0 < overhead["program_ppm"] <= overhead["ppm"] <= 1000000


def windows(lines):
    """For each window: the milliseconds of CPU time of the traced processes, and their calls of
    free."""
    found = [re.search(r": cost: .* of ([0-9.]+) ms.*call_free_plain ran ([0-9,]+) times", line)
             for line in lines]
    return [(float(match[1]), int(match[2].replace(",", ""))) for match in found if match]


@pytest.mark.parametrize("way", ["waited", "ignored"])
def test_overhead_includes_exited_children(way, tmp_path):
    """Children live for milliseconds each, and are either reaped or ignored by their parent. The
    cost of a pair as measured in the windows matches the program's own clocks, which do not see the
    exit of each child."""
    with Hot(str(tmp_path), "-f", "-vv", "--max-overhead", "100",
             command=("brood", way)) as hot:
        hot.wait_for(*["call_free_plain ran "] * 4)
        result = hot.end()
    milliseconds, pairs = map(sum, zip(*windows(hot.log)))
    ratio = (1e6 * milliseconds / pairs) / (result.truth["cpu_ns"] / result.truth["pairs"])
    assert 0.8 < ratio < 2
    assert 0 < result.document["overhead"]["ppm"]


COST = re.compile(r"tracing takes [0-9.]+% of the traced processes' CPU time at [0-9.,]+( million)? calls/s")


class Abort(Lines):
    """A trace that is expected to end by --abort-over, without a report."""

    def __init__(self, directory, *arguments):
        need("bpf")
        self.path = os.path.join(directory, "none.json")
        super().__init__("--format", "json", "-o", self.path, *arguments)

    def assert_aborted(self, percent):
        line = self.wait_for("detached because of --abort-over")
        assert f"--abort-over {percent}: " in line and COST.search(line), line
        assert self.process.wait(TIMEOUT) == 123
        assert not os.path.exists(self.path)


class Allocating(Running):
    """A program that only allocates. At its end it prints the truth."""

    def __init__(self):
        super().__init__([target("mixed"), "0"], stdin=subprocess.PIPE)

    def end(self):
        stdout, _ = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0
        return json.loads(stdout)


@pytest.mark.parametrize("options", [(), ("-f",), ("-a",), ("--sample", "512k"),
                                     ("--max-overhead", "0.2")])
def test_abort_over_detaches_from_a_process(options, tmp_path):
    """The process continues without probes."""
    with Allocating() as program:
        await_libc(program.pid)
        code = libc_code(program.pid)
        with Abort(str(tmp_path), "--abort-over", "0.1", *options, "-p", str(program.pid)) as abort:
            abort.assert_aborted("0.1")
        await_libc_code(program.pid, code)
        assert program.end()["sites"]


def await_libc(pid):
    """Wait until the C library is mapped in a new process."""
    while libc_code(pid) is None:
        pass


@pytest.mark.parametrize("options", [(), ("-f",), ("-q",)])
def test_abort_over_lets_a_launched_program_run(options, tmp_path):
    """mtrace-bpf waits for it, and its status shows that nothing was traced to the end."""
    with Hot(str(tmp_path), "--abort-over", "0.1", *options) as hot:
        hot.wait_for("detached because of --abort-over 0.1")
        if "-q" not in options:
            hot.wait_for("keeps running, untraced")
        stdout, _ = hot.process.communicate(timeout=2 * TIMEOUT)
    assert hot.process.returncode == 123 and json.loads(stdout)["sites"]
    assert not os.path.exists(hot.path)


@pytest.mark.whole_machine
def test_abort_over_with_all_processes(tmp_path):
    with Allocating() as program:
        with Abort(str(tmp_path), "--abort-over", "0.1", "--comm", "mixed") as abort:
            line = abort.wait_for("detached because of --abort-over 0.1")
            assert abort.process.wait(TIMEOUT) == 123, line
        assert program.end()["sites"]


def test_abort_over_keeps_a_recording(tmp_path):
    recording = str(tmp_path / "t.rec")
    with Allocating() as program:
        with Abort(str(tmp_path), "--abort-over", "1", "--record", recording, "-p",
                   str(program.pid)) as abort:
            abort.wait_for("detached because of --abort-over 1:")
            assert abort.process.wait(TIMEOUT) == 123
    assert "total" in mtrace("report", recording).stdout


def test_abort_over_keeps_tracing_an_idle_process(tmp_path):
    need("bpf")
    with Steady() as steady:
        before = steady.tell()
        with Tracer(str(tmp_path), steady.pid, options=("--abort-over", "50")) as tracer:
            after = steady.tell("w")
            result = tracer.stop()
        assert result.status == 0, result.stderr
        assert "detached" not in result.stderr
        assert_sites(result.process, difference(after, before))


def test_abort_over_100_percent_is_never_exceeded(tmp_path):
    with Hot(str(tmp_path), "--abort-over", "100") as hot:
        hot.wait_for("tracing takes")
        result = hot.end()
    assert result.document["overhead"]["measurements"] == 1
    assert_sites(result.process, result.truth)


def test_cost_is_reported_once_after_attaching(tmp_path):
    """By default nothing else is measured, and the report is as without a measurement."""
    need("bpf")
    path = tmp_path / "report.json"
    with Running([target("mixed"), "0"], stdin=subprocess.PIPE) as program:
        command = [MTRACE, "--format", "json", "-o", str(path), "-p", str(program.process.pid)]
        with Running(command, stderr=subprocess.PIPE) as tracer:
            log = iter(tracer.process.stderr.readline, "")
            cost = next((line for line in log if "tracing takes" in line), "")
            program.process.communicate(timeout=2 * TIMEOUT)
            _, rest = tracer.process.communicate(timeout=2 * TIMEOUT)
    assert COST.search(cost)
    assert "tracing takes" not in rest
    assert "overhead" not in json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("option", ["--max-overhead=5", "--abort-over=5", "-v"])
def test_overhead_needs_the_privilege_to_measure(option, tmp_path):
    """Without the privilege to measure, -v prints a warning and tracing continues; --max-overhead
    and --abort-over fail."""
    need("bpf", "root", "setpriv", "uprobes")
    result = subprocess.run(["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin",
                             MTRACE, "-o", str(tmp_path / "report.txt"), option, "true"],
                            capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL, timeout=TIMEOUT)
    assert result.stderr.count("CAP_SYS_ADMIN") == 1 and "any more" not in result.stderr
    assert (result.returncode == 0) == (option == "-v")


@pytest.mark.parametrize("options", [("--max-overhead", "0"), ("--max-overhead", "101"),
                                     ("--max-overhead", "x"), ("--max-overhead", "nan"),
                                     ("--max-overhead", "5", "-S"),
                                     ("--max-overhead", "5", "--backend", "ptrace"),
                                     ("--abort-over", "0"), ("--abort-over", "101"),
                                     ("--abort-over", "5", "--backend", "ptrace")])
def test_invalid_budget(options):
    result = mtrace(*options, "true")
    assert result.status == 2
    assert one_line(result.stderr)
