# SPDX-License-Identifier: GPL-2.0-or-later
"""--hold-exec: programs that were never seen before are traced from their first call, and no
program waits forever for a tracer or guard that does not answer."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import harness
from harness import children, target
from machine import library, need
from report import ROOT, assert_sites

pytestmark = pytest.mark.whole_machine

HOLD = ("-f", "--hold-exec")
PATIENCE = 5  # the longest time, in seconds, that a program waits
EXECVE = "59 "
FANOTIFY = "anon_inode:[fanotify]"
LIMIT = 3 * harness.TIMEOUT  # seconds per test


def descriptors(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    return []


def guards_of(tracer):
    return [pid for pid in children(tracer) if FANOTIFY in descriptors(pid)]


def kill_guards(runner):
    for tracer in children(runner):
        for guard in guards_of(tracer):
            with contextlib.suppress(ProcessLookupError):
                os.kill(guard, signal.SIGKILL)


def kill_guards_after_limit(runner):
    try:
        time.sleep(LIMIT)
        kill_guards(runner)
    finally:
        os._exit(0)


@pytest.fixture(autouse=True)
def watchdog():
    """Unblocks a test whose programs wait for a guard that does not answer. This is a process,
    because no thread of ours runs while subprocess waits for an exec, and its timeout has not
    started yet. It does not exec."""
    runner = os.getpid()
    pid = os.fork()
    if not pid:
        kill_guards_after_limit(runner)
    yield
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.fixture
def never(tmp_path):
    """Create a program from a file that was never executed before."""
    def make(name="basic-static", called="never"):
        path = tmp_path / called
        shutil.copy(target(name), path)
        os.chmod(tmp_path, 0o755)
        return str(path)
    return make


def by_name(result):
    return {os.path.basename(process["exe"]): process for process in result.processes}


def guessed(path):
    """A shell pattern for the path: the tracer cannot tell from the command line which file it
    matches."""
    return path[:-2] + "?" + path[-1]


# -f.

@pytest.mark.parametrize("name", ["basic", "basic-static", "basic-static-pie"])
def test_program_never_seen(launch, never, name):
    result = launch("sh", "-c", f"{guessed(never(name))}; true", options=HOLD)
    assert_sites(by_name(result)["never"], result.truth)


def test_launched_program_executes_another(launch, never):
    """Works without -f as well."""
    result = launch("sh", "-c", f"exec {guessed(never())}", options=("--hold-exec",))
    assert_sites(result.processes[-1], result.truth)


def test_launched_program(launch, never):
    result = launch(never(), options=("--hold-exec",))
    assert_sites(result.process, result.truth)


def test_program_that_cannot_be_executed(launch, tmp_path):
    path = tmp_path / "never"
    path.write_bytes(b"\177ELF, and no more")
    path.chmod(0o755)
    assert launch(str(path), options=("--hold-exec",)).status == 126
    result = launch("sh", "-c", f"{path}; true", options=HOLD)
    assert result.status == 0


def test_32_bit_program_never_seen(launch, never):
    need("multilib")
    result = launch("sh", "-c", f"{guessed(never('m32/basic-static'))}; true", options=HOLD)
    assert_sites(by_name(result)["never"], result.truth)


def test_script_with_an_interpreter_never_seen(launch, never, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{never()}\n")
    script.chmod(0o755)
    result = launch("sh", "-c", f"{guessed(str(script))}; true", options=HOLD)
    assert_sites(by_name(result)["never"], result.truth)


def test_preloaded_allocator_never_seen(launch, never, tmp_path):
    """The dynamic linker's variables are taken from the exec call, not from the calling process."""
    need("jemalloc")
    shutil.copy(library("libjemalloc.so.2"), tmp_path / "own.so")
    script = f"set -- {tmp_path}/ow?.so; LD_PRELOAD=$1 {guessed(never('threads'))} 4 500; true"
    result = launch("sh", "-c", script, options=HOLD)
    process = by_name(result)["never"]
    assert_sites(process, result.truth)
    assert process["losses"]["unmatched_frees"] == 0


def test_library_from_the_programs_directory(launch, tmp_path):
    need("jemalloc", "binutils")
    shutil.copy(library("libjemalloc.so.2"), tmp_path)
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-g", "-D_GNU_SOURCE", "-pthread", "-fno-builtin",
                    "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    os.path.join(ROOT, "tests/targets/threads.c"), "-o", tmp_path / "never",
                    "-Wl,--no-as-needed", tmp_path / "libjemalloc.so.2", "-Wl,-rpath,$ORIGIN"],
                   check=True)
    result = launch("sh", "-c", f"cd {tmp_path}; ./ne?er 4 500; true", options=HOLD)
    assert_sites(by_name(result)["never"], result.truth)


def test_program_in_another_root(launch, tmp_path):
    """The paths of its files differ inside and outside of the root."""
    need("root")
    inside = tmp_path / "root" / "inside"
    inside.mkdir(parents=True)
    shutil.copy(target("basic-static"), inside / "never")
    script = f"cd {tmp_path}; unshare -m sh -c 'exec chroot ro?t /inside/neve?'; true"
    result = launch("sh", "-c", script.replace("neve?", "never"), options=HOLD)
    assert_sites(by_name(result)["never"], result.truth)


def test_storm_of_programs(launch, never, tmp_path):
    """Many new files are executed at once. Each exec waits only briefly, and nothing is dropped."""
    never()
    script = f"""
        cd {tmp_path}
        for i in $(seq 100); do cp never new$i; ./new$i >out$i & ./never >again$i & done
        wait
        cat out* again*"""
    result = launch("sh", "-c", script, options=HOLD, timeout=120)
    truths = result.truths
    assert len(truths) == 200
    seen = [p for p in result.processes if os.path.basename(p["exe"]).startswith(("new", "never"))
            and p["comm"].startswith(("new", "never"))]
    assert len(seen) == 200
    for process in seen:
        assert_sites(process, truths[0])


def test_program_executed_by_an_attached_process(attach, never):
    path = never()
    with subprocess.Popen(["sh", "-c", f"read go; {guessed(path)}; true"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as shell:
        with attach(shell.pid, options=HOLD) as tracer:
            said, _ = shell.communicate("go\n", timeout=harness.TIMEOUT)
            result = tracer.finish()
    assert_sites(by_name(result)["never"], json.loads(said))


# Processes selected system-wide.

def run_beside(*command):
    """Run a program, and return its truth."""
    run = subprocess.run(command, capture_output=True, text=True, check=True,
                         timeout=harness.TIMEOUT)
    return json.loads(run.stdout)


@pytest.mark.parametrize("options", [("--comm", "never"), ("--exe", "never"), ("--exe", "PATH")])
def test_selected_program_never_seen(attach, never, options):
    path = never()
    options = [word.replace("PATH", path) for word in options]
    with attach(options=(*options, "--hold-exec")) as tracer:
        truth = run_beside(path)
        process = by_name(tracer.stop())["never"]
    assert_sites(process, truth)


def test_selected_script(attach, never, tmp_path):
    """A script is selected by its own name, which is the name of the process, although the kernel
    executes its interpreter."""
    script = tmp_path / "script"
    script.write_text(f"#!{never()}\n")
    script.chmod(0o755)
    with attach(options=("--comm", "script", "--hold-exec")) as tracer:
        truth = run_beside(script)
        process = tracer.stop().process
    assert_sites(process, truth)


def test_selected_program_in_a_file_system_mounted_later(attach, tmp_path):
    """Like a container: an overlay mounted in its own mount namespace."""
    need("overlayfs")
    for name in ("lower", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    shutil.copy(target("basic-static"), tmp_path / "lower" / "never")
    with attach(options=("--comm", "never", "--hold-exec")) as tracer:
        script = (f"cd {tmp_path}; mount -t overlay overlay "
                  "-o lowerdir=lower,upperdir=upper,workdir=work merged; exec merged/never")
        truth = run_beside("unshare", "-m", "sh", "-c", script)
        process = tracer.stop().process
    assert_sites(process, truth)


# Tracers and guards that do not answer.

def is_held(pid):
    """Whether the process waits in execve."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            return file.read().startswith(EXECVE)
    return False


def wait_held(pid):
    deadline = time.monotonic() + PATIENCE
    while not is_held(pid):
        assert time.monotonic() < deadline
        os.sched_yield()


@contextlib.contextmanager
def deaf_tracer(attach, path):
    """A tracer that is stopped."""
    with attach(options=("--exe", path, "--hold-exec")) as tracer:
        tracer.process.send_signal(signal.SIGSTOP)
        try:
            yield tracer
        finally:
            tracer.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def executing(path):
    """A shell that executes the path. The shell itself is not held."""
    with subprocess.Popen(["sh", "-c", f"exec {path}"], stdout=subprocess.PIPE, text=True) as run:
        deadline = harness.Deadline(run)
        yield run
        deadline.cancel()


def seconds_to_end(run):
    begin = time.monotonic()
    truth = json.loads(run.communicate(timeout=harness.TIMEOUT)[0])
    assert run.returncode == 0
    return time.monotonic() - begin, truth


def test_tracer_killed_while_a_program_waits(attach, never):
    path = never()
    with deaf_tracer(attach, path) as tracer, executing(path) as run:
        wait_held(run.pid)
        tracer.process.kill()
        seconds, _ = seconds_to_end(run)
        assert seconds < PATIENCE / 2


def test_killed_guard_does_not_hold_programs(attach, never):
    """Programs run without the guard. Calls that are missed are reported as a gap."""
    path = never()
    with attach(options=("--exe", path, "--hold-exec")) as tracer:
        guard, = guards_of(tracer.process.pid)
        os.kill(guard, signal.SIGKILL)
        harness.wait_for_end(guard)  # the kernel may take a while to release the held programs
        truth = run_beside(path)
        result = tracer.stop()
    assert "the exec guard was killed" in result.stderr
    process = by_name(result)["never"]
    if not process["losses"]["gap_ns"]:
        assert_sites(process, truth)


def stop_guard(tracer):
    guard, = guards_of(tracer.process.pid)
    os.kill(guard, signal.SIGSTOP)


def test_stopped_guard_is_replaced(attach, never, tmp_path):
    """Execs continue without it, and the next guard holds programs again."""
    first, second = never(called="never1"), never(called="never2")
    with attach(options=("--exe", f"{tmp_path}/never*", "--hold-exec")) as tracer:
        stop_guard(tracer)
        truths = {"never1": run_beside(first)}
        tracer.wait_for("the exec guard was killed or stopped responding", "restarted")
        truths["never2"] = run_beside(second)
        result = tracer.stop()
    processes = by_name(result)
    assert not processes["never2"]["losses"]["gap_ns"]
    for name, process in processes.items():
        if not process["losses"]["gap_ns"] and not process["losses"]["no_allocator"]:
            assert_sites(process, truths[name])


def test_guard_that_stops_again_is_not_replaced(attach, never):
    path = never()
    with attach(options=("--exe", path, "--hold-exec")) as tracer:
        stop_guard(tracer)
        tracer.wait_for("the exec guard was killed or stopped responding", "restarted")
        stop_guard(tracer)
        tracer.wait_for("the exec guard was killed or stopped responding", "no longer held")
        assert not guards_of(tracer.process.pid)
        run_beside(path)
        assert tracer.stop().status == 0


def test_only_the_guard_can_hold(attach, never):
    with attach(options=("--exe", never(), "--hold-exec")) as tracer:
        pids = [tracer.process.pid, *children(tracer.process.pid)]
        holders = [pid for pid in pids if FANOTIFY in descriptors(pid)]
        assert len(holders) == 1 and holders != pids[:1]
        tracer.stop()


def test_stopped_tracer_delays_only_one_program(attach, never):
    """Later programs are not held. When the tracer continues, it reports a gap for each of them."""
    path = never()
    with deaf_tracer(attach, path) as tracer:
        with executing(path) as run:
            wait_held(run.pid)
            first, _ = seconds_to_end(run)
        with executing(path) as run:
            second, _ = seconds_to_end(run)
        assert PATIENCE / 2 < first < 2 * PATIENCE
        assert second < PATIENCE / 2
        tracer.process.send_signal(signal.SIGCONT)
        result = tracer.stop()
    assert "was released before" in result.stderr
    assert len(result.processes) == 2
    for process in result.processes:
        assert process["losses"]["gap_ns"] or process["losses"]["no_allocator"]


def test_program_killed_while_it_waits(attach, never):
    path = never()
    with deaf_tracer(attach, path), executing(path) as run:
        wait_held(run.pid)
        run.kill()
        assert run.wait(PATIENCE / 2) == -signal.SIGKILL


def without_privilege(*options):
    need("root", "setpriv")
    return subprocess.run(["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin",
                           harness.MTRACE, *options, "--hold-exec", "--", "true"],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_without_privilege():
    need("bpf")
    done = without_privilege("--backend", "bpf")
    assert done.returncode == 125 or done.returncode == 1
    assert harness.one_line(done.stderr)
    assert "--hold-exec" in done.stderr and "CAP_SYS_ADMIN" in done.stderr


def test_without_privilege_by_ptrace():
    """ptrace does not need the privilege."""
    need("bpf")
    done = without_privilege()
    assert done.returncode == 0
    assert "tracing by ptrace" in done.stderr
    assert "--hold-exec" in done.stderr and "CAP_SYS_ADMIN" in done.stderr
