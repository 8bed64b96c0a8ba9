# SPDX-License-Identifier: GPL-2.0-or-later
"""Where reports are written, and what users see in them. Every JSON report in these tests is also
checked against the schema and its own sums."""

import json
import os

import pytest

import harness
from harness import mtrace, one_line, target
from machine import need

LEAKS = {"describe_error": 20, "parse_agent": 133, "remember_session": 203}


def leaking(process):
    """Live blocks by the function that allocated them."""
    return {name: sums["live_blocks"] for name, sums in process.sums(process.function).items()
            if sums["live_blocks"] and name in {*LEAKS, "read_request", "render_page"}}


def test_quickstart_program(launch):
    assert leaking(launch(target("leak")).process) == LEAKS


def test_text_names_what_leaks(uprobes, tmp_path):
    path = tmp_path / "report"
    assert mtrace("-o", str(path), target("leak")).status == 0
    text = path.read_text()
    for name, blocks in LEAKS.items():
        assert name in text and str(blocks) in text
    assert "leak.c:" in text
    assert "\x1b" not in text


COMPLETENESS = {
    (): ["stacks  all complete", "no events dropped"],
    ("--depth", "2"): ["% complete, for ", "after 2 frames: --depth 127 records more"],
    ("--stack", "fp"): ["unknown if complete: frame pointers cannot tell", "no events dropped"],
    ("--stack", "none"): ["places  stacks are off", "no events dropped"],
}


@pytest.mark.parametrize("options", COMPLETENESS, ids=" ".join)
def test_text_reports_stack_completeness(uprobes, tmp_path, options):
    path = tmp_path / "report"
    mtrace(*options, "-o", str(path), target("leak"))
    text = path.read_text()
    assert [words for words in COMPLETENESS[options] if words not in text] == []
    assert ("no events dropped" in text) == (not options or options[0] == "--stack")


def test_text_report_of_a_command_goes_to_stderr(uprobes):
    result = mtrace(target("leak"))
    assert result.stdout.startswith("served 400 requests")
    assert "remember_session" in result.stderr and "remember_session" not in result.stdout


def test_report_on_stdout(uprobes):
    result = mtrace("-q", "--format", "json", "-o", "-", "/bin/true")
    assert json.loads(result.stdout)["schema"] == "mtrace-bpf.report/1"
    assert result.stderr == ""


def test_several_formats(uprobes, tmp_path):
    result = mtrace("--format", f"json={tmp_path}/a.json", "--format", f"text={tmp_path}/b.txt",
                    target("leak"))
    assert result.status == 0
    with open(tmp_path / "a.json", encoding="utf-8") as file:
        assert json.load(file)["processes"]
    assert "remember_session" in (tmp_path / "b.txt").read_text()


def test_pid_in_the_name(uprobes, tmp_path):
    mtrace("--format", "json", "-o", f"{tmp_path}/%p.json", "/bin/true")
    names = os.listdir(tmp_path)
    assert len(names) == 1
    with open(tmp_path / names[0], encoding="utf-8") as file:
        assert names[0] == f"{json.load(file)['processes'][0]['pid']}.json"


def test_report_replaces_the_old_one_completely(uprobes, tmp_path):
    path = tmp_path / "report"
    path.write_text("x" * 10_000_000)
    path.chmod(0o640)
    assert mtrace("--format", "json", "-o", str(path), "/bin/true").status == 0
    json.loads(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["report"]


def test_new_reports_and_recordings_are_private(uprobes, tmp_path):
    mtrace("-o", f"{tmp_path}/report", "-l", f"{tmp_path}/trace", "/bin/true")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("report", "trace")} == {0o600}
    mtrace("-o", f"{tmp_path}/open", "--output-mode", "644", "/bin/true")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o644
    result = mtrace("--output-mode", "999", "/bin/true")
    assert result.status == 2 and '"999" is not a mode like 600 or 640' in result.stderr
    result = mtrace("--output-mode", "444", "/bin/true")
    assert result.status == 2 and "444 does not let you read and write" in result.stderr


@pytest.mark.parametrize("option", ["-o", "-l"])
def test_files_of_others_in_a_shared_directory_are_refused(uprobes, tmp_path, option):
    """Another user prepares a file and a symbolic link to a file of root."""
    need("root")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    secret = tmp_path / "secret"
    secret.write_text("root's")
    (shared / "file").write_text("theirs")
    os.chown(shared / "file", 65534, 65534)
    (shared / "link").symlink_to(secret)
    os.chown(shared / "link", 65534, 65534, follow_symlinks=False)
    for name, reason in (("file", "it belongs to another user"), ("link", "a symbolic link of another user")):
        result = mtrace(option, f"{shared}/{name}", "/bin/true")
        assert result.status == 1 and reason in result.stderr
        assert one_line(result.stderr)
    assert secret.read_text() == "root's" and (shared / "file").read_text() == "theirs"
    assert mtrace(option, f"{shared}/new", "/bin/true").status == 0
    assert (shared / "new").stat().st_uid == 0


def test_report_follows_own_links(uprobes, tmp_path):
    (tmp_path / "latest").symlink_to("report")
    assert mtrace("-o", f"{tmp_path}/latest", "/bin/true").status == 0
    assert (tmp_path / "latest").is_symlink() and (tmp_path / "report").stat().st_size


def test_top_limits_the_text(uprobes, tmp_path):
    path = tmp_path / "report"
    mtrace("--top", "1", "--sort", "usage", "-o", str(path), target("leak"))
    text = path.read_text()
    assert "remember_session" in text and "describe_error" not in text


def test_odd_names_do_not_break_the_json(launch, tmp_path):
    name = str(tmp_path / 'a "b"\\\n\tü\x01')
    os.symlink(target("short"), name)
    result = launch(name, "arg\xff".encode("latin-1"), options=())
    assert result.process["command"][0] == name


def test_doctor_succeeds(uprobes):
    """doctor succeeds where tracing works."""
    result = mtrace("doctor")
    assert result.status == 0, result.stdout + result.stderr
    assert "uprobes" in result.stdout


def test_nothing_is_left_in_tmp(launch, tmp_path):
    before = set(os.listdir("/tmp"))
    launch(target("short"), env={**os.environ, "TMPDIR": str(tmp_path)})
    assert not [name for name in set(os.listdir("/tmp")) - before if "mtrace" in name]
    assert sorted(os.listdir(tmp_path)) == ["report.json"]
    assert harness.one_line("mtrace-bpf: x") and not harness.one_line("a\nb\n")
