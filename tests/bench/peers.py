# SPDX-License-Identifier: GPL-2.0-or-later
"""The measured tools, ours and others: a table with the availability of each tool and how to run
it.

A tool either attaches to a process or launches a command. It is a row of TOOLS. Each part of the
benchmark lists the names of its rows.
"""
import atexit
import contextlib
import dataclasses
import functools
import glob
import os
import platform
import re
import shutil
import subprocess
import tempfile
import typing

from measure import Failed, silent_tool, tool, workload

BUILD = os.environ.get("BUILD", "build")
BENCH = f"{BUILD}/tests/bench"
PROGRAM = f"{BUILD}/mtrace-bpf"
BARE = f"{BUILD}/bench/mtrace-bpf"
FLOOR = f"{BENCH}/floor"
PAIRS = f"{BENCH}/pairs"
LIBRARY = os.path.abspath(f"{BENCH}/libc.so.6")
MTRACE_NG = os.environ.get("MTRACE_NG", "mtrace-ng")
MEMLEAK = "memleak-bpfcc"
HERE = os.path.dirname(os.path.abspath(__file__))
PTRACE = ("--backend", "ptrace")


@functools.cache
def scratch():
    """A directory for files that nobody reads."""
    directory = tempfile.mkdtemp(prefix="mtrace-bench-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


# A C library of our own --------------------------------------------------------------------------


@functools.cache
def system_library():
    listing = subprocess.run(["ldd", PAIRS], capture_output=True, text=True, check=True).stdout
    return os.path.realpath(re.search(r"=> (\S+/libc\.so\.6)", listing)[1])


def our_sites(library):
    """The probe sites of malloc and free, with their functions: [("malloc", 0), ("free", 3)]."""
    out = subprocess.run([FLOOR, "0", library], capture_output=True, text=True, check=True).stdout
    return [(name, int(offset)) for name, offset in re.findall(r"(\w+)\+(\d+)", out)]


def section(library, name):
    """Returns (address, file offset, size) of a section."""
    listing = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True,
                             check=True).stdout
    match = re.search(rf"\s{re.escape(name)}\s+\w+\s+(\w+) (\w+) (\w+)", listing)
    return tuple(int(word, 16) for word in match.groups())


def give_sizes(library):
    """objcopy adds symbols with size 0, on which bpftrace does not place probes."""
    _, start, size = section(library, ".symtab")
    with open(library, "r+b") as file:
        for entry in range(start, start + size, 24):
            file.seek(entry + 16)
            file.write((16).to_bytes(8, "little"))


def make_library():
    """This bpftrace only probes symbols: makes a copy of the C library with symbols at our
    sites."""
    library = system_library()
    names = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    command = ["objcopy"]
    for name, offset in our_sites(library):
        address = int(re.search(rf"^(\w+) \w {name}@", names, re.MULTILINE)[1], 16)
        place = address + offset - section(library, ".text")[0]
        command.append(f"--add-symbol={name}_site=.text:{place},function,global")
    subprocess.run([*command, library, LIBRARY], check=True)
    give_sizes(LIBRARY)


# How they attach: a function of pid and C library that returns a context -------------------------


def native(_pid, _library):
    return contextlib.nullcontext()


def floor(*words):
    return lambda pid, library: tool([FLOOR, str(pid), library, *map(str, words)], "ready")


def ours(*options, program=PROGRAM):
    return lambda pid, _: tool([program, "-p", str(pid), "-o", "/dev/null", *options], "tracing",
                               "stderr")


def recording(pid, _):
    return tool([PROGRAM, "-p", str(pid), "--record", f"{scratch()}/record"], "tracing", "stderr")


def system_wide(name, *options):
    """Traces processes by name. The library is probed as soon as one of these processes maps it."""
    return lambda *_: tool([PROGRAM, "--comm", name, "-o", "/dev/null", *options], "tracing",
                           "stderr")


@contextlib.contextmanager
def beside(attach, library):
    """Traces another process that uses the same library, but not the measured one."""
    selected = f"{scratch()}/selected"
    shutil.copy(PAIRS, selected)
    with workload([selected], library_of(library)) as other:
        other.ask(1000)
        with attach(other.pid, library):
            yield


def bystander(attach):
    return lambda _, library: beside(attach, library)


def bpftrace(*symbols):
    def attach(pid, library):
        script = 'BEGIN { printf("ready\\n"); } ' + " ".join(
            f"uprobe:{library}:{name} {{ @{name} = count(); }}" for name in symbols)
        return tool(["bpftrace", "-p", str(pid), "-e", script], "ready")
    return attach


def traced_by(command):
    """For ptrace tracers that do not say when they are ready."""
    return lambda pid, _: silent_tool([*command, "-p", str(pid)], lambda: tracer_of(pid))


def tracer_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"TracerPid:\s+(\d+)", status.read())[1])


@contextlib.contextmanager
def heaptrack_attached(pid, _):
    """After ^C, its script leaves its pipe behind."""
    command = ["heaptrack", "--raw", "-o", f"{scratch()}/heaptrack", "-p", str(pid)]
    with tool(command, "injection finished", "both") as process:
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(f"/tmp/heaptrack_fifo{process.pid}")


def memleak(*options):
    def attach(pid, library):
        command = ["/usr/bin/python3", "-u", f"{HERE}/memleak.py", shutil.which(MEMLEAK), "-p",
                   str(pid), "-O", library, "-T", "1", *options, "1"]
        headers = kernel_headers()
        return tool(command, r"Top \d+ stacks",
                    env={"BCC_KERNEL_SOURCE": headers} if headers else None)
    return attach


@functools.cache
def kernel_headers():
    """BCC itself finds the headers of the running kernel. Otherwise those of another kernel
    provide the few types that it needs; Debian has them in two trees, which are overlaid."""
    if os.path.isdir(f"/lib/modules/{platform.release()}/build"):
        return None
    trees = sorted(glob.glob("/usr/src/linux-headers-*-common"))
    if not trees:
        return None
    common = trees[-1]
    merged = f"{scratch()}/headers"
    for tree in [common, *glob.glob(common.replace("-common", f"-{debian_machine()}"))]:
        subprocess.run(["cp", "-rsf", f"{tree}/.", merged], check=True)
    return merged


def debian_machine():
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


# How they launch: a function of a command that returns the command to run ------------------------


def heaptrack_launched(command):
    return ["heaptrack", "--raw", "-o", f"{scratch()}/heaptrack", *command]


def valgrind(command):
    return ["valgrind", "-q", f"--log-file={scratch()}/valgrind", *command]


def leak_sanitized(command):
    """Our programs also exist in a version built with it."""
    path = f"{command[0]}-lsan"
    if not os.path.exists(path):
        raise Failed("needs a build of its own")
    return [path, *command[1:]]


# Whether they are available ----------------------------------------------------------------------


def executable(*names):
    def missing():
        lacking = [name for name in names if not shutil.which(name)]
        return f"{' and '.join(lacking)} not found" if lacking else None
    return missing


def memleak_missing():
    if not shutil.which(MEMLEAK):
        return f"{MEMLEAK} not found (Debian: bpfcc-tools)"
    if not os.path.isdir(f"/lib/modules/{platform.release()}/build") and not kernel_headers():
        return "no kernel headers that it could compile with (Debian: linux-headers-amd64)"
    return None


def built(path):
    return lambda: None if os.path.exists(path) else f"{path} is not built"


def here():
    return None


@dataclasses.dataclass(frozen=True)
class Tool:
    """A row. `pairs`: how many malloc+free pairs it makes in about a tenth of a second;
    `rounds`: how many rounds it gets."""
    name: str
    pairs: int
    attach: typing.Callable = None
    launch: typing.Callable = None
    missing: typing.Callable = here
    rounds: int = 99

    @contextlib.contextmanager
    def session(self, command, library=LIBRARY):
        """The program that the tool traces, ready for requests."""
        if self.launch:
            with workload(self.launch(command), library_of(library)) as program:
                yield program
            return
        with workload(command, library_of(library)) as program:
            if os.path.basename(command[0]) == "pairs":
                program.ask(1000)
            with self.attach(program.pid, library):
                yield program


def library_of(library):
    """The environment that makes programs use it."""
    return {"LD_LIBRARY_PATH": os.path.dirname(library)} if library == LIBRARY else {}


NATIVE = "native"
FLOOR_ROW = "floor: empty probes, our sites"
ENTRIES = "floor: our sites, without malloc's return"
AT_SYMBOLS = "floor: empty probes, at the symbols"
NO_STACK = "mtrace-bpf --stack none"
FP = "mtrace-bpf --stack fp"
CFI = "mtrace-bpf --stack cfi"
BPFTRACE = "bpftrace count(), at the symbols"
BPFTRACE_SITES = "bpftrace count(), our sites"
MEMLEAK_ROW = "BCC memleak -p"
OURS_BY_PTRACE = "mtrace-bpf --backend ptrace, no stack"
LTRACE = "ltrace -c"
MTRACE_NG_ROW = "mtrace-ng -t"
BYSTANDER = "bystander of mtrace-bpf -p"
HEAPTRACK = "heaptrack"
VALGRIND = "valgrind (memcheck)"

TOOLS = {row.name: row for row in [
    Tool(NATIVE, 2_000_000, native),
    Tool(FLOOR_ROW, 60_000, floor()),
    Tool(ENTRIES, 60_000, floor("entries")),
    Tool(AT_SYMBOLS, 20_000, floor("symbols")),
    Tool(NO_STACK, 60_000, ours("--stack", "none")),
    Tool(FP, 60_000, ours("--stack", "fp")),
    Tool(CFI, 60_000, ours("--stack", "cfi")),
    Tool("mtrace-bpf --record", 60_000, recording),
    Tool("mtrace-bpf --sample 512k", 60_000, ours("--sample", "512k")),
    Tool("mtrace-bpf --min-size 64k", 60_000, ours("--min-size", "64k")),
    Tool("mtrace-bpf -f --stack none", 60_000, ours("-f", "--stack", "none")),
    Tool("--system-wide --stack none, traced", 60_000, system_wide("pairs", "--stack", "none")),
    Tool("--system-wide, a bystander", 60_000,
         bystander(system_wide("selected", "--stack", "none"))),
    Tool(BYSTANDER, 2_000_000, bystander(ours("--stack", "none"))),
    Tool(BPFTRACE, 20_000, bpftrace("malloc", "free"), missing=executable("bpftrace")),
    Tool(BPFTRACE_SITES, 60_000, bpftrace("malloc_site", "free_site"),
         missing=executable("bpftrace")),
    Tool(MEMLEAK_ROW, 20_000, memleak(), missing=memleak_missing, rounds=3),
    Tool(HEAPTRACK, 300_000, launch=heaptrack_launched, missing=executable("heaptrack")),
    Tool("heaptrack -p", 300_000, heaptrack_attached, missing=executable("heaptrack", "gdb")),
    Tool("LeakSanitizer", 300_000, launch=leak_sanitized, missing=built(f"{PAIRS}-lsan")),
    Tool(VALGRIND, 100_000, launch=valgrind, missing=executable("valgrind"), rounds=3),
    Tool(OURS_BY_PTRACE, 5_000, ours(*PTRACE, "--stack", "none")),
    Tool("mtrace-bpf --backend ptrace", 5_000, ours(*PTRACE)),
    Tool(LTRACE, 2_000, traced_by(["ltrace", "-c", "-o", "/dev/null", "-e", "malloc+free"]),
         missing=executable("ltrace"), rounds=3),
    Tool(MTRACE_NG_ROW, 2_000, traced_by([MTRACE_NG, "-t", "-o", "/dev/null"]),
         missing=executable(MTRACE_NG), rounds=3),
]}


def present(names, tools=None):
    """Returns ({name: Tool} for available tools, {name: reason} for the others)."""
    table = tools or TOOLS
    reasons = {name: table[name].missing() for name in names}
    return ({name: table[name] for name in names if not reasons[name]},
            {name: reason for name, reason in reasons.items() if reason})
