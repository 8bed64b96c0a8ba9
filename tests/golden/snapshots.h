/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots made by hand, whose reports are the golden files here. */
#ifndef MTRACE_TESTS_GOLDEN_SNAPSHOTS_H
#define MTRACE_TESTS_GOLDEN_SNAPSHOTS_H

#include "model/snapshot.h"

#define SECOND        1000000000ULL
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define FRAMES(array) .frames = (array), .frame_count = COUNT(array)

/* ---- a small C program, launched: two sites live, one not ---- */

static struct snapshot_frame leaky_node_frames[] = {
	{.address = 0x555555555189,
	 .module = "/home/ann/leaky",
	 .build_id = "c0ffee",
	 .offset = 0x1189,
	 .function = "node_new",
	 .file = "/home/ann/leaky.c",
	 .line = 14,
	 .inlined = true},
	{.address = 0x555555555189,
	 .module = "/home/ann/leaky",
	 .build_id = "c0ffee",
	 .offset = 0x1189,
	 .function = "list_append",
	 .file = "/home/ann/leaky.c",
	 .line = 23},
	{.address = 0x555555555201,
	 .module = "/home/ann/leaky",
	 .build_id = "c0ffee",
	 .offset = 0x1201,
	 .function = "main",
	 .file = "/home/ann/leaky.c",
	 .line = 40},
	{.address = 0x7ffff7df5249,
	 .module = "/lib/x86_64-linux-gnu/libc.so.6",
	 .build_id = "f00d",
	 .offset = 0x271c9,
	 .function = "__libc_start_call_main"},
	{.address = 0x7ffff7df5304,
	 .module = "/lib/x86_64-linux-gnu/libc.so.6",
	 .build_id = "f00d",
	 .offset = 0x27284,
	 .function = "__libc_start_main"},
	{.address = 0x5555555550a1,
	 .module = "/home/ann/leaky",
	 .build_id = "c0ffee",
	 .offset = 0x10a1},
};
static struct snapshot_frame leaky_dup_frames[] = {
	{.address = 0x7ffff7e709aa,
	 .module = "/lib/x86_64-linux-gnu/libc.so.6",
	 .build_id = "f00d",
	 .offset = 0x9e9aa,
	 .function = "strdup"},
	{.address = 0x555555555230,
	 .module = "/home/ann/leaky",
	 .build_id = "c0ffee",
	 .offset = 0x1230,
	 .function = "main",
	 .file = "/home/ann/leaky.c",
	 .line = 44},
	{.address = 0x7ffff7df5249,
	 .module = "/lib/x86_64-linux-gnu/libc.so.6",
	 .build_id = "f00d",
	 .offset = 0x271c9,
	 .function = "__libc_start_call_main"},
};
static struct snapshot_frame leaky_buffer_frames[] = {
	{.address = 0x555555555260,
	 .module = "/home/ann/leaky",
	 .build_id = "c0ffee",
	 .offset = 0x1260,
	 .function = "main",
	 .file = "/home/ann/leaky.c",
	 .line = 47},
};
static struct snapshot_stack leaky_stacks[] = {
	{.id = 0, FRAMES(leaky_buffer_frames)},
	{.id = 1, FRAMES(leaky_node_frames)},
	{.id = 2, FRAMES(leaky_dup_frames), .depth = 3, .stop = STOP_DEPTH, .truncated = true},
};
static struct snapshot_site leaky_sites[] = {
	{.id = 1,
	 .api = API_MALLOC,
	 .allocations = 110,
	 .frees = 10,
	 .bytes_allocated = 1153434,
	 .live_blocks = 100,
	 .live_bytes = 1048576,
	 .peak_live_bytes = 1048576,
	 .first_seen_ns = 100 * SECOND,
	 .oldest_ns = 101 * SECOND,
	 .stack = 1},
	{.id = 2,
	 .api = API_MALLOC,
	 .allocations = 1,
	 .bytes_allocated = 6,
	 .live_blocks = 1,
	 .live_bytes = 6,
	 .peak_live_bytes = 6,
	 .first_seen_ns = 101 * SECOND,
	 .oldest_ns = 112 * SECOND,
	 .stack = 2},
	{.id = 0,
	 .api = API_REALLOC,
	 .allocations = 12000,
	 .frees = 12000,
	 .bytes_allocated = 48000000,
	 .peak_live_bytes = 4000,
	 .failed_allocations = 2,
	 .first_seen_ns = 100 * SECOND,
	 .stack = 0},
};
static const char *leaky_command[] = {"./leaky", "--verbose", "input.txt", NULL};
static struct snapshot_process leaky[] = {{
	.pid = 4711,
	.ppid = 4700,
	.start_time_ns = 99 * SECOND,
	.comm = "leaky",
	.exe = "/home/ann/leaky",
	.command = leaky_command,
	.backend = "bpf",
	.arch = "x86_64",
	.launched = true,
	.exited = true,
	.exit_code = 0,
	.traced_since_ns = 100 * SECOND,
	.traced_until_ns = 112 * SECOND + 400000000,
	.totals = {.allocations = 12111,
		   .frees = 12010,
		   .bytes_allocated = 49153440,
		   .bytes_freed = 48104858,
		   .peak_live_bytes = 1052576,
		   .failed_allocations = 2},
	.live = {.blocks = 101, .bytes = 1048582},
	.internal = {.frees = 7},
	.sites = leaky_sites,
	.site_count = COUNT(leaky_sites),
	.stacks = leaky_stacks,
	.stack_count = COUNT(leaky_stacks),
}};
static const struct snapshot leaky_snapshot = {
	.taken_ns = 113 * SECOND,
	.taken_at = 1767225600,
	.taken_at_ms = 7,
	.version = "0.1.0",
	.processes = leaky,
	.process_count = COUNT(leaky),
};

/* ---- a C++ server, attached to, with mappings, losses and a neighbour without symbols ---- */

#define CXX_STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static struct snapshot_frame server_cache_frames[] = {
	{.address = 0x7f0000091010,
	 .module = "/usr/lib/libstdc++.so.6.0.30",
	 .offset = 0x91010,
	 .function = "operator new(unsigned long)",
	 .wrapper = true},
	{.address = 0x401000,
	 .module = "/opt/cached/bin/cached",
	 .offset = 0x1000,
	 .function =
		 "std::__new_allocator<std::pair<" CXX_STRING " const, Entry> >::allocate(unsigned "
		 "long, void const*)",
	 .file = "/usr/include/c++/12/bits/new_allocator.h",
	 .line = 137,
	 .inlined = true},
	{.address = 0x401000,
	 .module = "/opt/cached/bin/cached",
	 .offset = 0x1000,
	 .function = "cache::ShardedTable<" CXX_STRING ", std::shared_ptr<cache::Entry>, "
		     "std::hash<" CXX_STRING " > >::insert_or_assign(" CXX_STRING " const&, "
		     "std::shared_ptr<cache::Entry>)",
	 .file = "/opt/cached/src/sharded_table.h",
	 .line = 212},
	{.address = 0x402000,
	 .module = "/opt/cached/bin/cached",
	 .offset = 0x2000,
	 .function = "cache::Server::on_put(net::Connection&, std::span<char const, "
		     "18446744073709551615ul>)",
	 .file = "/opt/cached/src/server.cpp",
	 .line = 88},
	{.address = 0x7f0000500123,
	 .module = "/opt/cached/lib/libeventloop-with-a-long-name.so.3",
	 .offset = 0x123},
	{.address = 0x403000,
	 .module = "/opt/cached/bin/cached",
	 .offset = 0x3000,
	 .function = "main",
	 .file = "/opt/cached/src/main.cpp",
	 .line = 31},
};
static struct snapshot_frame server_jit_frames[] = {
	{.address = 0x7f1234567890},
	{.address = 0x7f0000500456,
	 .module_id = 7,
	 .module = "/opt/cached/lib/libplugin.so",
	 .offset = 0x456},
};
static struct snapshot_frame server_map_frames[] = {
	{.address = 0x404000,
	 .module = "/opt/cached/bin/cached",
	 .offset = 0x4000,
	 .function = "cache::Arena::grow(unsigned long)",
	 .file = "/opt/cached/src/arena.cpp",
	 .line = 9},
	{.address = 0x403010,
	 .module = "/opt/cached/bin/cached",
	 .offset = 0x3010,
	 .function = "main",
	 .file = "/opt/cached/src/main.cpp",
	 .line = 20},
};
static struct snapshot_stack server_stacks[] = {
	{.id = 0, FRAMES(server_cache_frames)},
	{.id = 1,
	 FRAMES(server_jit_frames),
	 .stop = STOP_NO_TABLE,
	 .truncated = true,
	 .end_module = "/opt/cached/lib/libplugin.so"},
	{.id = 2, FRAMES(server_map_frames)},
	{.id = 3, .stop = STOP_NOT_TAKEN},
};
static struct snapshot_site server_sites[] = {
	{.id = 3,
	 .api = API_MMAP,
	 .allocations = 3,
	 .bytes_allocated = 201326592,
	 .live_blocks = 3,
	 .live_bytes = 201326592,
	 .peak_live_bytes = 201326592,
	 .first_seen_ns = 10 * SECOND,
	 .oldest_ns = 10 * SECOND,
	 .stack = 2},
	{.id = 0,
	 .api = API_NEW,
	 .allocations = 1234567,
	 .frees = 234567,
	 .bytes_allocated = 123456700,
	 .live_blocks = 1000000,
	 .live_bytes = 100000000,
	 .peak_live_bytes = 100000000,
	 .first_seen_ns = 10 * SECOND,
	 .oldest_ns = 20 * SECOND,
	 .stack = 0},
	{.id = 1,
	 .api = API_CALLOC,
	 .allocations = 5,
	 .bytes_allocated = 4500,
	 .live_blocks = 4,
	 .live_bytes = 3600,
	 .frees = 1,
	 .peak_live_bytes = 4500,
	 .failed_allocations = 1,
	 .first_seen_ns = 11 * SECOND,
	 .oldest_ns = 3610 * SECOND - 250000,
	 .stack = 1},
	{.id = 2,
	 .api = API_POSIX_MEMALIGN,
	 .allocations = 1,
	 .bytes_allocated = 64,
	 .live_blocks = 1,
	 .live_bytes = 64,
	 .peak_live_bytes = 64,
	 .first_seen_ns = 12 * SECOND,
	 .oldest_ns = 12 * SECOND,
	 .stack = 3},
};
static const char *server_command[] = {"/opt/cached/bin/cached",
				       "--config",
				       "/etc/cached/production/cluster-7/node-12/cached.conf",
				       "--listen",
				       "0.0.0.0:11211",
				       NULL};
static struct snapshot_process server[] = {
	{
		.pid = 1234,
		.ppid = 1,
		.inner_pid = 12,
		.cgroup = "/system.slice/docker-"
			  "3f9ab2c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80.scope",
		.container = "3f9ab2c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80",
		.start_time_ns = 5 * SECOND,
		.comm = "cached",
		.exe = "/opt/cached/bin/cached",
		.command = server_command,
		.backend = "bpf",
		.arch = "x86_64",
		.traced_since_ns = 10 * SECOND,
		.traced_until_ns = 3610 * SECOND,
		.totals = {.allocations = 1234573,
			   .frees = 234568,
			   .bytes_allocated = 123461264,
			   .bytes_freed = 23457600,
			   .peak_live_bytes = 100003664,
			   .failed_allocations = 1},
		.live = {.blocks = 1000005, .bytes = 100003664},
		.mappings = {.maps = 3, .bytes = 201326592},
		.internal = {.frees = 12, .munmaps = 1},
		.losses = {.events = 3,
			   .stacks = 1,
			   .truncated_stacks = 1,
			   .unmatched_frees = 1204,
			   .missed_returns = 2,
			   .unprobed_sites = 1,
			   .gap_ns = 350000000,
			   .collisions = 9},
		.sites = server_sites,
		.site_count = COUNT(server_sites),
		.stacks = server_stacks,
		.stack_count = COUNT(server_stacks),
	},
	{
		.pid = 1235,
		.ppid = 1234,
		.comm = "sleep",
		.exe = "/usr/bin/sleep",
		.backend = "ptrace",
		.arch = "i386",
		.traced_since_ns = 10 * SECOND,
		.traced_until_ns = 10 * SECOND + 9000,
	},
};
static const struct snapshot server_snapshot = {
	.taken_ns = 3610 * SECOND,
	.taken_at = 1767229200,
	.version = "0.1.0",
	.processes = server,
	.process_count = COUNT(server),
};

/* ---- a build: many processes, most of them of no account ---- */

static struct snapshot_frame build_parse_frames[] = {
	{.address = 0x401100,
	 .module = "/usr/libexec/cc1",
	 .offset = 0x1100,
	 .function = "parse_file",
	 .file = "parse.c",
	 .line = 77},
};
static struct snapshot_stack build_stacks[] = {
	{.id = 0, FRAMES(build_parse_frames)},
	{.id = 1, .stop = STOP_NOT_TAKEN},
};
static struct snapshot_site build_cc1_sites[] = {
	{.id = 0,
	 .api = API_MALLOC,
	 .allocations = 6000,
	 .frees = 1000,
	 .bytes_allocated = 6000000,
	 .live_blocks = 5000,
	 .live_bytes = 5000000,
	 .peak_live_bytes = 5000000,
	 .first_seen_ns = 11 * SECOND,
	 .oldest_ns = 11 * SECOND,
	 .stack = 0},
	{.id = 1,
	 .api = API_MALLOC,
	 .allocations = 4000,
	 .frees = 3000,
	 .bytes_allocated = 40000,
	 .live_blocks = 1000,
	 .live_bytes = 10000,
	 .peak_live_bytes = 20000,
	 .failed_allocations = 2,
	 .other = true,
	 .first_seen_ns = 11 * SECOND,
	 .oldest_ns = 11 * SECOND,
	 .stack = 1},
};
static struct snapshot_site build_worker_sites[] = {
	{.id = 0,
	 .api = API_CALLOC,
	 .allocations = 30,
	 .frees = 50,
	 .bytes_allocated = 3000,
	 .inherited_blocks = 120,
	 .inherited_bytes = 12000,
	 .live_blocks = 100,
	 .live_bytes = 10000,
	 .peak_live_bytes = 12000,
	 .first_seen_ns = 10 * SECOND,
	 .oldest_ns = 10 * SECOND,
	 .stack = 0},
};
static const char *build_make_command[] = {"make", "-j2", "all", NULL};
static const char *build_cc1_command[] = {"/usr/libexec/cc1", "-quiet", "main.c", NULL};
#define BUILD_SPAN .backend = "bpf", .traced_since_ns = 10 * SECOND, .traced_until_ns = 12 * SECOND
#define BUILD_WORKER(field)                                                               \
	BUILD_SPAN, .ppid = 500, .exe = "/usr/bin/make", .command = build_make_command,   \
		    .launched = true, .forked = true, .inherited = {120, 12000},          \
		    .live = {100, 10000}, .totals = {30, 50, 3000, 5000, 12000, 0},       \
		    .sites = build_worker_sites, .site_count = COUNT(build_worker_sites), \
		    .stacks = build_stacks, .stack_count = 1, field
static struct snapshot_process build[] = {
	{BUILD_SPAN, .pid = 500, .ppid = 1, .comm = "make", .command = build_make_command,
	 .launched = true, .live = {120, 12000}, .totals = {120, 0, 12000, 0, 12000, 0}},
	{BUILD_WORKER(.replaced = true), .pid = 501, .comm = "make"},
	{BUILD_SPAN, .pid = 501, .image = 1, .ppid = 500, .comm = "cc1",
	 .command = build_cc1_command, .launched = true, .exited = true, .live = {6000, 5010000},
	 .totals = {10000, 4000, 6040000, 1030000, 5010000, 2}, .other_calls = 4002,
	 .sites = build_cc1_sites, .site_count = COUNT(build_cc1_sites), .stacks = build_stacks,
	 .stack_count = COUNT(build_stacks)},
	{BUILD_WORKER(.exited = true), .pid = 502, .comm = "make", .exit_code = 0x200},
	{BUILD_WORKER(.left = true), .pid = 503, .comm = "a-worker-with-a-long-name"},
	{BUILD_SPAN, .pid = 504, .ppid = 500, .comm = "sh", .exited = true, .exit_code = 9},
};
static const struct snapshot build_snapshot = {
	.taken_ns = 13 * SECOND,
	.version = "0.1.0",
	.processes = build,
	.process_count = COUNT(build),
	.others = {.sections = 4321,
		   .processes = 4000,
		   .gone = {1000, 20000},
		   .sums = {.live = {50000, 7000000},
			    .inherited = {10000, 1000000},
			    .totals = {250000, 210000, 9000000, 3000000, 8000000, 0}}},
};

/* ---- names that want to hurt; exec, then death by a signal ---- */

static struct snapshot_frame hostile_frames[] = {
	{.address = 1,
	 .module = "/tmp/\x1b[31mred\xff.so",
	 .function = "f\x07\xc2\x9b"
		     "31m(\xe2\x80\xae)\n",
	 .file = "/tmp/\xe6\xbc\xa2\xe5\xad\x97/na\xc3\xafve\t.c",
	 .line = 3},
	{.address = 2, .module = "/tmp/x\"y\\z", .offset = 0x10},
	{.address = 3, .function = "((((<<<<>", .file = "", .line = UINT32_MAX},
};
static struct snapshot_stack hostile_stacks[] = {{.id = 0, FRAMES(hostile_frames)}};
static struct snapshot_site hostile_sites[] = {
	{.id = 0,
	 .api = API_MALLOC,
	 .allocations = UINT64_MAX,
	 .bytes_allocated = UINT64_MAX,
	 .live_blocks = UINT64_MAX,
	 .live_bytes = UINT64_MAX,
	 .oldest_ns = UINT64_MAX,
	 .stack = 0},
	{.id = 1, .api = API_COUNT, .live_blocks = 1, .stack = 0},
};
static const char *hostile_command[] = {"\x1b]0;owned\x07", "caf\xe9", "\xf0\x9f\x98\x80",
					"\xed\xa0\x80", NULL};
static struct snapshot_process hostile[] = {
	{.pid = 4194303,
	 .comm = "sh",
	 .command = hostile_command,
	 .backend = "bpf",
	 .launched = true,
	 .replaced = true,
	 .traced_until_ns = SECOND},
	{.pid = 4194303,
	 .image = 1,
	 .comm = "\x1b[2J\xff\r"
		 "evil\n",
	 .command = hostile_command,
	 .backend = "bpf",
	 .launched = true,
	 .exited = true,
	 .exit_code = 11,
	 .traced_since_ns = SECOND,
	 .traced_until_ns = 2 * SECOND,
	 .totals = {.allocations = UINT64_MAX, .bytes_allocated = UINT64_MAX},
	 .live = {.blocks = UINT64_MAX, .bytes = UINT64_MAX},
	 .losses = {.events = UINT64_MAX, .unmatched_frees = 1, .truncated_stacks = UINT64_MAX},
	 .sites = hostile_sites,
	 .site_count = COUNT(hostile_sites),
	 .stacks = hostile_stacks,
	 .stack_count = COUNT(hostile_stacks)},
};
static const struct snapshot hostile_snapshot = {
	.version = "0.1.0",
	.processes = hostile,
	.process_count = COUNT(hostile),
};

#endif
