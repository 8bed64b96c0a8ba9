# SPDX-License-Identifier: GPL-2.0-or-later
"""A tracer that has little memory (--max-memory, a small cgroup) samples new blocks, and says so."""

import json
import os
import shlex
import subprocess

import pytest

from harness import MTRACE, TIMEOUT, Running, launch, target
from machine import memory_cgroup, need
from test_sampling import assert_estimates, assert_sound, data_of, sums

# Up to 400,000 live blocks take at least 10 MB in the model.
MANY = (target("mixed"), "1000000", "0", "1000000", "400000")


def test_max_memory(tmp_path):
    need("bpf")
    result = launch(str(tmp_path), *MANY, options=("--max-memory", "16m"))
    data = data_of(result)
    assert_sound(data)
    assert_estimates(data, sums(result.truth))
    assert data["sampling"]["least_mean_bytes"] >= 4096
    limit = result.document["memory_limit"]
    assert limit["max_bytes"] == 16 << 20
    assert limit["mean_bytes"] == data["sampling"]["mean_bytes"]
    assert not limit["new_sites_are_other"]
    assert "the limit of --max-memory is near (16.0 MiB)" in result.stderr


def test_enough_memory(tmp_path):
    need("bpf")
    result = launch(str(tmp_path), *MANY, options=("--max-memory", "1g"))
    assert "memory_limit" not in result.document
    assert "estimate" not in data_of(result)


@pytest.fixture(name="small_cgroup")
def fixture_small_cgroup():
    need("memory_cgroup")
    root, limit = memory_cgroup()
    path = os.path.join(root, f"mtrace-test-{os.getpid()}")
    os.mkdir(path)
    with open(os.path.join(path, limit), "w", encoding="ascii") as file:
        file.write(str(72 << 20))
    yield path
    os.rmdir(path)


def test_small_cgroup(tmp_path, small_cgroup):
    """In the kernel alone, the tracer needs about 60 MB."""
    need("bpf")
    report = tmp_path / "report.json"
    command = ["sh", "-c", f"read line; exec {shlex.join(MANY)}"]
    with Running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        tracer = [MTRACE, "--format", "json", "-o", str(report), "-p", str(program.process.pid)]
        script = f"echo $$ >{small_cgroup}/cgroup.procs; exec {shlex.join(tracer)}"
        with subprocess.Popen(["sh", "-c", script], stderr=subprocess.PIPE, text=True) as traced:
            assert "tracing sh" in traced.stderr.readline()
            output, _ = program.process.communicate("\n", timeout=TIMEOUT)
            _, errors = traced.communicate(timeout=TIMEOUT)
    assert traced.returncode == 0
    assert "memory is short" in errors
    document = json.loads(report.read_text(encoding="utf-8"))
    assert document["memory_limit"]["max_bytes"] == 0
    [data] = [data for data in document["processes"] if data["comm"] == "mixed"]
    assert_estimates(data, sums(json.loads(output)))
