# SPDX-License-Identifier: GPL-2.0-or-later
"""The program for small boards (make SMALL=1) serves a trace in 8 MiB."""

import os

from kernels import in_guest
from report import assert_sites

# About 1,000 calls take 2 s here. Run with SMALL_CALLS=100000 to check that more calls need no more
# memory.
CALLS = int(os.environ.get("SMALL_CALLS", 8000))
LIVE = 30000  # maximum number of live blocks

MEMORY = 8 << 20

# The tracer is alone in its cgroup, together with the pages of its own executable: /tmp is in
# memory, and pages are charged to the process that writes them. The launched shell leaves the
# cgroup before it executes the target, and the client runs outside of it.
SERVE = """
mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
own=/sys/fs/cgroup/tracer
mkdir $own
echo %d >$own/memory.max
test ! -e $own/memory.swap.max || echo 0 >$own/memory.swap.max
echo 'echo $$ >/sys/fs/cgroup/cgroup.procs; exec mixed %d 0 -1 %d' >launched
cat >serve <<-end
	echo \\$\\$ >$own/cgroup.procs
	cp /usr/bin/mtrace-small /tmp/mtrace-small
	exec /tmp/mtrace-small serve --listen unix:/tmp/small --wait -- sh $PWD/launched
end
sh serve & server=$!
until test -e /tmp/small; do sleep 0.1; done
trace() { mtrace-bpf connect --format json -o report.json "$@"; }
trace unix:/tmp/small
status=$?
wait $server && cp $own/memory.peak $own/memory.events . && exit $status
""" % (MEMORY, CALLS, LIVE)


@in_guest(SERVE, targets=("mixed",), only="armmp", seconds=180 + CALLS // 100,
          files=(("/usr/bin/mtrace-small", "build-arm-small/mtrace-bpf.stripped"),))
def test_serves_in_8_mib(ran, expected):
    del expected
    assert ran.status == 0, ran.stderr
    peak = int(ran.files["memory.peak"])
    print(f"{peak} bytes at most")
    assert 1 << 20 < peak < MEMORY
    events = dict(line.split() for line in ran.files["memory.events"].decode().splitlines())
    assert (events["oom"], events["oom_kill"]) == ("0", "0")
    assert_sites(ran.processes[-1], ran.truth)
    assert ran.processes[-1]["live"]["blocks"] > min(LIVE, CALLS) / 2
