# SPDX-License-Identifier: GPL-2.0-or-later
"""How to measure: programs controlled line by line, tools that trace them, rounds, medians.

Each round runs every row in turn, ratios are taken within a round, and the median over the rounds
is reported, so that a machine whose speed drifts favours no row. A row that times out or fails
affects only itself.
"""
import contextlib
import os
import re
import select
import signal
import statistics
import subprocess
import time

LIMIT = 120  # seconds to wait for any answer
NUMBER = re.compile(rb"^\d+(\.\d+)?$")


class Failed(Exception):
    """A row that cannot be measured, and the reason."""


class Lines:
    """Lines from a pipe, each with a timeout."""

    def __init__(self, stream):
        self.stream = stream.fileno()
        self.rest = b""

    def next(self, seconds):
        deadline = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.stream], [], [], left)[0]:
                raise Failed(f"no answer within {seconds:.0f} s")
            data = os.read(self.stream, 65536)
            if not data:
                raise Failed("ended" + (f": {self.rest.decode(errors='replace')}" if self.rest
                                        else " without an answer"))
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def until(self, pattern, seconds):
        """The first line that matches; if there is none, earlier output explains why."""
        seen, deadline = [], time.monotonic() + seconds
        try:
            while not seen or not re.search(pattern, seen[-1]):
                seen.append(self.next(max(deadline - time.monotonic(), 0)))
        except Failed as failure:
            words = [line.decode(errors="replace").strip() for line in seen if line.strip()]
            raise Failed(": ".join([str(failure), *words[-1:]])) from None
        return seen[-1]


class Workload:
    """A program under test: it answers each line with a number. Output of the tool that launched
    it is skipped."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL,
                                        env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        self.lines = Lines(self.process.stdout)

    def ask(self, *words, limit=LIMIT):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()
        return float(self.lines.until(NUMBER, limit))

    def close(self):
        stop(self.process, end_of_input=True)


def stop(process, number=None, end_of_input=False, seconds=LIMIT):
    """Ends it by a signal or by the end of its input, and kills it if it does not exit."""
    if process.stdin and end_of_input:
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.stdin = None
    if number and process.poll() is None:
        process.send_signal(number)
    drain(process, seconds)
    if process.poll() is None:
        process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()


def drain(process, seconds):
    """Reads its output until it has exited, but not until end of file, because other processes
    may share the output."""
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe]
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        for pipe in select.select(pipes, [], [], 0.005)[0]:
            if not os.read(pipe.fileno(), 65536):
                pipes.remove(pipe)


@contextlib.contextmanager
def workload(command, env=None):
    program = Workload(command, env)
    try:
        yield program
    finally:
        program.close()


@contextlib.contextmanager
def tool(command, ready, stream="stdout", env=None, seconds=LIMIT):
    """Runs a tool and waits until it says that it is attached. ^C or the end of its input ends
    it."""
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: subprocess.PIPE}
    if stream == "both":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, **pipes,
                               env={**os.environ, **(env or {})})
    try:
        said = process.stderr if stream == "stderr" else process.stdout
        Lines(said).until(ready.encode(), seconds)
        yield process
    finally:
        stop(process, signal.SIGINT, end_of_input=True)


@contextlib.contextmanager
def silent_tool(command, attached):
    """The same for a tool that does not say when it is ready: polls `attached`."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + LIMIT
    try:
        while not attached():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failed("did not attach")
            time.sleep(0.001)
        yield process
    finally:
        stop(process, signal.SIGINT)


def run(command, limit=LIMIT, **keywords):
    """Returns (seconds, output) of a command that must succeed."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False, **keywords)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} took more than {limit} s") from None
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Failed(": ".join([command[0], f"status {done.returncode}", *words[-1:]]))
    return time.monotonic() - start, done.stdout


class Rounds:
    """The results: figures[row][column] is a list with one entry per round (None if missing),
    failed[row] says why a row has no more."""

    def __init__(self, figures=None, failed=None):
        self.figures = figures or {}
        self.failed = failed or {}

    def median(self, row, column=""):
        values = self.values(row, column)
        return statistics.median(values) if values else None

    def values(self, row, column=""):
        return [v for v in self.figures.get(row, {}).get(column, []) if v is not None]

    def ratio(self, row, base, column=""):
        """The median of the ratios within each round."""
        pairs = zip(self.figures.get(row, {}).get(column, []),
                    self.figures.get(base, {}).get(column, []))
        ratios = [a / b for a, b in pairs if a is not None and b]
        return statistics.median(ratios) if ratios else None

    def columns(self):
        return list(dict.fromkeys(c for row in self.figures.values() for c in row))

    def as_dict(self, bases=()):
        """For JSON: all figures, medians, and median ratios to the rows `bases`."""
        cells = [(row, column) for row in self.figures for column in self.figures[row]]
        ratios = {base: {} for base in bases if base in self.figures}
        medians = {}
        for row, column in cells:
            medians.setdefault(row, {})[column] = self.median(row, column)
            for base, told in ratios.items():
                told.setdefault(row, {})[column] = self.ratio(row, base, column)
        return {"medians": medians, "ratios": ratios, "figures": self.figures,
                "failed": self.failed}


def interleave(rows, rounds, note=lambda text: None):
    """rows: {name: (function that returns {column: figure}, maximum number of rounds)}."""
    result = Rounds({name: {} for name in rows})
    for number in range(rounds):
        for name, (measure, most) in rows.items():
            figures = {}
            if number < most and name not in result.failed:
                note(f"round {number + 1} of {rounds}: {name}")
                try:
                    figures = measure()
                except (Failed, OSError, ValueError, subprocess.SubprocessError) as failure:
                    result.failed[name] = str(failure) or type(failure).__name__
            for column in {**result.figures[name], **figures}:
                values = result.figures[name].setdefault(column, [None] * number)
                values.append(figures.get(column))
    return result
