# SPDX-License-Identifier: GPL-2.0-or-later
"""-f, --system-wide and its filters: each process is accounted for separately, and its section
equals the truth that it prints."""

import collections
import os
import shutil
import signal
import subprocess

import pytest

import harness
from harness import Steady, target
from machine import library, need
from report import COUNTS, assert_sites, expected

FOLLOW = ("-f",)


def sections(result):
    """The sections of a report by pid. The images of each process are in order."""
    by_pid = collections.defaultdict(list)
    for process in result.processes:
        by_pid[process["pid"]].append(process)
    return by_pid


def assert_truths(result):
    """For every process that printed its truth, the last image equals it. Returns these images by
    role."""
    assert result.status == 0, result.stderr
    by_pid = sections(result)
    told = {}
    for truth in result.truths:
        process = by_pid[truth["pid"]][-1]
        assert_sites(process, truth)
        told[truth["role"]] = process
    return told


def roles(result):
    return collections.Counter(truth["role"] for truth in result.truths)


@pytest.mark.parametrize("way", ["fork", "thread", "early"])
def test_forked_child(launch, way):
    result = launch(target("family"), way, options=FOLLOW)
    told = assert_truths(result)
    child, parent = told["child"], told["parent"]
    assert len(result.processes) == 2
    assert child["ppid"] == parent["pid"]
    assert child["command"] == parent["command"]
    assert (parent["origin"], child["origin"]) == ("launched", "forked")
    assert child["exited"] and child["exit_code"] == 0


@pytest.mark.parametrize("pairing", ["task", "hash"])
def test_each_pairing(launch, pairing):
    result = launch(target("family"), "fork", options=(*FOLLOW, "--pairing", pairing))
    assert_truths(result)


def test_nested_forks(launch):
    result = launch(target("family"), "nested", "5", options=FOLLOW)
    assert_truths(result)
    assert roles(result) == {"parent": 1, "nested": 5}
    by_pid = sections(result)
    lines = [by_pid[truth["pid"]][0] for truth in result.truths]
    for child, parent in zip(lines, lines[1:]):
        assert child["ppid"] == parent["pid"]


def test_vforked_child_is_separate_after_exec(launch):
    result = launch(target("family"), "vfork", options=FOLLOW)
    assert_truths(result)
    assert {truth["pid"] for truth in result.truths} == set(sections(result))
    assert [process["image"] for process in result.processes] == [0, 0]
    parent, child = result.processes
    assert (child["origin"], child["ppid"]) == ("exec", parent["pid"])
    assert child["from_start"]


def test_child_sharing_memory_is_part_of_its_parent(launch):
    result = launch(target("family"), "share", options=FOLLOW)
    assert_truths(result)
    assert len(result.processes) == 1


@pytest.mark.parametrize("program", ["basic", "basic-static"])
def test_spawned_program(launch, program):
    """The program may contain its own allocator: the command names its file."""
    result = launch(target("family"), "spawn", target(program), options=FOLLOW)
    assert result.status == 0, result.stderr
    own, parent = result.truths
    by_name = {os.path.basename(p["exe"]): p for p in result.processes}
    assert set(by_name) == {"family", program}
    assert_sites(by_name["family"], parent)
    assert_sites(by_name[program], own)


def test_commands_of_short_processes_are_known(launch):
    """The command and parent of a process are known even if it exits before anyone reads its /proc
    entry."""
    script = "for word in $(seq 40); do /bin/true $word; done; /bin/true"
    result = launch("dash", "-c", script, options=FOLLOW)
    shell, *others = [process for process in result.processes if process["origin"] != "forked"]
    assert sorted(" ".join(process["command"]) for process in others) == sorted(
        [f"/bin/true {word}" for word in range(1, 41)] + ["/bin/true", "seq 40"])
    for process in others:
        assert process["origin"] == "exec"
        assert process["image"] or process["ppid"] == shell["pid"]


def test_long_command(launch):
    """Arguments that do not fit into the kernel's record are read from /proc. If the process has
    exited, only the beginning is known."""
    words = [str(number) * 20 for number in range(100)]
    script = '"$0" fork "$@"; exec sh -c "sleep 0.5; true" "$@"'
    result = launch("sh", "-c", script, target("family"), *words, options=FOLLOW)
    commands = [process["command"] for process in result.processes]
    assert ["sh", "-c", "sleep 0.5; true", *words] in commands
    [first] = [command for command in commands
               if command[:2] == [target("family"), "fork"]][:1]
    assert len(first) > 10 and first == [target("family"), "fork", *words][:len(first)]


def test_unexpected_static_program(launch):
    """The command does not name the static program, so calls may be missed, and the report must say
    so."""
    script = f"name=basic; exec {target('family')} spawn {harness.TARGETS}/$name-static"
    result = launch("sh", "-c", script, options=FOLLOW)
    own, _ = result.truths
    process = next(p for p in result.processes if p["exe"].endswith("/basic-static"))
    if not process.lost() and not process["losses"]["no_allocator"]:
        assert_sites(process, own)


def test_grandchild_outlives_the_command(launch):
    """The trace continues until the last process exits; the status is the command's."""
    result = launch(target("family"), "daemon", options=FOLLOW)
    told = assert_truths(result)
    assert set(told) == {"parent", "middle", "daemon"}
    assert told["daemon"]["exited"]


def test_child_keeps_probes_after_its_parent_exits(launch):
    """It inherited its parent's probes, and keeps them after the parent is removed from the
    model."""
    script = f"(sleep 1; {target('family')} fork; {target('basic')}) &"
    result = launch("sh", "-c", script, options=FOLLOW)
    *family, own = result.truths
    by_pid = sections(result)
    assert {truth["role"] for truth in family} == {"child", "parent"}
    for truth in family:
        assert_sites(by_pid[truth["pid"]][-1], truth)
    assert_sites(next(p for p in result.processes if p["exe"].endswith("/basic")), own)


# Allocators that no traced process has used before: a library to preload and a program.
BRINGERS = {
    "jemalloc": ("libjemalloc.so.2", "threads"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "threads"),
    "mimalloc": ("libmimalloc.so.2.0", "threads"),
    "musl": (None, "basic-musl"),
    "multilib": (None, "m32/basic"),
}


@pytest.mark.parametrize("facility", BRINGERS)
def test_child_with_a_new_allocator_is_traced_from_the_start(attach, facility):
    """The tracer cannot know what a running shell will execute. The child is still traced from its
    first call, without a gap."""
    need(facility)
    preloaded, program = BRINGERS[facility]
    setting = f"LD_PRELOAD={library(preloaded)} " if preloaded else ""
    arguments = "4 500 cross" if program == "threads" else ""
    script = f"echo READY; read line; {setting}{target(program)} {arguments}; true"
    with Steady(command=["/bin/sh", "-c", script]) as shell:
        with attach(shell.pid, options=FOLLOW) as tracer:
            truth = shell.tell("x\n")
            result = tracer.finish()
    child = next(p for p in result.processes if p["exe"].endswith("/" + program))
    assert_sites(child, truth)
    assert child["losses"]["gap_ns"] == child["losses"]["unprobed_sites"] == 0


def test_function_that_cannot_be_probed(attach):
    """The function shares an event with others. The other probes of the event still work."""
    need("bpf")
    with Steady(command=[target("unsteppable")]) as program:
        with attach(program.pid, options=FOLLOW) as tracer:
            program.process.communicate("x", timeout=harness.TIMEOUT)
            process = tracer.finish().process
    assert process.lost() == {"unprobed_sites": 1}
    counts = {site["api"]: site["allocations"] for site in process["sites"]}
    assert counts == {"malloc": 7, "posix_memalign": 1}
    assert process["live"]["blocks"] == 0


def test_killed_child(launch):
    told = assert_truths(launch(target("family"), "killed", options=FOLLOW))
    assert told["killed"]["exit_code"] == -signal.SIGKILL or told["killed"]["exit_code"] == 137


def test_child_without_a_call(launch):
    told = assert_truths(launch(target("family"), "quiet", options=FOLLOW))
    quiet, parent = told["quiet"], told["parent"]
    assert quiet["totals"]["allocations"] == 0
    assert quiet["live"] == parent["live"]


def test_without_follow_children_are_not_traced(launch):
    result = launch(target("family"), "fork")
    assert len(result.processes) == 1
    parent = next(truth for truth in result.truths if truth["role"] == "parent")
    assert_sites(result.process, parent)


def test_exec_of_a_child_by_a_thread(launch):
    result = launch("/bin/sh", "-c", f"{target('exec')} -t {target('basic')}; true",
                    options=FOLLOW)
    before, after = result.truths
    images = [p for p in result.processes if os.path.basename(p["exe"]) in ("exec", "basic")]
    assert [os.path.basename(image["exe"]) for image in images] == ["exec", "basic"]
    assert images[0]["pid"] == images[1]["pid"]
    assert_sites(images[0], before)
    assert_sites(images[1], after)


def test_child_under_valgrind(launch):
    """valgrind would translate our breakpoints, so the process is not probed. The gap that this
    causes in other processes is reported."""
    need("valgrind")
    script = f"{target('family')} fork >/dev/null; valgrind -q {target('family')} leaf >/dev/null; echo $?"
    result = launch("sh", "-c", script, options=FOLLOW)
    assert result.status == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "0"
    assert "valgrind" in result.stderr
    shell = result.processes[0]
    assert shell["losses"]["gap_ns"] > 0


def test_whole_system_beside_valgrind(tmp_path):
    """System-wide probes would kill programs that run under valgrind."""
    need("bpf", "valgrind")
    with subprocess.Popen(["valgrind", "-q", target("steady")], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout.readline() == "READY\n"
        result = harness.mtrace("--comm", "family")
        assert result.status == 1
        assert f"process {victim.pid} runs under valgrind" in result.stderr
        victim.communicate("q", timeout=harness.TIMEOUT)
        assert victim.returncode == 0


def sum_of(entries):
    return {name: sum(entry[name] for entry in entries) for name in COUNTS}


def test_storm_of_processes(launch):
    """500 processes, up to 6 levels of forks, 16 threads each: the sums equal the truth, and
    nothing is dropped. With ptrace, which is slower, there are 100."""
    count = 100 if harness.BACKEND == "ptrace" else 500
    result = launch(target("family"), "storm", str(count), "16", options=(*FOLLOW, "--buffer", "256m"),
                    timeout=300)
    assert result.status == 0, result.stderr
    truths = result.truths
    assert len(truths) == count
    said = sum_of([site for truth in truths for site in truth["sites"] if site["api"] != "mmap"])
    seen = sum_of([site for p in result.processes for site in p["sites"]
                   if p.function(site).startswith("t_") and site["api"] != "mmap"])
    assert [p.lost() for p in result.processes if p.lost()] == []
    assert seen == said
    assert_truths(result)


@pytest.mark.parametrize("way", ["fork", "nested 3", "share", "daemon", "early"])
def test_attached_family(attach, way):
    """-p with -f: later children are followed, whichever thread forks them."""
    with subprocess.Popen([target("family"), "wait", *way.split()], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as family:
        assert family.stdout.readline() == "READY\n"
        with attach(family.pid, options=FOLLOW) as tracer:
            said, _ = family.communicate("g", timeout=harness.TIMEOUT)
            result = tracer.finish()
    result.stdout = said
    assert_truths(result)


def test_program_of_an_attached_family(attach):
    """A program that is executed later is traced from its start, unlike the attached one."""
    with subprocess.Popen(["bash", "-c", f"read; {target('family')} fork; exec {target('basic')}"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        with attach(shell.pid, options=FOLLOW) as tracer:
            said, _ = shell.communicate("g\n", timeout=harness.TIMEOUT)
            result = tracer.finish()
    result.stdout = said
    first, second = sections(result)[shell.pid]
    assert (first["origin"], first["from_start"]) == ("attached", False)
    assert (second["origin"], second["from_start"]) == ("exec", True)
    by_pid = sections(result)
    for truth in result.truths:
        assert_sites(by_pid[truth.get("pid", shell.pid)][-1], truth)


@pytest.mark.whole_machine
def test_system_wide(uprobes, tmp_path):
    result = harness.run_system(tmp_path, ("--system-wide",), [target("family"), "fork"])
    assert_truths(result)
    assert os.getpid() in sections(result)
    assert result.tracer not in sections(result)
    newborn = sections(result)[result.truths[-1]["pid"]][-1]
    assert (newborn["origin"], newborn["ppid"]) == ("exec", os.getpid())


@pytest.mark.whole_machine
@pytest.mark.parametrize("options", [("--comm", "family"), ("--comm", "f?mil*"),
                                     ("--exe", "family"), ("--exe", target("fam*"))])
def test_selected_by_program(uprobes, tmp_path, options):
    script = f"{target('family')} fork; {target('basic')}"
    result = harness.run_system(tmp_path, options, ["sh", "-c", script])
    assert {os.path.basename(p["exe"]) for p in result.processes} == {"family"}
    by_pid = sections(result)
    told = [truth for truth in result.truths if "pid" in truth]
    assert {truth["pid"] for truth in told} == set(by_pid)
    for truth in told:
        assert_sites(by_pid[truth["pid"]][-1], truth)


@pytest.mark.whole_machine
def test_exec_of_unselected_program_ends_the_trace(uprobes, tmp_path):
    """After the exec of a program that does not match, the process is no longer traced."""
    result = harness.run_system(tmp_path, ("--comm", "exec"), [target("exec"), target("basic")])
    assert_sites(result.process, result.truths[0])
    assert result.process["exe"].endswith("/exec")


@pytest.mark.whole_machine
def test_selected_by_user(uprobes, tmp_path):
    shutil.copy(target("family"), tmp_path / "family")
    os.chmod(tmp_path, 0o755)
    result = harness.run_system(tmp_path, ("--uid", "nobody"),
                        ["setpriv", "--reuid=nobody", "--", str(tmp_path / "family"), "fork"])
    by_pid = sections(result)
    for truth in result.truths:
        assert_sites(by_pid[truth["pid"]][-1], truth)
    assert {truth["pid"] for truth in result.truths} <= set(by_pid)


def cgroup_root():
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    return None


@pytest.mark.whole_machine
def test_selected_by_cgroup(uprobes, tmp_path):
    need("root")
    root = cgroup_root()
    mounted = None
    if not root:
        mounted = root = str(tmp_path / "cgroup")
        os.mkdir(root)
        subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
    group = os.path.join(root, "mtrace-bpf-test")
    os.mkdir(group)
    try:
        script = f"echo $$ >{group}/cgroup.procs; exec {target('family')} fork"
        result = harness.run_system(tmp_path, ("--cgroup", "/mtrace-bpf-test"), ["sh", "-c", script])
        told = sections(result)
        for truth in result.truths:
            assert_sites(told[truth["pid"]][-1], truth)
        assert {os.path.basename(p["exe"]) for p in result.processes} == {"family"}
    finally:
        os.rmdir(group)
        if mounted:
            subprocess.run(["umount", mounted], check=True)


@pytest.mark.parametrize("options, words", [
    (("--comm", "[ab]"), "use only * and ?"),
    (("--exe", "/no/such/program"), "no such file"),
    (("--uid", "nobody-at-all"), "no user"),
    (("--cgroup", "/no/such/group"), "no such cgroup"),
    (("--comm", "x", "-p", "1"), "cannot be combined with --pid"),
])
def test_refused(options, words):
    result = harness.mtrace(*options)
    assert result.status in (1, 2)
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
