# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts and stops the tracer and its targets. Nothing here sleeps: everything waits for a line, an
end of file or an exit."""

import json
import os
import select
import signal
import subprocess
import threading
import time

import report
from machine import need
from report import ROOT

TIMEOUT = 60


def path_of(variable, default):
    return os.path.abspath(os.path.join(ROOT, os.environ.get(variable, default)))


MTRACE = path_of("MTRACE", "build/mtrace-bpf")

# The backend that the suite tests: the default one, or `--backend ptrace`.
BACKEND = os.environ.get("BACKEND", "bpf")
BACKEND_OPTIONS = () if BACKEND == "bpf" else ("--backend", BACKEND)
TARGETS = path_of("TARGETS", "build/targets")

# Whether the running test is marked whole_machine: no other test runs at the same time.
whole_machine = False  # pylint: disable=invalid-name


def target(name):
    return os.path.join(TARGETS, name)


def without_reason(text):
    """The output without the message that explains the fallback to ptrace."""
    lines = (text or "").splitlines(keepends=True)
    return "".join(line for line in lines if "tracing by ptrace because BPF cannot be used" not in line)


class Result:
    """A finished run: status, output, and its report if there is one."""

    def __init__(self, run, path):
        self.status = run.returncode
        self.stdout = run.stdout
        self.stderr = run.stderr if BACKEND != "auto" else without_reason(run.stderr)
        self.document = None
        if path and os.path.exists(path) and os.path.getsize(path):
            with open(path, encoding="utf-8") as file:
                self.document = json.load(file)
            report.check(self.document)

    @property
    def processes(self):
        assert self.document, f"no report; status {self.status}: {self.stderr}"
        return [report.Process(data) for data in self.document["processes"]]

    @property
    def process(self):
        assert len(self.processes) == 1
        return self.processes[0]

    @property
    def truths(self):
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def truth(self):
        assert len(self.truths) == 1
        return self.truths[0]


def mtrace(*arguments, **more):
    """Run the tracer with these arguments only."""
    more = {"stdin": subprocess.DEVNULL, "timeout": TIMEOUT, **more}
    return Result(subprocess.run([MTRACE, *arguments], capture_output=True, text=True, check=False,
                                 **more), None)


def launch(directory, *command, options=(), **more):
    """Trace a command until it exits; its JSON report is part of the result."""
    path = os.path.join(directory, "report.json")
    more = {"stdin": subprocess.DEVNULL, "timeout": TIMEOUT, **more}
    run = subprocess.run([MTRACE, "--format", "json", "-o", path, *BACKEND_OPTIONS, *options, "--",
                          *command],
                         capture_output=True, text=True, check=False, **more)
    return Result(run, path)


class Deadline:
    """Kills a process that does not exit in time, so that a test fails instead of hanging."""

    def __init__(self, process, seconds=TIMEOUT):
        self.timer = threading.Timer(seconds, process.kill)
        self.timer.daemon = True
        self.timer.start()

    def cancel(self):
        self.timer.cancel()


class Running:
    """A process that is killed at the end of its with block."""

    def __init__(self, command, seconds=3 * TIMEOUT, **more):
        self.process = subprocess.Popen(command, text=True, **{"stdout": subprocess.PIPE, **more})
        self.pid = self.process.pid
        self.deadline = Deadline(self.process, seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.deadline.cancel()
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Steady(Running):
    """The target "steady": works on command, and answers with its truth."""

    def __init__(self, threads=1, command=None, environment=None):
        super().__init__(command or [target("steady"), str(threads)], stdin=subprocess.PIPE,
                         env=environment)
        self.await_ready()

    def await_ready(self):
        assert self.process.stdout.readline() == "READY\n"

    def tell(self, command="t"):
        """Send a command (w, p, b, f, c; t does nothing) and return the truth that it answers."""
        self.process.stdin.write(command)
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the target is gone: {self.process.wait()}"
        return json.loads(answer)

    def begin_anew(self):
        """Make the target execute itself."""
        self.process.stdin.write("e")
        self.process.stdin.flush()
        self.await_ready()

    def quit(self):
        self.process.stdin.write("q")
        self.process.stdin.flush()
        return self.process.wait(TIMEOUT)


class Lines(Running):
    """A running mtrace-bpf and its standard error, read line by line."""

    path = None  # of its report

    def __init__(self, *arguments, before=(), **more):
        self.log = []
        super().__init__([*before, MTRACE, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         **more)

    def read_line(self, wanted):
        line = self.process.stderr.readline()
        assert line, f"no {wanted}: {''.join(self.log)}"
        self.log.append(line)
        return line

    def wait_for(self, *words):
        """Return the next line that contains all words."""
        while not self.log or not all(word in self.log[-1] for word in words):
            self.read_line(words)
        return self.log[-1]

    def finish(self):
        """Wait until it exits."""
        stdout, stderr = self.process.communicate(timeout=TIMEOUT)
        return Result(subprocess.CompletedProcess([], self.process.returncode, stdout,
                                                  "".join(self.log) + stderr), self.path)


class Tracer(Lines):
    """mtrace-bpf attached to running processes, or to what the options select. Ready when it
    reports that it is tracing."""

    def __init__(self, directory, *pids, options=(), name="attached"):
        if not pids:
            need("bpf")
            assert whole_machine, "mark this test: @pytest.mark.whole_machine"
        self.path = os.path.join(directory, name + ".json")
        named = ["-p", ",".join(map(str, pids))] if pids else []
        super().__init__("--format", "json", "-o", self.path, *named, *BACKEND_OPTIONS, *options)
        for text in [f"({pid})" for pid in pids] or [""]:
            self.wait_for_trace(text)

    def wait_for_trace(self, text):
        """With several processes, the lines come in any order."""
        while not any("tracing" in line and text in line for line in self.log):
            self.read_line(text)

    def stop(self):
        """Interrupt it, and return its result."""
        self.signal(signal.SIGINT)
        return self.finish()


def run_system(directory, options, command, **more):
    """Trace the matching processes while a command runs."""
    need("bpf")
    more = {"timeout": TIMEOUT, **more}
    with Tracer(directory, options=options) as tracer:
        run = subprocess.run(command, capture_output=True, text=True, check=True, **more)
        result = tracer.stop()
    result.stdout = run.stdout
    result.tracer = tracer.process.pid
    return result


def wait_for_end(pid):
    """Wait for a process that need not be our child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(descriptor):
        assert select.select([descriptor], [], [], TIMEOUT)[0]


def children(pid):
    """The child processes of a process; none if it is gone."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def libc_code(pid):
    """The code of libc that a process has mapped; None without libc. Pages that gates have moved
    away and back may be mappings of their own."""
    code = b""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, \
            open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            words = line.split()
            if "x" in words[1] and len(words) > 5 and "libc.so" in words[5]:
                start, end = (int(word, 16) for word in words[0].split("-"))
                memory.seek(start)
                code += memory.read(end - start)
    return code or None


def await_libc_code(pid, before):
    """The breakpoints are removed asynchronously: poll until the code is unchanged again."""
    deadline = time.monotonic() + TIMEOUT
    while libc_code(pid) != before:
        assert time.monotonic() < deadline, "breakpoints are left"


def await_no_tracer(pid):
    """With ptrace, a process stays traced after its tracer is killed, until the breakpoints are
    removed."""
    deadline = time.monotonic() + TIMEOUT
    while status(pid).get("TracerPid", "0") != "0":
        assert time.monotonic() < deadline, f"{pid} is still traced"


def status(pid):
    """The fields of /proc/PID/status: {"Seccomp": "2", …}; {} if the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return {key: value.strip() for key, value in (line.split(":", 1) for line in file)}
    except (FileNotFoundError, ProcessLookupError):
        return {}


def command(pid):
    return status(pid).get("Name")


def one_line(text):
    """Whether the text is an error message of ours, on one line."""
    lines = text.splitlines()
    return len(lines) == 1 and lines[0].startswith("mtrace-bpf: ")
