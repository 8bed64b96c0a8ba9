/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every option: its names, its argument, what help says, and the function that stores it. */
#include "app/cli/option_table.h"

#include <stdio.h>
#include <string.h>

#include "app/cli/option_setters.h"

static const struct option_row option_rows[] = {
	{'p', GROUP_TARGET, "pid", "LIST", "attach to these processes: 123,456 (repeatable)",
	 set_pid},
	{'u', GROUP_TARGET, "user", "NAME", "run CMD as this user", set_user},
	{'c', GROUP_TARGET, "cwd", "DIR", "run CMD in this directory", set_directory},
	{'f', GROUP_TARGET, "follow-fork", NULL, "trace children, too, each with books of its own",
	 set_follow},
	{'\0', GROUP_TARGET, "system-wide", NULL, "trace every process, and each one born later",
	 set_system},
	{'\0', GROUP_TARGET, "hold-exec", NULL,
	 "let programs that are executed wait until\ntheir allocators are probed", set_hold_exec},
	{'\0', GROUP_TARGET, "comm", "GLOB", "of all, those with such a name (nginx, php*)",
	 set_comm},
	{'\0', GROUP_TARGET, "exe", "GLOB",
	 "of all, those that run such a program: its name,\nor its path", set_exe},
	{'\0', GROUP_TARGET, "cgroup", "PATH", "of all, those in this control group", set_cgroup},
	{'\0', GROUP_TARGET, "uid", "USER", "of all, those of this user", set_uid},
	{'e', GROUP_TARGET, "follow-exec", NULL, "accepted: new images are always followed",
	 set_follow_exec},

	{'\0', GROUP_RECORD, "only", "LIST", "families or functions: malloc,new,mmap (all)",
	 set_only},
	{'n', GROUP_RECORD, "nocpp", NULL, "leave out C++ operators new and delete", set_no_cpp},
	{'O', GROUP_RECORD, "omit", "OBJECT", "no probes in this library (path or name)", set_omit},
	{'\0', GROUP_RECORD, "allocator", "OBJECT[:PREFIX]",
	 "also an allocator, its functions' names with\nthis prefix: ./app:my_ (repeatable)",
	 set_allocator},
	{'d', GROUP_RECORD, "depth", "N", "frames recorded per stack, 1 to 127 (32)", set_depth},
	{'\0', GROUP_RECORD, "stack", "auto|cfi|fp|none", "how stacks are unwound (auto)",
	 set_stack},
	{'\0', GROUP_RECORD, "backend", "auto|bpf|ptrace", "how calls are caught (auto)",
	 set_backend},
	{'\0', GROUP_RECORD, "sample", "BYTES",
	 "trace a sample: one allocation in so many\nbytes; totals are estimates", set_sample},
	{'\0', GROUP_RECORD, "max-overhead", "PERCENT",
	 "sample as much as tracing may take of the\ntime of what is traced: 0.1 to 100",
	 set_max_overhead},
	{'\0', GROUP_RECORD, "min-size", "BYTES", "trace no smaller allocations", set_min_size},
	{'\0', GROUP_RECORD, "max-size", "BYTES", "trace no larger ones", set_max_size},
	{'\0', GROUP_RECORD, "buffer", "BYTES", "ring buffer, 64k to 1g (16m)", set_buffer},
	{'\0', GROUP_RECORD, "pairing", "session|task|hash|perf-task|perf-hash",
	 "how calls meet their returns\n(the best that works here)", set_pairing},

	{'a', GROUP_SCAN, "scan", NULL,
	 "search for leaks at the end: blocks that\nnothing points to any more", set_scan},
	{'\0', GROUP_SCAN, "scan-every", "DURATION", "search for them now and then (10s, 5m, 1h)",
	 set_scan_every},
	{'\0', GROUP_SCAN, "scan-stop", NULL, "stop the process meanwhile (at the end)",
	 set_scan_stop},
	{'\0', GROUP_SCAN, "scan-live", NULL, "let it run, and look several times\n(--scan-every)",
	 set_scan_live},
	{'\0', GROUP_SCAN, "scan-swapped", NULL, "fetch what is swapped out, too",
	 set_scan_swapped},
	{'\0', GROUP_SCAN, "align", "1|2|4|8", "where pointers may lie (a pointer's size)",
	 set_align},
	{'S', GROUP_SCAN, "sanity", NULL,
	 "report double frees, frees of what is no\nblock, and new, delete and free that do not\n"
	 "go together",
	 set_sanity},
	{'\0', GROUP_SCAN, "error-exitcode", "N",
	 "exit status if there are leaks (--leak-kinds)\nor --sanity found an error, 1 to 255",
	 set_error_exitcode},
	{'\0', GROUP_SCAN, "leak-kinds", "LIST",
	 "what --error-exitcode counts: definite,\nindirect, possible, stack-only, reachable,\n"
	 "unknown, all or none (definite)",
	 set_leak_kinds},

	{'s', GROUP_REPORT, "sort", "KEY",
	 "usage, allocations, total, average, leaks,\nbytes-leaked, mismatched, badfree, age,\n"
	 "growth or tsc (usage)",
	 set_sort},
	{'\0', GROUP_REPORT, "top", "N", "sites and processes shown, 0 for all\n(20; JSON: all)",
	 set_top},
	{'\0', GROUP_REPORT, "interval", "DURATION",
	 "a report now and then, besides the last\n(10s, 5m, 1h)", set_interval},
	{'\0', GROUP_REPORT, "count", "N", "after so many reports by --interval the\ntrace ends",
	 set_count},
	{'\0', GROUP_REPORT, "keep", "N",
	 "of the files with %n in their names, the\nlatest N (all)", set_keep},
	{'o', GROUP_REPORT, "output", "FILE",
	 "where to: - is stdout, %p in it the pid, %n\nthe number of the report (stdout with "
	 "-p,\nstderr with CMD)",
	 set_output},
	{'l', GROUP_REPORT, "record", "FILE",
	 "record the trace, for mtrace-bpf report;\nno report meanwhile but with -o or --format",
	 set_record},
	{'\0', GROUP_REPORT, "format", "FORMAT[=FILE]",
	 "text, json, folded, pprof, pprof-text or\nmtrace (text); with =FILE and "
	 "repeated,\nseveral at once",
	 set_format},
	{'\0', GROUP_REPORT, "ignore", "PATTERN",
	 "no leaks of stacks with such a function: a\nglob or /regex/ (repeatable)", set_ignore},
	{'\0', GROUP_REPORT, "suppressions", "FILE",
	 "the same from a file; LeakSanitizer's and\nmemcheck's will do (repeatable)",
	 set_suppressions},
	{'L', GROUP_REPORT, "long", NULL, "show the module of each frame", set_long},
	{'b', GROUP_REPORT, "binpath", "DIR",
	 "of a recording: where its programs and\nlibraries are (repeatable)", set_binpath},
	{'\0', GROUP_REPORT, "sysroot", "DIR", "likewise: the root under which they are",
	 set_sysroot},
	{'\0', GROUP_REPORT, "debuginfod", NULL,
	 "fetch missing debug information from the\nservers of $DEBUGINFOD_URLS", set_debuginfod},
	{'\0', GROUP_REPORT, "color", "auto|always|never", "colours (auto: on a terminal)",
	 set_color},

	{'\0', GROUP_METRICS, "prometheus", "ADDR:PORT",
	 "serve metrics, and profiles for pprof, at\n/metrics and /debug/pprof/heap; a PORT alone\n"
	 "is of the loopback",
	 set_prometheus},
	{'\0', GROUP_METRICS, "prometheus-file", "FILE",
	 "write metrics there every --interval (15s)\nand at the end", set_prometheus_file},
	{'\0', GROUP_METRICS, "prometheus-sites", "N",
	 "sites of each process with their own\nseries, 0 to 10000 (20)", set_prometheus_sites},
	{'\0', GROUP_METRICS, "prometheus-processes", "N",
	 "processes with their own series, 1 to\n10000 (50)", set_prometheus_processes},
	{'\0', GROUP_METRICS, "prometheus-auth", "FILE",
	 "only for who knows the user:password in it", set_prometheus_auth},
	{'\0', GROUP_METRICS, "prometheus-tls", "CERT,KEY", "by HTTPS, with these files",
	 set_prometheus_tls},

	{'\0', GROUP_SERVE, "listen", "ADDR", "unix:/path, host:port or [v6]:port\n(localhost)",
	 set_listen},
	{'w', GROUP_SERVE, "wait", NULL, "trace from when the first client is there", set_wait},
	{'\0', GROUP_SERVE, "backlog", "BYTES",
	 "kept of the trace for clients that come or\ncome back (64m, or an eighth of all memory)",
	 set_backlog},
	{'\0', GROUP_SERVE, "checkpoint", "BYTES",
	 "for books of what the backlog has let go\n(256m, or an eighth of all memory); 0: none",
	 set_checkpoint},

	{'\0', GROUP_CONNECT, "reconnect", "DURATION",
	 "if the connection breaks, try so long to\ngo on (0s)", set_reconnect},
	{'\0', GROUP_CONNECT, "end", NULL, "end the trace there, and report it", set_end_trace},

	{'P', GROUP_NET, "port", "PORT", "where ADDR names none (4576)", set_port},
	{'\0', GROUP_NET, "token-file", "FILE", "a secret that both sides know", set_token_file},
	{'\0', GROUP_NET, "tls-cert", "FILE", "TLS: the certificate of this side,", set_tls_cert},
	{'\0', GROUP_NET, "tls-key", "FILE", "its key,", set_tls_key},
	{'\0', GROUP_NET, "tls-ca", "FILE", "and whose certificates are believed", set_tls_ca},

	{'i', GROUP_GENERAL, "interactive", NULL, "a shell on this trace: type help there",
	 set_interactive},
	{'F', GROUP_GENERAL, "config", "FILE",
	 "defaults: long options, one a line, instead\nof ~/.config/mtrace-bpf/config and\n"
	 "/etc/mtrace-bpf.conf (repeatable)",
	 set_config},
	{'q', GROUP_GENERAL, "quiet", NULL, "say nothing but errors and the report", set_quiet},
	{'v', GROUP_GENERAL, "verbose", NULL, "say what is done; -vv: every detail", set_verbose},
	{'V', GROUP_GENERAL, "version", NULL, "print the version", set_version},
	{'h', GROUP_GENERAL, "help", NULL, "print this", set_help},
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

bool option_is_early(const struct option_row *row)
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
