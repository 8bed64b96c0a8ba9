# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that see other files and pids than the tracer: chroot, mount and pid namespaces,
overlayfs; libraries that were replaced under their paths; a tracer inside a namespace."""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

import harness
from harness import Steady, children, status, target
from machine import need
from report import assert_sites, difference

ID = "3f9ab2c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80"


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def make_root(root, *programs):
    """A directory for chroot with the programs and their libraries, at the same paths."""
    for program in programs:
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
        for path in [program, *re.findall(r"(/\S+) \(0x", linked.stdout)]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
    os.makedirs(root + "/proc", exist_ok=True)
    return root


@pytest.fixture
def root(tmp_path):
    need("root")
    return make_root(str(tmp_path / "root"), target("basic"), target("steady"))


@contextlib.contextmanager
def mounted(*arguments):
    run("mount", *arguments)
    try:
        yield arguments[-1]
    finally:
        run("umount", "--lazy", arguments[-1])


@contextlib.contextmanager
def overlay(tmp_path, lower):
    for name in ("upper", "work", "merged"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={lower},upperdir={tmp_path}/upper,workdir={tmp_path}/work"
    with mounted("-t", "overlay", "overlay", "-o", options, str(tmp_path / "merged")) as path:
        yield path


@pytest.fixture(params=["disk", "memory"])
def merged(request, root, tmp_path):
    """An overlay whose lower layer is either on the same disk as the upper one, or on another file
    system. In the second case the inode numbers of stat() differ from the kernel's."""
    need("overlayfs")
    if request.param == "disk":
        with overlay(tmp_path, root) as path:
            yield path
        return
    (tmp_path / "memory").mkdir()
    with mounted("-t", "tmpfs", "memory", str(tmp_path / "memory")) as lower:
        make_root(lower, target("basic"), target("steady"))
        with overlay(tmp_path, lower) as path:
            yield path


def assert_complete(process):
    """Every stack is complete, and the frames of the target's own functions have files and
    lines."""
    assert process["stack_quality"]["complete"] == process["stack_quality"]["stacks"] > 0
    own = [frame for site in process["sites"] for frame in process.frames(site)
           if (frame["function"] or "").startswith("t_")]
    assert own
    assert all(frame["file"] and frame["line"] for frame in own)


def assert_traced(attach, steady, **more):
    """Attach to a steady target while it works: the report equals its truth, with complete
    stacks."""
    before = steady.tell("w")
    with attach(steady.pid, **more) as tracer:
        after = steady.tell("w")
        process = tracer.stop().process
    assert_sites(process, difference(after, before))
    assert_complete(process)
    return process


def assert_launched(result):
    """The last image is the test's program."""
    process = result.processes[-1]
    assert_sites(process, result.truths[-1])
    assert_complete(process)
    return process


# chroot and mount namespaces.

def test_attach_in_a_chroot(attach, root):
    with Steady(command=["chroot", root, target("steady")]) as steady:
        process = assert_traced(attach, steady)
        assert process["exe"] == root + target("steady")


def test_launch_in_a_chroot(launch, root):
    assert_launched(launch("chroot", root, target("basic")))


def test_launch_in_a_chroot_by_a_relative_path(launch, root):
    directory, name = os.path.split(root)
    assert_launched(launch("nice", "-n", "1", "chroot", name, target("basic"), cwd=directory))


def test_launch_in_the_root_of_unshare(launch, root):
    assert_launched(launch("unshare", "-m", f"--root={root}", target("basic")))
    assert_launched(launch("unshare", "-m", "-R", root, target("basic")))


def test_attach_on_overlayfs(attach, merged):
    with Steady(command=["chroot", merged, target("steady")]) as steady:
        assert_traced(attach, steady)


def test_launch_on_overlayfs(launch, merged):
    assert_launched(launch(merged + target("basic")))
    assert_launched(launch("chroot", merged, target("basic")))


@pytest.mark.whole_machine
def test_selected_by_path_on_overlayfs(attach, merged):
    """Selection uses the kernel's inode numbers, which differ from those of stat(). It matches
    running and later processes, but not another file of the same name."""
    path = merged + target("steady")
    with Steady(command=[path]) as early, Steady() as other:
        early.tell("w")
        with attach(options=("--exe", path)) as tracer, Steady(command=[path]) as late:
            truth = late.tell("w")
            assert late.quit() == 0
            processes = {process["pid"]: process for process in tracer.stop().processes}
        assert set(processes) == {early.pid, late.pid}
        assert other.pid not in processes
    assert_sites(processes[late.pid], truth)


def test_attach_to_copied_up_files(attach, merged):
    """When a file of a lower layer is changed, it is copied to the upper one. stat() still reports
    the old inode number, although the kernel treats it as another file."""
    for path in (target("steady"), "/lib/x86_64-linux-gnu/libc.so.6"):
        os.chmod(merged + path, 0o711)
    with Steady(command=["chroot", merged, target("steady")]) as steady:
        assert_traced(attach, steady)


def test_two_roots_with_the_same_inode_numbers(attach, tmp_path):
    """Files on two file systems may have the same inode number and name, but different contents."""
    need("root")
    with contextlib.ExitStack() as stack:
        steadies = []
        for name, threads in (("one", 1), ("two", 2)):
            (tmp_path / name).mkdir()
            path = stack.enter_context(mounted("-t", "tmpfs", "memory", str(tmp_path / name)))
            if name == "two":
                make_root(path, target("loader"))
            make_root(path, target("steady"))
            steadies.append(stack.enter_context(
                Steady(command=["chroot", path, target("steady"), str(threads)])))
        before = [steady.tell("w") for steady in steadies]
        with attach(*(steady.pid for steady in steadies)) as tracer:
            after = [steady.tell("w") for steady in steadies]
            processes = {process["pid"]: process for process in tracer.stop().processes}
        for steady, old, new in zip(steadies, before, after):
            assert_sites(processes[steady.pid], difference(new, old))
            assert_complete(processes[steady.pid])


def test_attach_in_another_mount_namespace(attach, root, tmp_path):
    """At the path of the process's program, the tracer sees another file."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "steady").write_text("not this")
    script = f"mount --bind {root}{os.path.dirname(target('steady'))} {place} && exec {place}/steady"
    with Steady(command=["unshare", "-m", "sh", "-c", script]) as steady:
        process = assert_traced(attach, steady)
        assert process["exe"] == str(place / "steady")
    assert (place / "steady").read_text() == "not this"


def test_launch_in_another_mount_namespace(launch):
    need("root")
    assert_launched(launch("unshare", "-m", target("basic")))


def test_replaced_and_deleted_files(attach, root):
    """One mapped file is replaced by another program, and the others are deleted."""
    with Steady(command=["chroot", root, target("steady")]) as steady:
        with open(f"/proc/{steady.pid}/maps", encoding="utf-8") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if root in line}
        assert len(paths) == 3
        for path in paths:
            os.unlink(path)
        shutil.copy("/bin/sh", root + target("steady"))
        assert_traced(attach, steady)


# Pid namespaces.

@contextlib.contextmanager
def steady_inside(*options):
    """A steady target that is the first process of a pid namespace. Its pid attribute is the outer
    pid."""
    need("root")
    with Steady(command=["unshare", "-p", "-f", "--kill-child", *options,
                         target("steady")]) as steady:
        [steady.pid] = children(steady.pid)
        yield steady


def test_attach_in_another_pid_namespace(attach):
    with steady_inside("-m", "--mount-proc") as steady:
        process = assert_traced(attach, steady)
        assert (process["pid"], process["inner_pid"]) == (steady.pid, 1)


def test_inner_pid_in_the_text(uprobes):
    del uprobes
    with steady_inside() as steady:
        tracer = subprocess.Popen([harness.MTRACE, "-p", str(steady.pid)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        assert f"({steady.pid})" in tracer.stderr.readline()
        tracer.terminate()
        text = tracer.communicate(timeout=harness.TIMEOUT)[0]
    assert f"steady ({steady.pid})" in text
    assert "pid 1 inside its namespace" in text


def test_no_inner_pid_in_our_own_namespace(launch):
    assert launch(target("short")).process["inner_pid"] is None


INSIDE = ("unshare", "-p", "-f", "--kill-child", "-m", "--mount-proc")


def launch_inside(tmp_path, *command, options=(), prepare=":"):
    """Run the tracer in a pid namespace of its own."""
    path = tmp_path / "report.json"
    script = prepare + '; "$@"; exit $?'
    done = subprocess.run([*INSIDE, "sh", "-c", script, "sh", harness.MTRACE, "--format", "json",
                           "-o", str(path), *options, "--", *command], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=harness.TIMEOUT)
    return harness.Result(done, str(path))


@pytest.mark.parametrize("name", ["basic", "threads"])
def test_tracer_in_pid_namespace(pairing, tmp_path, name):
    need("root")
    arguments = ("4", "500") if name == "threads" else ()
    result = launch_inside(tmp_path, target(name), *arguments, options=pairing)
    assert_sites(result.process, result.truth)
    assert result.process["pid"] < 100
    assert result.process["inner_pid"] is None


def test_tracer_in_pid_namespace_launches_in_another_mount_namespace(uprobes, tmp_path):
    del uprobes
    need("root")
    result = launch_inside(tmp_path, "unshare", "-m", target("basic"))
    assert_sites(result.processes[-1], result.truth)


def test_tracer_in_pid_namespace_attaches(uprobes, tmp_path):
    """The tracer attaches to a process in a nested pid namespace."""
    del uprobes
    need("root")
    fifo, path = tmp_path / "fifo", tmp_path / "report.json"
    os.mkfifo(fifo)
    script = f"""
        unshare -p -f --kill-child {target("steady")} <{fifo} &
        exec 3>{fifo}
        until pid=$(cat /proc/$!/task/$!/children) && [ "$pid" ]; do :; done
        {harness.MTRACE} --format json -o {path} -p $pid 2>&1 >&2 | {{
            read line; echo "$line" >&2; printf wq >&3; cat >&2; }}
        wait"""
    done = subprocess.run([*INSIDE, "sh", "-c", script], capture_output=True, text=True,
                          check=True, stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT)
    result = harness.Result(done, str(path))
    ready, *truths = done.stdout.splitlines()
    assert (ready, len(truths)) == ("READY", 1)
    result.stdout = truths[0]
    truth = result.truth
    truth["sites"] = [site for site in truth["sites"] if site["function"] != "t_old"]
    assert_sites(result.process, truth)
    assert result.process["inner_pid"] == 1


@pytest.mark.parametrize("arguments", [("-p", "1"), ("--", "true")])
def test_tracer_needs_proc_of_its_own_pid_namespace(arguments):
    need("root")
    done = subprocess.run(["unshare", "-p", "-f", harness.MTRACE, *arguments], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert harness.one_line(done.stderr)
    assert "another pid namespace" in done.stderr


def test_pids_above_16_bits(uprobes, tmp_path):
    del uprobes
    need("root", "ns_last_pid")
    prepare = ("echo 4194304 >/proc/sys/kernel/pid_max;"
               " echo 1234567 >/proc/sys/kernel/ns_last_pid")
    result = launch_inside(tmp_path, target("threads"), "8", "500", prepare=prepare)
    assert_sites(result.process, result.truth)
    assert result.process["pid"] > 1234567


# Containers.

@pytest.fixture
def container():
    """A cgroup with the name that a container runtime uses."""
    need("cgroup2")
    with open("/proc/mounts", encoding="utf-8") as mounts:
        [hierarchy, *_] = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
    path = os.path.join(hierarchy, f"mtrace-test-{os.getpid()}")
    inner = os.path.join(path, f"docker-{ID}.scope")
    os.makedirs(inner)
    yield inner
    with open(os.path.join(inner, "cgroup.events"), encoding="ascii") as events:
        while "populated 1" in events.read():
            events.seek(0)
            os.sched_yield()
    os.rmdir(inner)
    os.rmdir(path)


def test_container(attach, container):
    with steady_inside("-m", "-C", "--mount-proc") as steady:
        with open(os.path.join(container, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write(str(steady.pid))
        process = assert_traced(attach, steady)
        assert process["container"] == ID
        assert process["cgroup"].endswith(f"/docker-{ID}.scope")


def test_container_of_short_programs(launch, container):
    """Most of them exit before the tracer can look at their cgroup."""
    need("bpf")
    script = f"echo $$ >{container}/cgroup.procs; for i in $(seq 20); do {target('short')}; done"
    result = launch("sh", "-c", script, options=("-f",))
    programs = [process for process in result.processes if process["comm"] == "short"]
    assert len(programs) == 20
    assert {process["container"] for process in programs} == {ID}


# Libraries that are loaded and unloaded.

@pytest.fixture
def plugins(tmp_path):
    """Copies of the plugin, each with its own inode."""
    return [shutil.copy(target("libplugin.so"), tmp_path / f"{name}.so") for name in "abc"]


def loader(*arguments):
    return Steady(command=[target("loader"), *arguments])


def assert_loaded(attach, steady, commands, before=("w",), options=()):
    for command in before:
        old = steady.tell(command + "\n")
    with attach(steady.pid, options=options) as tracer:
        for command in commands:
            new = steady.tell(command + "\n")
        process = tracer.stop().process
    assert_sites(process, difference(new, old))
    assert_complete(process)
    return process


def modules_of(process, function):
    return {frame["module"] for site in process["sites"] for frame in process.frames(site)
            if frame["function"] == function}


def test_another_library_at_the_same_address(attach, plugins):
    one, two, _ = map(str, plugins)
    with loader() as steady:
        process = assert_loaded(attach, steady, [f"o {one}", "c", f"o {two}", "c", "w"])
        assert modules_of(process, "t_plugin") == {one, two}


def wait_for_table(tracer, path):
    """Wait until the tracer (with -vv) has the unwind table of a library. The ptrace backend has it
    before the program runs on."""
    while harness.BACKEND == "bpf" and f" {path}: " not in tracer.read_line(path):
        pass


def test_library_replaced_under_the_same_path(attach, plugins):
    """The library is replaced between two loads, and deleted while it is loaded."""
    one, two, _ = map(str, plugins)
    with loader() as steady:
        old = steady.tell("w\n")
        with attach(steady.pid, options=("-vv",)) as tracer:
            steady.tell(f"o {one}\n")
            wait_for_table(tracer, one)  # once the file is gone, nobody can read it
            os.rename(two, one)
            steady.tell("c\n")
            steady.tell(f"o {one}\n")
            wait_for_table(tracer, one)
            os.unlink(one)
            new = steady.tell("w\n")
            process = tracer.stop().process
        assert_sites(process, difference(new, old))
        assert_complete(process)


@pytest.mark.parametrize("before", [False, True])
def test_linker_namespaces(attach, plugins, before):
    """dlmopen: each namespace loads its own copy of the C library from the same inode."""
    one, two, three = map(str, plugins)
    earlier = ("w", f"n {one}") if before else ("w",)
    with loader() as steady:
        assert_loaded(attach, steady, [f"n {one}", f"n {two}", f"o {three}", "w"], earlier)


def test_launched_program_with_linker_namespaces(launch, plugins):
    one, two, _ = map(str, plugins)
    commands = f"w\nn {one}\nn {two}\nw\nq\n"
    result = launch(target("loader"), stdin=None, input=commands)
    result.stdout = result.stdout.splitlines()[-1]
    assert_sites(result.process, result.truth)


# Processes whose first thread exits before the others.

def end_leader(steady, tracer):
    """Make the first thread exit, and wait until the tracer (with -v) has noticed. With ptrace
    there is nothing to wait for."""
    steady.tell("l\n")
    while harness.BACKEND == "bpf" and "its first thread has exited" not in (line := tracer.process.stderr.readline()):
        assert line


def test_first_thread_exits(attach, plugins, pairing):
    """From then on, the kernel no longer places probes for this process only."""
    one, two, three = map(str, plugins)
    with loader() as steady:
        old = steady.tell("w\n")
        with attach(steady.pid, options=("-v", *pairing)) as tracer:
            steady.tell("w\n")
            steady.tell(f"o {one}\n")
            end_leader(steady, tracer)
            for command in ("w", f"o {two}", f"n {three}", "c", f"o {one}", "w"):
                new = steady.tell(command + "\n")
            process = tracer.stop().process
        assert_sites(process, difference(new, old))
        assert_complete(process)


def test_library_loaded_when_the_first_thread_exits(attach, plugins):
    """Calls that are missed before the tracer notices the exit are reported as a gap."""
    with loader() as steady:
        old = steady.tell("w\n")
        with attach(steady.pid) as tracer:
            steady.tell("l\n")
            steady.tell(f"n {plugins[0]}\n")
            new = steady.tell("w\n")
            process = tracer.stop().process
        seen = process.sums(process.function)
        missing = [site["function"] for site in difference(new, old)["sites"]
                   if seen.get(site["function"], {}).get("allocations") != site["allocations"]]
        assert missing in ([], ["t_plugin"])
        assert process.lost().get("gap_ns") or not missing


def test_first_thread_exited_before_the_attach(attach, plugins, pairing):
    one, two, three = map(str, plugins)
    with loader("leaderless") as steady:
        assert status(steady.pid)["State"].startswith("Z")
        process = assert_loaded(attach, steady, ["w", f"o {one}", f"n {two}", "c", f"n {three}"],
                                options=pairing)
        assert process["exe"] == target("loader")
        assert process["command"] == [target("loader"), "leaderless"]


def test_bystander_is_not_traced_after_the_first_thread_exits(attach, plugins):
    """The tracer then uses probes that fire in every process, and ignores other processes."""
    with loader() as steady, Steady() as bystander, Steady() as other:
        old = steady.tell("w\n"), other.tell("w")
        with attach(steady.pid, other.pid, options=("-v",)) as tracer:
            end_leader(steady, tracer)
            bystander.tell("w")
            new = steady.tell(f"n {plugins[0]}\n"), other.tell("w")
            bystander.tell("w")
            new = steady.tell("w\n"), other.tell("w")
            processes = {process["pid"]: process for process in tracer.stop().processes}
        assert set(processes) == {steady.pid, other.pid}
        assert_sites(processes[steady.pid], difference(new[0], old[0]))
        assert_sites(processes[other.pid], difference(new[1], old[1]))
        assert bystander.tell("c")["corrupt"] == 0


def test_process_exits_after_its_first_thread(attach):
    with loader("leaderless") as steady:
        old = steady.tell("w\n")
        with attach(steady.pid) as tracer:
            new = steady.tell("w\n")
            steady.process.stdin.write("q\n")
            steady.process.stdin.flush()
            assert steady.process.wait(harness.TIMEOUT) == 0
            process = tracer.finish().process
        assert process["exited"]
        assert_sites(process, difference(new, old))


# Children in other namespaces.

def test_follow_into_other_namespaces(launch):
    need("root")
    result = launch("unshare", "-m", "-p", "-f", "--mount-proc", target("basic"), options=("-f",))
    [process] = [process for process in result.processes if process["comm"] == "basic"]
    assert process["inner_pid"] == 1
    assert_sites(process, result.truth)
    assert_complete(process)
