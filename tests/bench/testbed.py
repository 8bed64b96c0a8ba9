# SPDX-License-Identifier: GPL-2.0-or-later
"""What was measured on: the machine, its kernel, and the versions of all tools."""
import os
import platform
import re
import shutil
import subprocess

# Executable: options that print its version.
VERSIONS = {
    "bpftrace": ["--version"],
    "heaptrack": ["--version"],
    "valgrind": ["--version"],
    "ltrace": ["--version"],
    "gcc": ["--version"],
    "clang": ["--version"],
    "perf": ["--version"],
    "sqlite3": ["--version"],
    "redis-server": ["--version"],
    "git": ["--version"],
}
WEAKNESSES = "/sys/devices/system/cpu/vulnerabilities"


def first_line(command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=20, check=False, errors="replace")
    except (OSError, subprocess.SubprocessError):
        return None
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[0][:100] if lines else None


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def found(pattern, text):
    match = re.search(pattern, text, re.MULTILINE)
    return match[1].strip() if match else None


def mitigations():
    names = sorted(os.listdir(WEAKNESSES)) if os.path.isdir(WEAKNESSES) else []
    told = {name: read(f"{WEAKNESSES}/{name}").strip() for name in names}
    return {name: words for name, words in told.items() if words.startswith("Mitigation")}


def package_version(name):
    version = first_line(["dpkg-query", "-W", "-f=${Version}", name])
    return None if not version or "no packages" in version else version


def describe(program):
    processor = read("/proc/cpuinfo")
    versions = {name: first_line([name, *words]) for name, words in VERSIONS.items()
                if shutil.which(name)}
    bcc = package_version("bpfcc-tools")
    if bcc:
        versions["bcc"] = bcc
    return {
        "processor": found(r"^(?:model name|Model)\s*:(.*)", processor) or platform.machine(),
        "processors": os.cpu_count(),
        "virtual": bool(re.search(r"^flags.*\bhypervisor\b", processor, re.MULTILINE)),
        "memory_bytes": int(found(r"^MemTotal:\s+(\d+)", read("/proc/meminfo")) or 0) * 1024,
        "kernel": f"{platform.system()} {platform.release()}",
        "distribution": (found(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release")) or "unknown"),
        "libc": " ".join(platform.libc_ver()),
        "mitigations": mitigations(),
        "load": os.getloadavg()[0],
        "versions": {"mtrace-bpf": first_line([program, "--version"]), **versions},
    }


def print_testbed(machine):
    print(f"{machine['processors']} x {machine['processor']}"
          f"{', virtual' if machine['virtual'] else ''}, {machine['memory_bytes'] >> 30} GiB, "
          f"{machine['kernel']}, {machine['distribution']}, {machine['libc']}; "
          f"load before: {machine['load']:.2f}")
    print("mitigated: " + (", ".join(machine["mitigations"]) or "nothing"))
    for name, version in machine["versions"].items():
        print(f"  {name:14}{version}")
