# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles programs, runs them under a leak finder, and reads the findings."""

import collections
import contextlib
import dataclasses
import glob
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import threading

MEMORY_LIMIT = 2 << 30  # for programs that allocate endlessly
NATIVE_SECONDS = 10     # a program that takes longer without a tool is endless
GRACE_SECONDS = 10      # from SIGTERM to SIGKILL

LEAKED = ("definite", "indirect", "possible")
LISTED = (*LEAKED, "reachable", "unknown")
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"}


class Failed(Exception):
    """A program cannot be built or run. The text says why in a few words."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a tool reports for one program. blocks: their number by class. sites: for mtrace-bpf, one
    text for each class of each call site in the program. error: why there is no result, or empty."""
    blocks: dict = dataclasses.field(default_factory=dict)
    sites: tuple = ()
    error: str = ""

    @property
    def leaked(self):
        """The number of blocks that the tool does not call reachable."""
        return sum(self.blocks.get(name, 0) for name in LEAKED)

    @property
    def verdict(self):
        """definite, possible, none or failed."""
        if self.error:
            return "failed"
        if self.blocks.get("definite", 0) or self.blocks.get("indirect", 0):
            return "definite"
        return "possible" if self.leaked else "none"


# Running.

running = set()  # processes that lead their process groups
cancelled = threading.Event()


def kill_group(process, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def cancel():
    """Kills all running commands and starts no more."""
    cancelled.set()
    for process in list(running):
        kill_group(process, signal.SIGKILL)


def end_group(process):
    """SIGTERM first, so that the tracer can remove its probes."""
    kill_group(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    kill_group(process, signal.SIGKILL)
    process.wait()


def wait_for(process, seconds):
    """The exit status. Raises Failed after a timeout."""
    running.add(process)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired as expired:
        end_group(process)
        raise Failed(f"no end after {seconds} s") from expired
    finally:
        running.discard(process)
        kill_group(process, signal.SIGKILL)  # processes that the command left behind


def run(command, folder, seconds, memory=None, environment=None):
    """The exit status and the standard error of a command. The text goes through a file, because a
    pipe stays open while a process that the command left behind runs."""
    if cancelled.is_set():
        raise Failed("cancelled")
    with open(os.path.join(folder, "stderr"), "w+", encoding="utf-8", errors="replace") as stderr:
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=stderr, env={**ENVIRONMENT, **(environment or {})},
                              start_new_session=True) as process:
            if memory:
                with contextlib.suppress(ProcessLookupError):
                    resource.prlimit(process.pid, resource.RLIMIT_AS, (memory, memory))
            status = wait_for(process, seconds)
        stderr.seek(0)
        return status, stderr.read()


# Compiling.

def compiler():
    return shlex.split(os.environ.get("CC") or "gcc")


def first_error(text):
    lines = [line.strip() for line in text.splitlines() if "error" in line or "undefined" in line]
    return lines[0] if lines else "the compiler failed"


def compile_program(program, folder, flags, seconds):
    """The path of the built program. Warnings are off: nobody here can fix the suite."""
    path = os.path.join(folder, "program")
    sources = list(program.sources)
    if program.driver:
        sources.append(os.path.join(folder, "driver.c"))
        with open(sources[-1], "w", encoding="utf-8") as file:
            file.write(program.driver)
    libraries = ["-lstdc++"] if any(name.endswith(".cpp") for name in sources) else []
    command = [*compiler(), "-g", "-w", *flags, *sources, *program.flags, *libraries, "-lm"]
    builds = [("-o", path)]
    if program.module:
        builds.append(("-DBUILD_DSO", "-fPIC", "-shared", "-o", path + "-so.so"))
    for build in builds:
        status, text = run([*command, *build], folder, seconds)
        if status:
            raise Failed(f"does not compile: {first_error(text)}")
    return path


def run_natively(path, program, folder, seconds):
    """Raises Failed if the program does not end, or is killed by a signal."""
    try:
        status, _ = run([path, *program.arguments], folder, min(seconds, NATIVE_SECONDS), MEMORY_LIMIT)
    except Failed as failed:
        raise Failed("endless natively") from failed
    if status < 0:
        raise Failed(f"killed by {signal.Signals(-status).name} natively")


# mtrace-bpf.

def site_text(process, site, kind):
    """For example "reachable 1 malloc main t.c:12"; None if no frame belongs to the program."""
    frames = next((stack["frames"] for stack in process["stacks"] if stack["id"] == site["stack"]), [])
    frame = next((frame for frame in frames
                  if frame["module"] == process["exe"] and frame["function"] != "_start"), None)
    if not frame:
        return None
    place = f" {os.path.basename(frame['file'])}:{frame['line']}" if frame["file"] else ""
    return f"{kind} {site[kind + '_blocks']} {site['api']} {frame['function']}{place}"


def read_report(path):
    """The sum over all processes of a JSON report."""
    with open(path, encoding="utf-8") as file:
        processes = json.load(file)["processes"]
    if not processes:
        return Finding(error="no process in the report")
    blocks, sites = collections.Counter(), []
    for process in processes:
        scan = process["scan"]
        if not scan["done"]:
            return Finding(error=f"not scanned: {scan['reason']}")
        for kind in LISTED:
            blocks[kind] += scan[kind]["blocks"]
            sites += [site_text(process, site, kind) for site in process["sites"]
                      if site[f"{kind}_blocks"]]
    return Finding(dict(blocks), tuple(site for site in sites if site))


def run_mtrace(path, program, folder, seconds, options):
    report = os.path.join(folder, "report.json")
    with contextlib.suppress(FileNotFoundError):
        os.remove(report)
    _, text = run([os.environ["MTRACE"], "--quiet", "--scan", "--format", "json", "--output", report,
                   *options, "--", path, *program.arguments], folder, seconds)
    try:
        return read_report(report)
    except (FileNotFoundError, ValueError):
        return Finding(error=(text.strip().splitlines() or ["no report"])[-1])


# valgrind and AddressSanitizer.

SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "valgrind.supp")
VALGRIND = ("valgrind", "--leak-check=full", "--show-leak-kinds=all", f"--suppressions={SUPPRESSIONS}")
VALGRIND_CLASSES = {"definite": "definitely lost", "indirect": "indirectly lost",
                    "possible": "possibly lost", "reachable": "still reachable"}


def read_valgrind_log(text):
    """The blocks by class in the summary: "definitely lost: 10 bytes in 1 blocks"."""
    return {name: sum(int(number.replace(",", "")) for number in
                      re.findall(rf"{words}: [\d,]+ bytes in ([\d,]+) blocks", text))
            for name, words in VALGRIND_CLASSES.items()}


def run_valgrind(path, program, folder, seconds):
    """Each process writes its own log."""
    _, said = run([*VALGRIND, f"--log-file={folder}/valgrind.%p", path, *program.arguments], folder,
                  seconds)
    blocks, logs = collections.Counter(), glob.glob(f"{glob.escape(folder)}/valgrind.*")
    for log in logs:
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        os.remove(log)
        if "LEAK SUMMARY" not in text and "no leaks are possible" not in text:
            return Finding(error="valgrind printed no summary")
        blocks.update(read_valgrind_log(text))
    return Finding(dict(blocks), error="" if logs else said.strip() or "valgrind wrote no log")


ASAN_FLAGS = ("-fsanitize=address",)
ASAN_OPTIONS = "detect_leaks=1:new_delete_type_mismatch=0:alloc_dealloc_mismatch=0"
ASAN_RECORD = re.compile(r"^(Direct|Indirect) leak of \d+ byte\(s\) in (\d+) object\(s\)", re.MULTILINE)


def run_asan(path, program, folder, seconds):
    """A program that is built with AddressSanitizer runs LeakSanitizer when it exits."""
    _, text = run([path, *program.arguments], folder, seconds,
                  environment={"ASAN_OPTIONS": ASAN_OPTIONS})
    if "LeakSanitizer has encountered a fatal error" in text:
        return Finding(error="LeakSanitizer cannot run here")
    errors = re.findall(r"ERROR: AddressSanitizer: ([\w-]+)", text)
    if errors:
        return Finding(error=errors[0])
    blocks = collections.Counter()
    for kind, number in ASAN_RECORD.findall(text):
        blocks["definite" if kind == "Direct" else "indirect"] += int(number)
    return Finding(dict(blocks))


def attempt(tool, *arguments):
    """The finding of a tool, or a finding that says why it failed."""
    try:
        return tool(*arguments)
    except Failed as failed:
        return Finding(error=str(failed))
