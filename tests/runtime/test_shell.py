# SPDX-License-Identifier: GPL-2.0-or-later
"""The shell (--interactive): on a terminal, and with a script on standard input."""

import json
import os
import re
import signal
import subprocess
import termios

import pytest

import harness
import report
from harness import BACKEND_OPTIONS, MTRACE, Steady, children, one_line, status, target
from machine import need
from report import assert_sites, difference
from terminal import PROMPT, Terminal

GOLDEN = os.path.join(report.ROOT, "tests", "golden")


@pytest.fixture
def home(tmp_path):
    """An empty home directory."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def terminal(uprobes, home):
    """terminal(ARGUMENT…): the shell on a terminal, at its first prompt."""
    del uprobes
    opened = []

    def start(*arguments, environment=None, **more):
        shell = Terminal([MTRACE, "-i", *BACKEND_OPTIONS, *map(str, arguments)],
                         environment={"HOME": str(home), **(environment or {})}, **more)
        opened.append(shell)
        shell.expect(PROMPT)
        return shell
    yield start
    for shell in opened:
        shell.__exit__()


@pytest.fixture
def script(uprobes, home):
    """script(LINES, ARGUMENT…): run the shell with the lines on standard input."""
    del uprobes

    def run(lines, *arguments, **more):
        lines = lines if isinstance(lines, bytes) else lines.encode()
        return subprocess.run([MTRACE, "-i", *BACKEND_OPTIONS, *map(str, arguments)], input=lines,
                              capture_output=True, timeout=harness.TIMEOUT, check=False,
                              env={**os.environ, "HOME": str(home)}, **more)
    return run


def read_report(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    report.check(document)
    return [report.Process(data) for data in document["processes"]]


def exported(shell, path):
    """Export the current state, and read it."""
    shell.run(f"export json {path}")
    return read_report(path)


def rows_of(output):
    """Lines of status and proclist about a process."""
    return re.findall(rb"^ +\d+ .*\bsteady\b.*$", output, re.MULTILINE)


# ---- on a terminal ----

def test_help_screen(terminal):
    """The output of help equals the golden file, and fits into 80 columns."""
    with Steady() as steady:
        shell = terminal("-p", steady.pid, columns=80, rows=40)
        text = shell.run("help")
        path = os.path.join(GOLDEN, "shell-help.txt")
        if os.environ.get("UPDATE_GOLDEN"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            assert text == file.read()
        assert max(map(len, text.splitlines())) <= 80
        shell.send("quit\n")
        assert shell.wait() == 0


def test_trace_continues_while_the_shell_is_busy(terminal, tmp_path):
    """The counts are right whatever the shell did in the meantime."""
    with Steady(2) as steady:
        before = steady.tell("w")
        shell = terminal("-p", steady.pid)
        after = steady.tell("w")
        assert_sites(exported(shell, tmp_path / "one.json")[0], difference(after, before))
        shell.send("top\n")
        shell.expect("live in")
        after = steady.tell("w")
        shell.send("x")
        shell.expect(PROMPT)
        after = steady.tell("w")
        assert_sites(exported(shell, tmp_path / "two.json")[0], difference(after, before))
        shell.send("\x04")
        assert shell.wait() == 0
        assert steady.tell("c")["corrupt"] == 0
        assert steady.quit() == 0


def test_no_report_unless_requested(terminal, tmp_path):
    with Steady() as steady:
        shell = terminal("-p", steady.pid)
        shell.send("quit\n")
        assert shell.wait() == 0
        assert "SUMMARY" not in shell.written
        path = tmp_path / "report.json"
        shell = terminal("-p", steady.pid, "--format", "json", "-o", path)
        after = steady.tell("w")
        shell.send("quit\n")
        assert shell.wait() == 0
        assert read_report(path)[0].heap()["allocations"] > 0
        assert after["rounds"] == 1


def test_interrupt_at_the_prompt(terminal):
    """^C discards the line, and does not end the trace."""
    with Steady() as steady:
        shell = terminal("-p", steady.pid)
        shell.send("bogus command")
        shell.expect("command")
        shell.interrupt()
        shell.expect(PROMPT)
        assert "unknown" not in shell.written
        assert "steady" in shell.run("proclist")
        shell.send("quit\n")
        assert shell.wait() == 0


@pytest.mark.parametrize("command, sign", [("top", "live in"), ("watch status", "traced"),
                                           ("wait", "wait"), ("wait 1h", "wait 1h")])
def test_keys_end_a_command(terminal, command, sign):
    """^C and any other key end the command, and the terminal mode is restored."""
    with Steady() as steady:
        shell = terminal("-p", steady.pid)
        modes = shell.modes()
        for end in ("\x03", "x"):
            shell.send(command + "\n")
            shell.expect(sign)
            shell.send(end)
            shell.expect(PROMPT)
            assert shell.modes() == modes
        assert "steady" in shell.run("proclist")
        shell.send("quit\n")
        assert shell.wait() == 0
        assert shell.modes() & termios.ICANON or shell.master < 0


def test_completion(terminal, home):
    (home / "file.json").write_text("")
    with Steady() as steady:
        shell = terminal("-p", steady.pid, environment={"INPUTRC": "/dev/null"})
        shell.send("procl\t\n")
        shell.expect("proclist")
        shell.expect(PROMPT)
        shell.send(f"status {str(steady.pid)[:-1]}\t\n")
        shell.expect(str(steady.pid))
        shell.expect("traced")
        shell.expect(PROMPT)
        shell.send(f"export js\t{home}/fi\t\n")
        shell.expect("written: ")
        assert shell.expect("\n").strip() == str(home / "file.json")
        shell.send("quit\n")
        assert shell.wait() == 0


def test_history(terminal, home):
    """The history is kept from one shell to the next, and only its user can read it."""
    path = home / ".local" / "state" / "mtrace-bpf" / "history"
    with Steady() as steady:
        for _ in range(2):
            shell = terminal("-p", steady.pid)
            shell.run("show info")
            shell.send("quit\n")
            shell.wait()
        assert path.read_text().splitlines() == ["show info", "quit", "show info", "quit"]
        assert path.stat().st_mode & 0o777 == 0o600
        other = home / "other"
        shell = terminal("-p", steady.pid, environment={"MTRACE_BPF_HISTORY": str(other)})
        shell.run("show info")
        shell.send("\x1b[A")
        shell.expect("show info")
        shell.send("\n")
        shell.expect(PROMPT)
        shell.send("quit\n")
        shell.wait()
        assert other.read_text().splitlines() == ["show info", "quit"]


def test_long_output_goes_to_the_pager(terminal, tmp_path):
    """The pager gets the whole output, and the trace continues."""
    seen = tmp_path / "seen"
    done = tmp_path / "done"
    os.mkfifo(done)
    with Steady() as steady:
        before = steady.tell()
        shell = terminal("-p", steady.pid, rows=10,
                         environment={"PAGER": f"cat >{seen}; read x <{done}; #"})
        after = steady.tell("w")
        shell.send("dump\n")
        with open(done, "w", encoding="ascii"):  # the pager has read everything
            after = steady.tell("w")
        shell.expect(PROMPT)
        assert "SUMMARY" in seen.read_text() and "SUMMARY" not in shell.written
        assert_sites(exported(shell, tmp_path / "report.json")[0], difference(after, before))
        assert "steady" in shell.run("status")
        assert len(seen.read_text().splitlines()) > 10
        shell.send("quit\n")
        assert shell.wait() == 0


def test_missing_pager(terminal):
    with Steady() as steady:
        shell = terminal("-p", steady.pid, rows=10, environment={"PAGER": "/no/such/pager"})
        steady.tell("w")
        assert "SUMMARY" in shell.run("dump")
        shell.send("quit\n")
        assert shell.wait() == 0


def test_colours(terminal):
    with Steady() as steady:
        shell = terminal("-p", steady.pid)
        steady.tell("w")
        shell.run("status")
        assert shell.screen.styled
        shell.send("quit\n")
        assert shell.wait() == 0
        shell = terminal("-p", steady.pid, environment={"NO_COLOR": "1"})
        shell.run("status")
        assert not shell.screen.styled


@pytest.mark.parametrize("columns", [20, 40, 61])
def test_narrow_terminals(terminal, columns):
    with Steady() as steady:
        shell = terminal("-p", steady.pid, columns=columns, rows=12)
        steady.tell("w")
        for command in ("status", "proclist", "grep t_", "show", "help"):
            lines = shell.run(command).splitlines()
            assert max(map(len, lines), default=0) <= columns, (command, lines)
        shell.send("top\n")
        shell.expect("live")
        shell.send("x")
        shell.expect(PROMPT)
        shell.resize(columns + 30, 12)
        shell.send("proclist\n")
        shell.expect("steady")
        shell.expect(PROMPT)
        shell.send("quit\n")
        assert shell.wait() == 0


def test_hangup_ends_the_shell(terminal):
    """The trace ends, and the attached process continues."""
    with Steady() as steady:
        for command in ("", "top\n", "watch status\n", "wait\n"):
            shell = terminal("-p", steady.pid)
            shell.send(command)
            if command:
                shell.expect(command.strip())
            shell.hang_up()
            shell.process.wait(harness.TIMEOUT)
        assert steady.tell("c")["corrupt"] == 0
        assert steady.quit() == 0


def test_exits_are_reported(terminal):
    """The shell reports the exits, and stays."""
    with Steady() as one, Steady() as two:
        shell = terminal("-p", f"{one.pid},{two.pid}")
        one.tell("w")
        one.quit()
        shell.expect(f"steady ({one.pid}) exited with status 0")
        assert "no process is left" not in shell.written
        two.quit()
        shell.expect("no process is left to trace")
        shell.expect(PROMPT)
        assert "exited with status 0" in shell.run("proclist")
        assert "no process left" in shell.run("scan")
        shell.send("quit\n")
        assert shell.wait() == 0


def test_hangup_ends_a_trace(uprobes):
    """Without the shell, a trace on a terminal ends as well. (Without a terminal, SIGHUP has
    another meaning.)"""
    del uprobes
    with Steady() as steady, Terminal([MTRACE, *BACKEND_OPTIONS, "-o", "/dev/null",
                                       "-p", str(steady.pid)]) as trace:
        trace.expect("tracing steady")
        trace.hang_up()
        assert trace.process.wait(harness.TIMEOUT) == 0
        assert steady.tell("w")


# ---- launched programs ----

def test_launched_program_runs_in_the_background(terminal):
    """The program runs in the background and is not affected by ^C."""
    shell = terminal("sh", "-c", "cat; echo at the end; exec sleep 1000")
    shell.seen = 0  # "at the end" may be printed before the first prompt or after it
    shell.expect("at the end")
    shell.seen = len(shell.written)  # the first prompt is no answer to what follows
    pid = next(child for child in children(shell.process.pid)
               if os.path.exists(f"/proc/{child}") and os.getpgid(child) == child
               and status(child)["Name"] in ("sh", "sleep"))
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    shell.interrupt()
    shell.expect(PROMPT)
    assert str(pid) in shell.run("proclist")
    shell.send("quit\n")
    shell.expect(f"({pid}) keeps running, untraced")
    assert shell.wait() == 0
    assert status(pid)
    os.kill(pid, signal.SIGKILL)


def test_shell_exits_with_the_status_of_the_program(terminal):
    """The section of the program is complete. The shell exits with its status."""
    shell = terminal("sh", "-c", "exit 7")
    shell.seen = 0  # it may be printed before the first prompt
    shell.expect("exited with status 7")
    shell.expect("no process is left")
    shell.expect(PROMPT)
    shell.run("dump")
    shell.send("quit\n")
    assert shell.wait() == 7


def test_truth_of_a_launched_program(script, tmp_path):
    path = tmp_path / "report.json"
    truth = tmp_path / "truth"
    run = script(f"wait\nexport json {path}\n", "sh", "-c", f"exec {target('basic')} >{truth}")
    assert run.returncode == 0, run.stderr
    section = [process for process in read_report(path) if process["image"] == 1][0]
    assert_sites(section, json.loads(truth.read_text()))


# ---- scripts ----

def test_script_runs_commands(script):
    with Steady() as steady:
        run = script("# what is traced\nproclist\n\n  status all\nquit\nnever reached\n",
                     "-p", steady.pid)
        assert run.returncode == 0
        assert PROMPT.encode() not in run.stdout + run.stderr
        assert len(rows_of(run.stdout)) == 2
        assert one_line(run.stderr.decode())


def test_errors_in_a_script(script):
    """Each error is reported with its line. The script continues, and the exit status is 1."""
    with Steady() as steady:
        run = script("proclist\nst\nbogus\n\nsite 99999\nexport json\nset sort bogus\nstatus",
                     "-p", steady.pid)
        assert run.returncode == 1
        errors = [line for line in run.stderr.decode().splitlines() if ": line " in line]
        assert [re.match(r"mtrace-bpf: line (\d+): ", line)[1] for line in errors] == \
            ["2", "3", "5", "6", "7"]
        assert "ambiguous: status, stop, start" in errors[0]
        assert "usage: export FORMAT FILE" in errors[3]
        assert len(rows_of(run.stdout)) == 2


@pytest.mark.parametrize("lines, reason", [
    (b"proclist\n" + b"a" * 200000 + b"\nproclist\n", b"line 2: the line is too long"),
    (b"proclist\na\0b\nproclist\n", b"line 2: the line is not text"),
    (b"proclist\n\x1b[2J\xff\xfe\x80\nproclist\n", b"line 2: unknown command \"\\x1b[2J"),
    (b"proclist\n" + b"'" * 60001 + b"\nproclist", b"line 2: missing closing '"),
], ids=["long", "zero", "escape", "open"])
def test_hostile_lines(script, lines, reason):
    with Steady() as steady:
        run = script(lines, "-p", steady.pid)
        assert run.returncode == 1
        assert reason in run.stderr
        assert b"\x1b" not in run.stderr
        assert len(rows_of(run.stdout)) == 2


def test_random_bytes(script):
    """Random bytes are just unknown commands."""
    noise = os.urandom(100000).replace(b"|", b" ").replace(b">", b" ")
    with Steady() as steady:
        run = script(noise + b"\nstatus\n", "-p", steady.pid)
        assert run.returncode == 1
        assert b"steady" in run.stdout
        assert steady.tell("c")["corrupt"] == 0


def test_script_from_a_file(uprobes, tmp_path):
    del uprobes
    path = tmp_path / "commands"
    path.write_text("status\nproclist")
    with Steady() as steady, open(path, "rb") as file:
        run = subprocess.run([MTRACE, "-i", *BACKEND_OPTIONS, "-p", str(steady.pid)], stdin=file,
                             capture_output=True, timeout=harness.TIMEOUT, check=False)
        assert run.returncode == 0
        assert len(rows_of(run.stdout)) == 2


def test_closed_standard_input(uprobes):
    """Same as an empty script."""
    del uprobes
    with Steady() as steady:
        run = subprocess.run(f"{MTRACE} -i {' '.join(BACKEND_OPTIONS)} -p {steady.pid} <&-",
                             shell=True, capture_output=True, timeout=harness.TIMEOUT, check=False)
        assert run.returncode == 0
        assert run.stdout == b""
        assert steady.quit() == 0


def test_interrupt_ends_a_script(uprobes):
    del uprobes
    with Steady() as steady:
        run = subprocess.Popen([MTRACE, "-i", *BACKEND_OPTIONS, "-p", str(steady.pid)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        run.stdin.write(b"proclist\nwait\nstatus\n")
        run.stdin.flush()
        while b"steady" not in run.stdout.readline():
            pass
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=harness.TIMEOUT)
        assert run.returncode == 0
        assert b"steady" not in output
        assert steady.quit() == 0


# ---- commands ----

def test_sites(terminal):
    """Lists show site numbers, which the command "site" accepts."""
    with Steady() as steady:
        shell = terminal("-p", steady.pid, columns=120)
        steady.tell("w")
        rows = re.findall(r"^ +(\d+) .*\bt_kept\b", shell.run("grep t_kept"), re.MULTILINE)
        assert rows
        card = shell.run(f"site {rows[0]}")
        assert f"Site {rows[0]}" in card and "steady.c:" in card
        assert re.search(r"^ +(→|->) +\d+ +BOOKED\(malloc", card, re.MULTILINE), card
        assert f"site {rows[0]}" in shell.run("dump | cat")
        assert "no site 4000000" in shell.run("site 4000000")
        assert "as a regular expression" in shell.run("grep [")
        assert "too many repetitions" in shell.run("grep (a{1,255}){1,255}")


def test_several_processes(terminal):
    with Steady() as one, Steady() as two:
        shell = terminal("-p", f"{one.pid},{two.pid}", columns=120)
        one.tell("w")
        two.tell("w")
        text = shell.run("grep t_kept")
        site = re.search(rf"({one.pid}:\d+) .*t_kept", text)[1]
        assert f"({one.pid})" in shell.run(f"site {site}")
        assert "name one as" in shell.run(f"site {site.split(':')[1]}")
        assert str(two.pid) not in shell.run(f"status {one.pid}")
        assert str(two.pid) in shell.run("status")
        shell.run(f"set pid {one.pid}")
        assert str(two.pid) not in shell.run("status")
        assert str(two.pid) in shell.run("status all")
        assert "is not traced" in shell.run("status 1")


def test_mark_and_diff(terminal):
    with Steady() as steady:
        shell = terminal("-p", steady.pid, columns=120)
        assert "no mark yet" in shell.run("diff")
        before = steady.tell("w")
        shell.run("mark first")
        text = shell.run("diff")
        assert "Since first" in text and "t_kept" not in text
        after = steady.tell("w")
        text = shell.run("diff first")
        kept = next(site for site in difference(after, before)["sites"]
                    if site["function"] == "t_kept")
        row = next(line for line in text.splitlines() if "t_kept" in line)
        assert "Grew" in text and f"+{kept['allocations'] - kept['frees']}" in row
        assert "no mark \"bogus\"" in shell.run("diff bogus")


def test_stop_and_start(terminal, tmp_path):
    """Calls while tracing is stopped are in no total, and no block is wrongly reported as live."""
    with Steady() as steady:
        before = steady.tell("w")
        shell = terminal("-p", steady.pid)
        first = steady.tell("w")
        assert_sites(exported(shell, tmp_path / "one.json")[0], difference(first, before))
        shell.run("stop")
        stopped = steady.tell("w")
        process = exported(shell, tmp_path / "two.json")[0]
        assert process["totals"]["allocations"] == \
            exported(shell, tmp_path / "three.json")[0]["totals"]["allocations"]
        assert "stopped" in shell.run("status")
        shell.run("start")
        after = steady.tell("w")
        process = exported(shell, tmp_path / "four.json")[0]
        wanted = {}
        for new, old in ((first, before), (after, stopped)):
            for site in difference(new, old)["sites"]:
                name = site["function"]
                wanted[name] = wanted.get(name, 0) + site["allocations"]
        booked = {}
        for site in process["sites"]:
            name = next((frame["function"] for frame in process.frames(site)
                         if frame["function"].startswith("t_")), None)
            booked[name] = booked.get(name, 0) + site["allocations"]
        assert {name: booked.get(name, 0) for name in wanted} == wanted
        assert process["losses"]["unmatched_frees"] == 0
        assert process["unbooked_allocations"] > 0


def test_reset(terminal, tmp_path):
    with Steady() as steady:
        steady.tell("w")
        shell = terminal("-p", steady.pid)
        before = steady.tell("w")
        shell.run("reset")
        assert exported(shell, tmp_path / "none.json")[0]["live"] == {"blocks": 0, "bytes": 0}
        after = steady.tell("w")
        process = exported(shell, tmp_path / "report.json")[0]
        assert_sites(process, difference(after, before))
        assert process["losses"]["unmatched_frees"] == 0


def test_scan(terminal):
    """"scan new" shows only leaks that an earlier scan did not find."""
    shell = terminal(target("leak"), columns=120)
    shell.seen = 0
    shell.expect("no process is left")
    shell.expect(PROMPT)
    assert "no process left" in shell.run("scan")
    with Steady() as steady:
        shell = terminal("-p", steady.pid)
        steady.tell("w")
        text = shell.run("scan")
        assert f"steady ({steady.pid})" in text and "scanned" in text
        text = shell.run("scan new")
        assert "leaked" not in text.replace("definitely leaked", "")
        assert "unknown kind of scan" in shell.run("scan bogus")
        shell.run("set scan stop")
        assert "paused" in shell.run(f"scan all {steady.pid}")


def test_save_and_redirect(terminal, tmp_path):
    with Steady() as steady:
        shell = terminal("-p", steady.pid)
        steady.tell("w")
        shell.run(f"save {tmp_path}/report.txt")
        assert "SUMMARY" in (tmp_path / "report.txt").read_text()
        shell.run(f"save '{tmp_path}/a report.json'")
        assert read_report(tmp_path / "a report.json")
        shell.run(f"status > {tmp_path}/status")
        shell.run(f"status >> {tmp_path}/status")
        assert (tmp_path / "status").read_text().count("steady") == 2
        assert "\x1b" not in (tmp_path / "status").read_text()
        shell.run(f"status | tr a-z A-Z > {tmp_path}/piped")
        assert "STEADY" in (tmp_path / "piped").read_text()
        assert "cannot write /no/such/file" in shell.run("save /no/such/file")
        assert "cannot write /no/such/file" in shell.run("status > /no/such/file")


def test_shell_reports_a_full_disk(terminal, tmp_path):
    """The error is reported, the old file stays, and the shell continues."""
    need("uprobes")
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], check=True)
    try:
        with Steady() as steady:
            shell = terminal("-p", steady.pid)
            steady.tell("w")
            (disk / "report.json").write_text("old")
            assert "No space left" in shell.run(f"save {disk}/report.json")
            assert (disk / "report.json").read_text() == "old"
            assert os.listdir(disk) == ["report.json"]
            assert "cannot write" in shell.run("status > /dev/full")
            assert "steady" in shell.run("status")
            shell.send("quit\n")
            assert shell.wait() == 0
    finally:
        subprocess.run(["umount", disk], check=True)


def test_settings(terminal):
    with Steady() as steady:
        shell = terminal("-p", steady.pid)
        steady.tell("w")
        assert "t_kept" in shell.run("grep t_kept")
        shell.run("set min 1g")
        text = shell.run("grep t_kept")
        assert "t_kept" not in text and "hidden by" in text
        assert "hidden by" in shell.run("dump | cat")
        shell.run("set min 0")
        shell.run("set sort alloc")
        assert "allocations" in shell.run("show sort")
        assert "usage: set sort KEY" in shell.run("set sort")
        assert "unknown setting" in shell.run("set bogus 1")
        assert "not a size" in shell.run("set min lots")


def test_searchpath(terminal, tmp_path):
    """Debug information in another folder is used as soon as the search path is set."""
    source = tmp_path / "keeps.c"
    source.write_text("#include <stdlib.h>\n#include <unistd.h>\n\nstatic void keep(void)\n{\n"
                      "\tmalloc(4711);\n}\n\nint main(void)\n{\n\tkeep();\n\tpause();\n}\n")
    program = tmp_path / "keeps"
    folder = tmp_path / "debug"
    folder.mkdir()
    for command in (["gcc", "-O0", "-g", "-w", "-fno-builtin", "-o", program, source],
                    ["objcopy", "--only-keep-debug", program, folder / "keeps.debug"],
                    ["objcopy", "--strip-all", f"--add-gnu-debuglink={folder}/keeps.debug",
                     program]):
        subprocess.run(command, check=True)
    shell = terminal(program)
    pid = int(re.search(r"^ +(\d+)", shell.run("proclist"), re.MULTILINE)[1])
    try:
        while "4.6 KiB" not in (text := shell.run("site 0")):
            shell.run("wait 100ms")
        assert "keeps.c" not in text
        shell.run(f"set searchpath /no/such/folder:{folder}")
        assert "keeps.c:6" in shell.run("site 0")
        assert str(folder) in shell.run("show searchpath")
        shell.send("quit\n")
        assert shell.wait() == 0
    finally:
        os.kill(pid, signal.SIGKILL)


def test_source_that_the_author_cannot_read_is_not_shown(terminal, tmp_path):
    """The author of a program names its source files: they are opened with that user's rights."""
    source, program = tmp_path / "secret.c", tmp_path / "leaks"
    source.write_text("#include <stdlib.h>\n#include <unistd.h>\n\nint main(void)\n{\n"
                      "\tmalloc(4711);\n\tpause();\n}\n")
    subprocess.run(["gcc", "-O0", "-g", "-w", "-fno-builtin", "-o", program, source], check=True)
    for folder in tmp_path, *tmp_path.parents[:-2]:
        folder.chmod(0o755)
    source.chmod(0o600)
    shell = terminal(program)
    pid = int(re.search(r"^ +(\d+)", shell.run("proclist"), re.MULTILINE)[1])
    try:
        while "4.6 KiB" not in (text := shell.run("site 0")):
            shell.run("wait 100ms")
        assert "malloc(4711)" in text
        if os.geteuid() == 0:
            os.chown(program, 12345, 12345)
            text = shell.run("site 0")
            assert "secret.c:6" in text and "malloc(4711)" not in text
        shell.send("quit\n")
        assert shell.wait() == 0
    finally:
        os.kill(pid, signal.SIGKILL)


# ---- system-wide ----

@pytest.mark.whole_machine
def test_system_wide(terminal):
    need("bpf")
    with Steady() as steady:
        shell = terminal("--comm", "steady")
        steady.tell("w")
        assert str(steady.pid) in shell.run("status")
        with Steady() as other:
            other.tell("w")
            assert str(other.pid) in shell.run("proclist")
        shell.send("quit\n")
        assert shell.wait() == 0


def test_config_file(uprobes, home, tmp_path):
    """The user's configuration file, and errors in it."""
    del uprobes
    (home / ".mtrace-bpf").write_text("format json\n")
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": ""}

    def run(*options):
        return subprocess.run([MTRACE, *BACKEND_OPTIONS, *options, "-o", "-", "true"], text=True,
                              capture_output=True, env=environment, timeout=harness.TIMEOUT,
                              check=False)
    json.loads(run().stdout)
    assert "SUMMARY" in run("--format", "text").stdout
    (tmp_path / "other").write_text("scan\n\nfromat json\n")
    result = run("-F", str(tmp_path / "other"))
    assert result.returncode == 2
    assert f"{tmp_path}/other:3: unknown option \"fromat\" (did you mean format?)" in result.stderr
