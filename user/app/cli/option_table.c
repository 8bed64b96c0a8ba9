/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option table: for each option, its names, argument, help text and setter. */
#include "app/cli/option_table.h"

#include <stdio.h>
#include <string.h>

#include "app/cli/option_setters.h"

static const struct option_row option_rows[] = {
	{'p', GROUP_TARGET, "pid", "LIST", "attach to these processes: 123,456 (repeatable)",
	 set_pid},
	{'u', GROUP_TARGET, "user", "NAME", "run CMD as this user", set_user},
	{'c', GROUP_TARGET, "cwd", "DIR", "run CMD in this directory", set_directory},
	{'f', GROUP_TARGET, "follow-fork", NULL, "also trace children, each in its own section",
	 set_follow},
	{'\0', GROUP_TARGET, "system-wide", NULL, "trace all processes, current and future",
	 set_system},
	{'\0', GROUP_TARGET, "hold-exec", NULL,
	 "pause each new program until its allocator is\nprobed", set_hold_exec},
	{'\0', GROUP_TARGET, "comm", "GLOB",
	 "only processes whose name matches GLOB\n(nginx, php*)", set_comm},
	{'\0', GROUP_TARGET, "exe", "GLOB",
	 "only processes whose program matches GLOB, by\nname or path", set_exe},
	{'\0', GROUP_TARGET, "cgroup", "PATH", "only processes in this control group", set_cgroup},
	{'\0', GROUP_TARGET, "uid", "USER", "only processes of this user", set_uid},
	{'e', GROUP_TARGET, "follow-exec", NULL, "no effect: exec is always followed",
	 set_follow_exec},

	{'\0', GROUP_RECORD, "only", "LIST", "families or functions: malloc,new,mmap (all)",
	 set_only},
	{'n', GROUP_RECORD, "nocpp", NULL, "do not trace C++ operators new and delete", set_no_cpp},
	{'O', GROUP_RECORD, "omit", "OBJECT", "do not probe this library (path or name)", set_omit},
	{'\0', GROUP_RECORD, "allocator", "OBJECT[:PREFIX]",
	 "also probe OBJECT's allocator functions, whose\nnames start with PREFIX: ./app:my_ "
	 "(repeatable)",
	 set_allocator},
	{'d', GROUP_RECORD, "depth", "N", "frames recorded per stack, 1 to 127 (32)", set_depth},
	{'\0', GROUP_RECORD, "stack", "auto|cfi|fp|none", "how to unwind stacks (auto)", set_stack},
	{'\0', GROUP_RECORD, "backend", "auto|bpf|ptrace", "how to trace calls (auto)",
	 set_backend},
	{'\0', GROUP_RECORD, "sample", "BYTES",
	 "sample allocations, one per BYTES allocated on\naverage; totals are estimates",
	 set_sample},
	{'\0', GROUP_RECORD, "gates", "auto|always|never",
	 "sample in the process, without a trap for each\ncall (auto: where it is possible)",
	 set_gates},
	{'\0', GROUP_RECORD, "max-overhead", "PERCENT",
	 "sample so that tracing takes at most PERCENT of\nthe traced programs' CPU time, 0.1 to "
	 "100",
	 set_max_overhead},
	{'\0', GROUP_RECORD, "abort-over", "PERCENT",
	 "detach at once if tracing takes more of the\ntraced programs' CPU time, 0.1 to 100",
	 set_abort_over},
	{'\0', GROUP_RECORD, "min-size", "BYTES", "ignore smaller allocations", set_min_size},
	{'\0', GROUP_RECORD, "max-size", "BYTES", "ignore larger allocations", set_max_size},
	{'\0', GROUP_RECORD, "buffer", "BYTES", "ring buffer, 64k to 1g (16m)", set_buffer},
	{'\0', GROUP_RECORD, "max-memory", "BYTES",
	 "keep this program's memory below BYTES: beyond,\nblocks are sampled (what is available)",
	 set_max_memory},
	{'\0', GROUP_RECORD, "pairing", "session|task|hash|perf-task|perf-hash",
	 "how to match calls with their returns\n(the best that works here)", set_pairing},

	{'a', GROUP_SCAN, "scan", NULL,
	 "scan for leaks at the end: blocks that nothing\npoints to any more", set_scan},
	{'\0', GROUP_SCAN, "scan-every", "DURATION", "scan for leaks every DURATION (10s, 5m, 1h)",
	 set_scan_every},
	{'\0', GROUP_SCAN, "scan-stop", NULL,
	 "pause the process while it is scanned (default\nat the end)", set_scan_stop},
	{'\0', GROUP_SCAN, "scan-live", NULL,
	 "scan while the process runs, in several passes\n(default with --scan-every)",
	 set_scan_live},
	{'\0', GROUP_SCAN, "scan-swapped", NULL, "also scan swapped-out pages (reads them back in)",
	 set_scan_swapped},
	{'\0', GROUP_SCAN, "align", "1|2|4|8", "alignment of pointers (the size of a pointer)",
	 set_align},
	{'S', GROUP_SCAN, "sanity", NULL,
	 "report double frees, invalid frees, and\nmismatched new, delete and free", set_sanity},
	{'\0', GROUP_SCAN, "error-exitcode", "N",
	 "exit status, 1 to 255, if there are leaks\n(--leak-kinds) or --sanity errors",
	 set_error_exitcode},
	{'\0', GROUP_SCAN, "leak-kinds", "LIST",
	 "leaks that --error-exitcode counts: definite,\nindirect, possible, stack-only, "
	 "reachable,\n"
	 "unknown, all or none (definite)",
	 set_leak_kinds},

	{'s', GROUP_REPORT, "sort", "KEY",
	 "sort sites by usage, allocations, total,\naverage, leaks, bytes-leaked, mismatched,\n"
	 "badfree, age, growth or tsc (usage)",
	 set_sort},
	{'\0', GROUP_REPORT, "top", "N",
	 "number of sites and processes to show, 0 for\nall (20; JSON: all)", set_top},
	{'\0', GROUP_REPORT, "interval", "DURATION", "also report every DURATION (10s, 5m, 1h)",
	 set_interval},
	{'\0', GROUP_REPORT, "count", "N", "end the trace after N reports by --interval",
	 set_count},
	{'\0', GROUP_REPORT, "keep", "N", "keep only the latest N files named with %n (all)",
	 set_keep},
	{'o', GROUP_REPORT, "output", "FILE",
	 "write the report to FILE: - is stdout, %p the\npid, %n the report number (stdout with "
	 "-p,\n"
	 "stderr with CMD)",
	 set_output},
	{'\0', GROUP_REPORT, "output-mode", "MODE",
	 "permissions of new reports and recordings, in\noctal (600)", set_output_mode},
	{'l', GROUP_REPORT, "record", "FILE",
	 "record the trace for mtrace-bpf report; print\nno report unless -o or --format is given",
	 set_record},
	{'\0', GROUP_REPORT, "format", "FORMAT[=FILE]",
	 "text, json, folded, pprof, pprof-text or mtrace\n(text); repeat with =FILE for several "
	 "at once",
	 set_format},
	{'\0', GROUP_REPORT, "ignore", "PATTERN",
	 "suppress leaks whose stack has a matching\nfunction: a glob or /regex/ (repeatable)",
	 set_ignore},
	{'\0', GROUP_REPORT, "suppressions", "FILE",
	 "read suppressions from FILE, also those of\nLeakSanitizer and memcheck (repeatable)",
	 set_suppressions},
	{'L', GROUP_REPORT, "long", NULL, "show the module of each frame", set_long},
	{'b', GROUP_REPORT, "binpath", "DIR",
	 "for report: directory of the recorded programs\nand libraries (repeatable)", set_binpath},
	{'\0', GROUP_REPORT, "sysroot", "DIR", "for report: root directory of these files",
	 set_sysroot},
	{'\0', GROUP_REPORT, "debuginfod", NULL,
	 "download missing debug information from\n$DEBUGINFOD_URLS", set_debuginfod},
	{'\0', GROUP_REPORT, "color", "auto|always|never", "use colors (auto: on a terminal)",
	 set_color},

	{'\0', GROUP_METRICS, "prometheus", "ADDR:PORT",
	 "serve metrics at /metrics and pprof profiles at\n/debug/pprof/heap; PORT alone: loopback "
	 "only",
	 set_prometheus},
	{'\0', GROUP_METRICS, "prometheus-file", "FILE",
	 "write metrics to FILE every --interval (15s)\nand at the end", set_prometheus_file},
	{'\0', GROUP_METRICS, "prometheus-sites", "N",
	 "sites per process with their own series, 0 to\n10000 (20)", set_prometheus_sites},
	{'\0', GROUP_METRICS, "prometheus-processes", "N",
	 "processes with their own series, 1 to\n10000 (50)", set_prometheus_processes},
	{'\0', GROUP_METRICS, "prometheus-auth", "FILE", "require the user:password in FILE",
	 set_prometheus_auth},
	{'\0', GROUP_METRICS, "prometheus-tls", "CERT,KEY",
	 "serve metrics over HTTPS with these files", set_prometheus_tls},
	{'\0', GROUP_METRICS, "prometheus-host", "NAMES",
	 "also accept these names in the Host header:\nservice names, aliases (comma-separated)",
	 set_prometheus_host},

	{'\0', GROUP_SERVE, "listen", "ADDR",
	 "listen on unix:/path, host:port or [v6]:port\n(localhost)", set_listen},
	{'w', GROUP_SERVE, "wait", NULL, "start tracing when the first client connects", set_wait},
	{'\0', GROUP_SERVE, "backlog", "BYTES",
	 "events kept for clients that connect late or\nreconnect (64m, or 1/8 of memory if less)",
	 set_backlog},
	{'\0', GROUP_SERVE, "checkpoint", "BYTES",
	 "model of what the backlog no longer has (256m,\nor 1/8 of memory if less); 0: none",
	 set_checkpoint},

	{'\0', GROUP_CONNECT, "reconnect", "DURATION",
	 "retry a broken connection for DURATION (0s)", set_reconnect},
	{'\0', GROUP_CONNECT, "end", NULL, "end the remote trace and report it", set_end_trace},

	{'P', GROUP_NET, "port", "PORT", "port if ADDR has none (4576)", set_port},
	{'\0', GROUP_NET, "token-file", "FILE", "file with a secret that both sides share",
	 set_token_file},
	{'\0', GROUP_NET, "tls-cert", "FILE", "TLS certificate of this side", set_tls_cert},
	{'\0', GROUP_NET, "tls-key", "FILE", "private key of that certificate", set_tls_key},
	{'\0', GROUP_NET, "tls-ca", "FILE", "CA certificates to trust", set_tls_ca},

	{'i', GROUP_GENERAL, "interactive", NULL, "open a shell on the running trace (type help)",
	 set_interactive},
	{'F', GROUP_GENERAL, "config", "FILE",
	 "read defaults, one long option per line, from\nFILE instead of "
	 "~/.config/mtrace-bpf/config and\n"
	 "/etc/mtrace-bpf.conf (repeatable)",
	 set_config},
	{'q', GROUP_GENERAL, "quiet", NULL, "print only errors and the report", set_quiet},
	{'v', GROUP_GENERAL, "verbose", NULL, "print what is being done; -vv: in detail",
	 set_verbose},
	{'V', GROUP_GENERAL, "version", NULL, "print the version", set_version},
	{'h', GROUP_GENERAL, "help", NULL, "print this help", set_help},
};

#define OPTION_COUNT (sizeof(option_rows) / sizeof(option_rows[0]))

static const char *const group_names[] = {
	[GROUP_TARGET] = "What to trace",  [GROUP_RECORD] = "What to record",
	[GROUP_SCAN] = "Leaks and errors", [GROUP_REPORT] = "The report",
	[GROUP_SERVE] = "serve",           [GROUP_CONNECT] = "connect",
	[GROUP_NET] = "serve and connect", [GROUP_GENERAL] = "General",
	[GROUP_METRICS] = "Metrics",
};
_Static_assert(sizeof(group_names) / sizeof(group_names[0]) == GROUP_COUNT, "all groups named");

const struct option_row *option_at(size_t i)
{
	return i < OPTION_COUNT ? &option_rows[i] : NULL;
}

const struct option_row *option_by_letter(char letter)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (letter && option_rows[i].letter == letter)
			return &option_rows[i];
	return NULL;
}

const struct option_row *option_by_name(const char *name, size_t length)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strlen(option_rows[i].name) == length &&
		    !strncmp(option_rows[i].name, name, length))
			return &option_rows[i];
	return NULL;
}

bool option_is_read_first(const struct option_row *row)
{
	return row->set == set_config;
}

const char *option_group_name(enum option_group group)
{
	return group_names[group];
}

const char *option_heading(const struct option_row *row, char text[OPTION_HEADING_SIZE])
{
	char letter[] = {'-', row->letter, ',', ' ', '\0'};

	snprintf(text, OPTION_HEADING_SIZE, "%s--%s%s%s", row->letter ? letter : "", row->name,
		 row->argument ? " " : "", row->argument ? row->argument : "");
	return text;
}
