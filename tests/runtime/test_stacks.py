# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks by unwind tables are complete for programs as distributions compile them, and equal those
of another unwinder frame by frame."""

import collections
import os
import shutil
import subprocess

import pytest

import harness
import test_programs
from machine import need

DEPTH = ("--depth", "127")
OUTERMOST = ("_start", "__clone3", "clone3", "__clone", "__GI___clone3", "_dl_start_user")
KINDS = ("tree", "threads", "coroutines")


def last_function(stack):
    return stack["frames"][-1]["function"]


def before_last(stack):
    """In a stripped program _start has no name, so look at the caller of main. At the start of a
    coroutine, the byte before the return address belongs to another function, or to none."""
    return {frame["function"] for frame in stack["frames"][-3:]}


def is_complete(stack):
    return not stack["truncated"] and (
        last_function(stack) in OUTERMOST or
        before_last(stack) & {"__libc_start_call_main", "coroutine()"})


def assert_complete(process):
    broken = [stack for stack in process.stacks.values() if not is_complete(stack)]
    assert process.stacks
    assert process["losses"]["stacks"] == 0
    assert [[frame["function"] for frame in stack["frames"]] for stack in broken] == []


PROGRAMS = {
    "git": test_programs.git_log,
    "python3": test_programs.python,
    "perl": test_programs.perl,
    "sqlite3": test_programs.sqlite,
    "cc1": test_programs.cc1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_complete(launch, tmp_path, name):
    """Every stack reaches the beginning of its thread."""
    need("programs")
    process = launch(*PROGRAMS[name](tmp_path), options=DEPTH,
                     env=test_programs.ENVIRONMENT).process
    assert_complete(process)


def place(frame):
    module = os.path.basename(frame["module"]).split(".")[0]
    return f"{module}+{frame['offset']}"


def told_stacks(text):
    """The stacks that the target prints: the places of each, and the bytes that were allocated
    there."""
    sums = collections.Counter()
    for line in text.splitlines():
        size, *places = line.split()
        sums[tuple(places)] += int(size)
    return sums


def seen_stacks(process):
    """The stacks in the report, like told_stacks: the sites of the allocating function, without
    their first frame."""
    sums = collections.Counter()
    for site in process["sites"]:
        frames = [frame for frame in process.frames(site) if not frame["inlined"]]
        if site["api"] == "malloc" and frames and frames[0]["function"] == "take()":
            sums[tuple(place(frame) for frame in frames[1:])] += site["bytes_allocated"]
    return sums


@pytest.mark.parametrize("options", [(), ("--pairing", "task"), ("--stack", "cfi")], ids=str)
def test_exact(launch, options):
    """Every frame equals that of the C++ runtime's unwinder, for frames of all shapes, threads,
    exceptions, callbacks of the C library and coroutines."""
    result = launch(harness.target("stacks"), *KINDS, options=(*DEPTH, *options))
    told, seen = told_stacks(result.stdout), seen_stacks(result.process)
    assert len(told) > 1000
    assert (told - seen, seen - told) == (collections.Counter(), collections.Counter())
    assert_complete(result.process)


def test_exact_attached(attach, tmp_path):
    """The same for a process that was running before the trace."""
    del tmp_path
    with subprocess.Popen([harness.target("stacks"), "wait", *KINDS], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        with attach(target.pid, options=DEPTH) as tracer:
            text, _ = target.communicate("\n", timeout=harness.TIMEOUT)
            process = tracer.finish().process
    told, seen = told_stacks(text), seen_stacks(process)
    assert len(told) > 1000
    assert (told - seen, seen - told) == (collections.Counter(), collections.Counter())


@pytest.fixture
def overlay(tmp_path):
    """A directory in which stat() reports other device numbers than the kernel uses."""
    need("overlayfs")
    layers, merged = tmp_path / "layers", tmp_path / "merged"
    for directory in (layers, merged):
        directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", layers], check=True)
    for name in ("lower", "upper", "work"):
        (layers / name).mkdir()
    options = ",".join(f"{name}dir={layers / name}" for name in ("lower", "upper", "work"))
    subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", merged], check=True)
    yield layers / "lower", merged
    subprocess.run(["umount", merged, layers], check=True)


def test_overlay(attach, overlay):
    """A program and its C library on overlayfs, as in containers."""
    lower, merged = overlay
    listing = subprocess.run(["ldd", harness.target("stacks")], capture_output=True, text=True,
                             check=True).stdout
    libraries = [word for word in listing.split() if word.startswith("/") and ".so" in word]
    for path in (harness.target("stacks"), *libraries):
        shutil.copy(path, lower)
    with subprocess.Popen([merged / "stacks", "wait", "tree"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True,
                          env={"LD_LIBRARY_PATH": str(merged)}) as target:
        with attach(target.pid, options=DEPTH) as tracer:
            text, _ = target.communicate("\n", timeout=harness.TIMEOUT)
            process = tracer.finish().process
    assert seen_stacks(process) == told_stacks(text)
    assert_complete(process)
    assert any(frame["module"].startswith(str(merged)) for stack in process.stacks.values()
               for frame in stack["frames"])


def test_regex(launch):
    """Stacks through std::regex, exceptions and threads of the standard library are complete."""
    assert_complete(launch(harness.target("stacks"), "regex", "threads", options=DEPTH).process)


def test_signal(launch):
    """A stack that leads through a signal frame is completed in user space."""
    result = launch(harness.target("stacks"), "signals", options=DEPTH)
    assert seen_stacks(result.process) == told_stacks(result.stdout)
    [stack] = [stack for stack in result.process.stacks.values()
               if any(frame["function"] == "take()" for frame in stack["frames"])]
    assert not stack["truncated"]
    assert stack["frames"][1]["function"] in ("", "__restore_rt")


def test_code_mapped_without_the_linker(launch):
    """Code that is mapped without the dynamic linker. Its unwind table is not loaded when it first
    allocates."""
    process = launch(harness.target("rawcode"), harness.target("libplugin.so"), "t_call", "5",
                     options=DEPTH).process
    [site] = process["sites"]
    assert site["allocations"] == 5
    assert process.functions(site)[:3] == ["take", "t_call", "main"]
    assert_complete(process)


def test_code_mapped_from_a_known_file(launch):
    """The second process finds the table of the file already loaded, so its stack walk does not
    stop there. Its frames still get their names."""
    command = [harness.target("rawcode"), harness.target("libplugin.so"), "t_call", "5"]
    result = launch("sh", "-c", '"$@"; "$@"; true', "sh", *command, options=("-f", *DEPTH))
    loaders = [process for process in result.processes if process["exe"].endswith("/rawcode")]
    assert len(loaders) == 2
    for process in loaders:
        [site] = process["sites"]
        assert site["allocations"] == 5
        assert process.functions(site)[:3] == ["take", "t_call", "main"]


def test_return_address_without_a_call_is_not_trusted(launch):
    """A return address that does not follow a call is not trusted: the stack ends there, and is
    marked."""
    process = launch(harness.target("pushed"), options=DEPTH).process
    [site] = process["sites"]
    assert process.functions(site) == ["take", "inner"]
    assert process.stacks[site["stack"]]["stop"] == "no_code"


def test_depth(launch):
    """A stack with more frames than --depth keeps its innermost frames and is marked as truncated."""
    result = launch(harness.target("stacks"), "tree", options=("--depth", "5"))
    seen = seen_stacks(result.process)
    assert set(seen) == {places[:4] for places in told_stacks(result.stdout)}
    assert result.process["losses"]["truncated_stacks"] > 0
    assert set(result.process["stack_quality"]["by_reason"]) == {"depth"}


def test_caller_of_operator_new(launch):
    """The caller of operator new is correct however operator new was compiled."""
    process = launch(harness.target("cxx"), "0").process
    callers = {functions[1] for functions in map(process.functions, process["sites"])
               if functions and functions[0].startswith("operator new") and len(functions) > 1}
    assert {"t_new", "t_new_aligned", "t_new_array_aligned"} <= callers


@pytest.mark.parametrize("stack, stops", [("none", {"none"}), ("fp", {"unknown", "depth"})])
def test_other_stack_modes_are_never_complete(launch, stack, stops):
    """Only unwind tables can find the outermost frame, so no other mode claims that a stack is
    complete."""
    process = launch(harness.target("stacks"), "tree", options=("--stack", stack)).process
    assert {stack["stop"] for stack in process.stacks.values()} <= stops
    assert process["stack_quality"]["complete_calls"] == 0


NEWS = {"t_new_nothrow", "t_new_aligned_nothrow"}
NEW_ARRAYS = {"t_new_array_nothrow", "t_new_array_aligned_nothrow"}


def test_new_array_that_calls_new(launch):
    """If operator new[] calls operator new, the call counts as operator new[], and the stack begins
    there."""
    process = launch(harness.target("cxx"), "0", options=DEPTH).process
    seen = {}
    for site in process["sites"]:
        functions = process.functions(site)
        if len(functions) > 1 and functions[1] in NEWS | NEW_ARRAYS:
            seen.setdefault(functions[1], set()).add((site["api"], functions[0]))
    assert seen == {**{name: {("operator new", "operator new")} for name in NEWS},
                    **{name: {("operator new[]", "operator new[]")} for name in NEW_ARRAYS}}


def test_other_probes(launch, tmp_path):
    """Return addresses that another tool's return probes have replaced are restored."""
    need("bpf", "bpftrace")
    del tmp_path
    program = harness.target("stacks")
    script = f'uretprobe:{program}:_ZL5plaini {{ @ = count(); }} BEGIN {{ printf("ready\\n"); }}'
    with subprocess.Popen(["bpftrace", "-e", script], stdout=subprocess.PIPE, text=True) as tool:
        assert any(line == "ready\n" for line in tool.stdout)
        process = launch(program, "tree", options=DEPTH).process
        tool.send_signal(2)
        tool.communicate()
    assert_complete(process)


MODULES = 1000
MEMORY_MAX = 64 << 20


def elf_files(count):
    """Programs and libraries of this machine, of all sizes."""
    files = set()
    for directory, _, names in os.walk("/usr"):
        for path in (os.path.join(directory, name) for name in names):
            if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) < 8192:
                continue
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    files.add(path)
            if len(files) == count:
                return sorted(files)
    return sorted(files)


def private_memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


def shared_maps(pid):
    """Bytes of BPF maps that the process has mapped."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        ranges = [line.split()[0].split("-") for line in maps if "anon_inode:bpf-map" in line]
    return sum(int(end, 16) - int(start, 16) for start, end in ranges)


def test_many_modules(attach):
    """The unwind tables of a thousand modules fit into the maps, and the tracer's memory is
    limited."""
    with subprocess.Popen([harness.target("mapper")], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        target.stdin.write("\n".join(elf_files(MODULES)) + "\n\n")
        target.stdin.flush()
        assert int(target.stdout.readline()) > 200
        with attach(target.pid, options=("-v",)) as tracer:
            memory = private_memory(tracer.process.pid) + shared_maps(tracer.process.pid)
            target.communicate("once\n", timeout=harness.TIMEOUT)
            result = tracer.finish()
    assert "no room" not in "".join(tracer.log)
    assert memory < MEMORY_MAX
    assert_complete(result.process)
