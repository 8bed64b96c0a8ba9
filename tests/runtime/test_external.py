# SPDX-License-Identifier: GPL-2.0-or-later
"""The runner of the external leak suites (tests/external/run), on a small suite with ITC's
layout."""

import json
import os
import subprocess

import pytest

import harness
from machine import need
from report import ROOT

RUN = os.path.join(ROOT, "tests/external/run")

# The two variants differ in LEAK. The pointer is overwritten, so that no copy of the address is
# left.
SOURCE = """
#include <stdlib.h>
extern volatile int vflag;
static void *volatile block;
static void allocate(void) {{ block = malloc(100); }}
void memory_leak_main(void)
{{
	if (vflag == 1 || vflag == 888) {{
		for (int i = 0; i < 10; i++) {{
			allocate();
			if (!{leak})
				free(block);
		}}
		block = NULL;
	}}
	if (vflag == 2 || vflag == 888)
		block = malloc(200);
	if (vflag == 3 || vflag == 888)
		while (1) {{ }}
	if (vflag == 4 || vflag == 888)
		abort();
}}
"""

# A tracer that reports this number of definite leaks for each program.
FAKE = """#!/bin/sh
while [ "$1" != --output ]; do shift; done
cat >"$2" <<-END
{{"processes": [{{"exe": "", "stacks": [], "sites": [], "scan": {{"done": true,
 "definite": {{"blocks": {blocks}}}, "indirect": {{"blocks": 0}}, "possible": {{"blocks": 0}},
 "reachable": {{"blocks": 0}}, "unknown": {{"blocks": 0}}}}}}]}}
END
"""


@pytest.fixture(name="suite")
def make_suite(tmp_path):
    for folder, leak in (("01.w_Defects", 1), ("02.wo_Defects", 0)):
        (tmp_path / "suite" / folder).mkdir(parents=True)
        (tmp_path / "suite" / folder / "memory_leak.c").write_text(SOURCE.format(leak=leak))
    return tmp_path / "suite"


def run(*arguments, tracer=harness.MTRACE, **environment):
    return subprocess.run([RUN, "--levels", "O0", "--backends", harness.BACKEND.replace("auto", "ptrace"),
                           *map(str, arguments)], capture_output=True, text=True, check=False,
                          env={**os.environ, "MTRACE": str(tracer), **environment},
                          timeout=4 * harness.TIMEOUT)


def fake_tracer(tmp_path, blocks):
    path = tmp_path / "tracer"
    path.write_text(FAKE.format(blocks=blocks))
    path.chmod(0o755)
    return path


def test_leak_is_found_and_other_cases_are_left_out(suite, tmp_path, uprobes):
    del uprobes
    need("valgrind")
    done = run(suite, "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "-O0: 4 cases" in done.stdout
    assert "1 programs with a leak (1 more without one" in done.stdout
    assert "1 bad left out: endless natively" in done.stdout
    assert "1 good left out: killed by SIGABRT natively" in done.stdout
    assert done.stdout.splitlines()[-1] == "4 programs compared, mtrace-bpf is wrong or failed in 0"
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [(row["case"], row["variant"]) for row in results] == [
        (f"memory_leak_00{number}", variant) for number in range(1, 5) for variant in ("bad", "good")]
    leaked = {tool: sum(found["blocks"].get(name, 0) for name in ("definite", "indirect", "possible"))
              for tool, found in results[0]["findings"].items() if not found["error"]}
    assert leaked and set(leaked.values()) == {10}


def test_missed_leak_fails(suite, tmp_path):
    need("valgrind")
    done = run(suite, "--cases", "*_00[12]", tracer=fake_tracer(tmp_path, 0))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "none 1, failed 0; fewer blocks than valgrind 1" in done.stdout
    assert done.stdout.splitlines()[-1] == "4 programs compared, mtrace-bpf is wrong or failed in 1"


def test_false_positive_fails(suite, tmp_path):
    need("valgrind")
    done = run(suite, "--cases", "*_001", tracer=fake_tracer(tmp_path, 10))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "false positives 1, failed 0" in done.stdout


def test_tracer_without_report_fails(suite):
    need("valgrind")
    done = run(suite, "--cases", "*_001", tracer="/bin/false")
    assert done.returncode == 1 and "no report" in done.stdout


def test_usage_error_is_one_line(suite, tmp_path):
    need("valgrind")
    for arguments, environment, message in (
            ((suite / "none",), {}, f"no folder {suite}/none"),
            ((tmp_path,), {}, f"no suite in {tmp_path}"),
            ((suite, "--cases", "other"), {}, "no case of ITC, memory_leak.c matches other"),
            ((suite,), {"CC": "no-such-cc"}, "no compiler no-such-cc"),
            ((suite,), {"CC": "/bin/true", "PATH": "/usr/bin/no-such-folder"}, "no valgrind"),
            ((suite,), {"MTRACE": "/no/tracer"}, "/no/tracer is not built")):
        done = subprocess.run(["/usr/bin/python3", RUN, *map(str, arguments)], capture_output=True,
                              text=True, check=False,
                              env={**os.environ, "MTRACE": "/bin/false", **environment})
        assert done.returncode == 2 and not done.stdout
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith(f"check-external: {message}")
