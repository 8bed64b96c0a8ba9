# SPDX-License-Identifier: GPL-2.0-or-later
"""mtrace-bpf diff: what changed between two reports, from the same trace or not."""

import copy
import json
import re
import subprocess

import pytest

from harness import MTRACE, Steady, mtrace, one_line, target


@pytest.fixture
def two(attach, tmp_path):
    """Two reports of one process, which works between them."""
    paths = []
    with Steady() as steady:
        with attach(steady.pid, options=("--format", "json")) as tracer:
            steady.tell("w")
            paths.append(keep(tracer.stop().document, tmp_path / "old.json"))
        with attach(steady.pid, options=("--format", "json")) as tracer:
            for _ in range(3):
                steady.tell("w")
            paths.append(keep(tracer.stop().document, tmp_path / "new.json"))
    return paths


def keep(document, path):
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def live_of(document, function):
    process, = document["processes"]
    return sum(site["live_bytes"] for site in process["sites"]
               if process["stacks"][site["stack"]]["frames"][0]["function"] == function)


def sections(text):
    """The lines under each title."""
    found, lines = {}, []
    for line in text.splitlines():
        if re.match(r"(Grew|New|Shrank|Gone) ", line):
            lines = found.setdefault(line.split()[0], [])
        lines.append(line)
    return found


def diff(*arguments):
    done = mtrace("diff", *arguments)
    assert done.status == 0, done.stderr
    return done.stdout


def test_grown_sites_are_listed(two):
    old, new = map(load, two)
    assert live_of(new, "t_kept") == 3 * live_of(old, "t_kept") > 0
    text = diff(*two)
    assert text.startswith("Since old.json")
    assert "t_kept" in "".join(sections(text)["Grew"])
    assert "t_kept" in "".join(sections(diff(*reversed(two)))["Shrank"])


def test_no_differences(two):
    assert "No site has more or less live" in diff(two[0], two[0])


def test_new_and_gone_sites_are_listed(two, tmp_path):
    document = load(two[0])
    process, = document["processes"]
    process["sites"] = [site for site in process["sites"]
                        if process["stacks"][site["stack"]]["frames"][0]["function"] != "t_kept"]
    without = keep(document, tmp_path / "without.json")
    assert "t_kept" in "".join(sections(diff(without, two[0]))["New"])
    assert "t_kept" in "".join(sections(diff(two[0], without))["Gone"])


def test_sites_match_across_builds(two, tmp_path):
    """Lines and offsets move, functions keep their names."""
    document = load(two[1])
    for process in document["processes"]:
        for stack in process["stacks"]:
            for frame in stack["frames"]:
                frame.update(build_id="00" + frame["build_id"][2:], line=frame["line"] + 7,
                             offset=hex(int(frame["offset"], 16) + 0x100))
    found = sections(diff(two[0], keep(document, tmp_path / "rebuilt.json")))
    assert "t_kept" in "".join(found["Grew"])
    assert "New" not in found and "Gone" not in found


def test_processes_of_one_program_are_summed(two, tmp_path):
    """Processes of one program are added up; different programs are kept apart."""
    document = load(two[0])
    twin, other = (copy.deepcopy(document["processes"][0]) for _ in range(2))
    twin["pid"] += 1
    other.update(pid=other["pid"] + 2, exe="/usr/bin/other", comm="other")
    document["processes"] += [twin, other]
    found = sections(diff(two[0], keep(document, tmp_path / "several.json")))
    assert [line for line in found["Grew"] if re.match(r" +steady .*t_kept", line)]
    assert [line for line in found["New"] if re.match(r" +other .*t_kept", line)]


def test_options(two, tmp_path):
    path = tmp_path / "difference"
    assert diff("--top", "1", "-o", str(path), *two) == ""
    assert path.read_text(encoding="utf-8").startswith("Since old.json")


@pytest.mark.parametrize("arguments,words", [
    ((), "needs two JSON reports"), (("a",), "needs two JSON reports"), (("a", "b", "c"), "takes two"),
    (("-i", "a", "b"), "neither --record"), (("--format", "json", "a", "b"), "writes only"),
    (("-a", "a", "b"), "--scan is not valid"), (("--listen", "x", "a", "b"), "--listen is only"),
])
def test_misuse(arguments, words):
    done = mtrace("diff", *arguments)
    assert done.status == 2 and one_line(done.stderr) and words in done.stderr


def test_order_of_members_does_not_matter(two, tmp_path):
    (tmp_path / "sorted").mkdir()
    again = [tmp_path / "sorted" / path.rsplit("/", 1)[1] for path in two]
    for path, report in zip(again, two):
        path.write_text(json.dumps(load(report), sort_keys=True, indent=2), encoding="utf-8")
    assert diff(*map(str, again)) == diff(*two)


def test_pipes_are_read(two):
    command = ["bash", "-c", '"$0" diff <(cat "$1") <(cat "$2")', MTRACE, *two]
    piped = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    assert piped.splitlines()[1:] == diff(*two).splitlines()[1:]


def test_endless_and_huge_input_is_refused(tmp_path):
    done = mtrace("diff", "/dev/zero", "/dev/zero")
    assert done.status == 1 and one_line(done.stderr) and "neither a file nor a pipe" in done.stderr
    path = tmp_path / "huge.json"
    path.write_text('{"processes": [{"sites": [' + '{"live_bytes": 1},' * 600_000 + "{}]}]}",
                    encoding="utf-8")
    done = mtrace("diff", str(path), str(path))
    assert done.status == 1 and one_line(done.stderr) and "too large" in done.stderr


def test_no_report(tmp_path):
    path = tmp_path / "text"
    path.write_text("nothing\n", encoding="utf-8")
    for wrong, word in ((path, "is not a JSON report"), (tmp_path / "none", "No such file"),
                        (target("basic"), "is not a JSON report")):
        done = mtrace("diff", str(wrong), str(path))
        assert done.status == 1 and one_line(done.stderr) and word in done.stderr
