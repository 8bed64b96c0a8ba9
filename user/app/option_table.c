/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every option: its names, its argument, what help says, and the function that stores it. */
#include "app/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "app/suggest.h"
#include "app/suppress.h"
#include "base/units.h"
#include "source/thinning.h"
#include "os/account.h"

#define PERIOD_MIN_NS (100 * 1000000ULL)
#define EXITCODE_MAX  255

#define UNUSED __attribute__((unused))

/* All setters look alike; hardly one needs everything. */
#define SETTER(name)                                                                         \
	static int name(struct options *options UNUSED, const struct option_row *row UNUSED, \
			const char *argument UNUSED, struct error *err UNUSED)

/* A flag: no argument, one boolean. */
#define FLAG_SETTER(name, field)       \
	SETTER(name)                   \
	{                              \
		options->field = true; \
		return 0;              \
	}

/* A string, kept as it is; an empty one is always a slip (an unset shell variable). */
#define TEXT_SETTER(name, field)                                    \
	SETTER(name)                                                \
	{                                                           \
		if (!*argument)                                     \
			return error_set(err, -EINVAL, "is empty"); \
		options->field = argument;                          \
		return 0;                                           \
	}

FLAG_SETTER(set_no_cpp, no_cpp)
FLAG_SETTER(set_follow, follow)
FLAG_SETTER(set_hold_exec, hold_exec)
FLAG_SETTER(set_interactive, interactive)
FLAG_SETTER(set_system, system)
FLAG_SETTER(set_scan, scan)
FLAG_SETTER(set_sanity, sanity)
FLAG_SETTER(set_long, long_frames)
FLAG_SETTER(set_debuginfod, debuginfod)
FLAG_SETTER(set_quiet, quiet)
FLAG_SETTER(set_help, help)
FLAG_SETTER(set_version, version)
FLAG_SETTER(set_wait, wait)
FLAG_SETTER(set_end_trace, end_trace)
TEXT_SETTER(set_listen, listen)
TEXT_SETTER(set_token_file, token_file)
TEXT_SETTER(set_tls_cert, tls_cert)
TEXT_SETTER(set_tls_key, tls_key)
TEXT_SETTER(set_tls_ca, tls_ca)
TEXT_SETTER(set_comm, select.comm)
TEXT_SETTER(set_exe, select.exe)
TEXT_SETTER(set_cgroup, select.cgroup)
TEXT_SETTER(set_output, output)
TEXT_SETTER(set_record, record)
TEXT_SETTER(set_sysroot, sysroot)
TEXT_SETTER(set_user, user)
TEXT_SETTER(set_directory, directory)

SETTER(set_verbose)
{
	options->verbose++;
	return 0;
}

SETTER(set_uid)
{
	struct account account;

	if (account_find(argument, &account))
		return error_set(err, -EINVAL, "there is no user \"%s\"", argument);
	options->select.by_user = true;
	options->select.user = account.uid;
	account_free(&account);
	return 0;
}

/* New images are always followed; mtrace-ng had to be asked. */
SETTER(set_follow_exec)
{
	return 0;
}

/* A number from min to max. */
static int range_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number,
		       struct error *err)
{
	uint64_t number;

	if (number_parse(text, max, &number) || number < min)
		return error_set(err, -EINVAL, "\"%s\" is not a number from %llu to %llu", text,
				 (unsigned long long)min, (unsigned long long)max);
	*ret_number = number;
	return 0;
}

/* Which of the row's "a|b|c" is it? */
static int choice_parse(const struct option_row *row, const char *text, int *ret_index,
			struct error *err)
{
	char words[OPTION_HEADING_SIZE], suggested[SUGGESTION_TEXT_SIZE], *rest = words;
	struct suggestion suggestion = {.word = text};
	const char *word;

	snprintf(words, sizeof(words), "%s", row->argument);
	for (int i = 0; (word = strsep(&rest, "|")); i++) {
		if (!strcmp(word, text)) {
			*ret_index = i;
			return 0;
		}
		suggestion_offer(&suggestion, word);
	}
	return error_set(err, -EINVAL, "\"%s\" is not one of %s%s", text, row->argument,
			 suggestion_text(&suggestion, "", suggested));
}

static bool pid_known(const struct options *options, pid_t pid)
{
	const pid_t *known;

	vec_each (known, &options->pids)
		if (*known == pid)
			return true;
	return false;
}

static int pid_add(struct options *options, const char *word, size_t length, struct error *err)
{
	char text[16];
	uint64_t pid;

	snprintf(text, sizeof(text), "%.*s", (int)length, word);
	if (length >= sizeof(text) || number_parse(text, INT_MAX, &pid) || !pid)
		return error_set(err, -EINVAL, "\"%.*s\" is not a process id", (int)length, word);
	if (pid_known(options, (pid_t)pid))
		return 0;
	return vec_push(&options->pids, (pid_t)pid);
}

/* Process ids between commas or blanks: -p "$(pidof x)" gives blanks. */
SETTER(set_pid)
{
	for (;;) {
		size_t length = strcspn(argument, ", \n");
		int code = pid_add(options, argument, length, err);

		if (code)
			return code;
		argument += length;
		if (!*argument)
			return 0;
		argument++;
	}
}

SETTER(set_depth)
{
	uint64_t depth = 0;
	int code = range_parse(argument, 1, STACK_MAX_FRAMES, &depth, err);

	if (!code)
		options->depth = (uint32_t)depth;
	return code;
}

SETTER(set_stack)
{
	static const enum stack_mode modes[] = {STACK_AUTO, STACK_CFI, STACK_FP, STACK_NONE};
	int index = 0, code = choice_parse(row, argument, &index, err);

	if (!code)
		options->stack = modes[index];
	return code;
}

SETTER(set_backend)
{
	static const enum backend backends[] = {BACKEND_AUTO, BACKEND_BPF, BACKEND_PTRACE};
	int index = 0, code = choice_parse(row, argument, &index, err);

	if (!code)
		options->backend = backends[index];
	return code;
}

SETTER(set_pairing)
{
	int index = 0, code = choice_parse(row, argument, &index, err);

	if (!code)
		options->pairing = argument;
	return code;
}

SETTER(set_color)
{
	static const enum color_mode modes[] = {COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER};
	int index = 0, code = choice_parse(row, argument, &index, err);

	if (!code)
		options->color = modes[index];
	return code;
}

static void offer_apis(struct suggestion *suggestion)
{
	for (int api = 1; api < API_COUNT; api++) {
		suggestion_offer(suggestion, api_row((enum api)api)->group);
		suggestion_offer(suggestion, api_name((enum api)api));
	}
}

SETTER(set_only)
{
	char word[64], suggested[SUGGESTION_TEXT_SIZE];
	struct suggestion suggestion = {.word = word};
	const char *bad;

	if (!api_set_parse(argument, &options->apis, &bad))
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(bad, ","), bad);
	offer_apis(&suggestion);
	return error_set(err, -EINVAL,
			 "\"%s\" is neither a family (malloc, new, mmap) nor a function%s", word,
			 suggestion_text(&suggestion, "", suggested));
}

SETTER(set_config)
{
	if (!*argument)
		return error_set(err, -EINVAL, "is empty");
	return vec_push(&options->configs, argument);
}

SETTER(set_omit)
{
	if (!*argument)
		return error_set(err, -EINVAL, "is empty");
	return vec_push(&options->omit, argument);
}

SETTER(set_binpath)
{
	if (!*argument)
		return error_set(err, -EINVAL, "is empty");
	return vec_push(&options->binpaths, argument);
}

/* OBJECT[:PREFIX]; a path may have colons of its own, a prefix has no slash. */
SETTER(set_allocator)
{
	const char *colon = strrchr(argument, ':');

	if (colon && !strchr(colon, '/') &&
	    colon[1 + strspn(colon + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_$.")])
		return error_set(err, -EINVAL, "\"%s\" is not a prefix of function names",
				 colon + 1);
	if (!*argument || colon == argument)
		return error_set(err, -EINVAL, "\"%s\" names no object", argument);
	return vec_push(&options->allocators, argument);
}

SETTER(set_sort)
{
	char suggested[SUGGESTION_TEXT_SIZE], keys[128] = "";
	struct suggestion suggestion = {.word = argument};

	if (!sort_key_parse(argument, &options->sort))
		return 0;
	for (int key = 0; key < SORT_COUNT; key++) {
		const char *name = sort_key_name((enum sort_key)key);
		size_t used = strlen(keys);

		suggestion_offer(&suggestion, name);
		snprintf(keys + used, sizeof(keys) - used, "%s%s", key ? ", " : "", name);
	}
	return error_set(err, -EINVAL, "\"%s\" is not one of %s%s", argument, keys,
			 suggestion_text(&suggestion, "", suggested));
}

SETTER(set_top)
{
	uint64_t top = 0;
	int code = range_parse(argument, 0, UINT32_MAX, &top, err);

	if (code)
		return code;
	options->top = (uint32_t)top;
	options->top_given = true;
	return 0;
}

/* 0 or -ENOMEM. */
static int suppressions_want(struct options *options)
{
	if (!options->suppressions)
		options->suppressions = suppressions_new();
	return options->suppressions ? 0 : -ENOMEM;
}

SETTER(set_ignore)
{
	int code = suppressions_want(options);

	return code ? code : suppressions_ignore(options->suppressions, argument, err);
}

/* Read at once: what is wrong with it shall be known before the trace and not after it. */
SETTER(set_suppressions)
{
	int code = suppressions_want(options);

	return code ? code : suppress_read_file(options->suppressions, argument, err);
}

static const struct sink *sink_of_word(const char *word, size_t length)
{
	const struct sink *sink;

	for (size_t i = 0; (sink = sink_at(i)); i++)
		if (strlen(sink->name) == length && !strncmp(sink->name, word, length))
			return sink;
	return NULL;
}

static int format_unknown(const char *argument, size_t length, struct error *err)
{
	char word[32], suggested[SUGGESTION_TEXT_SIZE];
	struct suggestion suggestion = {.word = word};
	const struct sink *sink;

	snprintf(word, sizeof(word), "%.*s", (int)length, argument);
	for (size_t i = 0; (sink = sink_at(i)); i++)
		suggestion_offer(&suggestion, sink->name);
	return error_set(err, -EINVAL, "\"%s\" is not a format%s", word,
			 suggestion_text(&suggestion, "", suggested));
}

/* Of several formats without a file the last one counts, as with any option. */
SETTER(set_format)
{
	size_t length = strcspn(argument, "=");
	struct format_request request = {.sink = sink_of_word(argument, length)}, *earlier;

	if (!request.sink)
		return format_unknown(argument, length, err);
	if (argument[length] == '=') {
		request.path = argument + length + 1;
		if (!*request.path)
			return error_set(err, -EINVAL, "\"%s\" names no file", argument);
		return vec_push(&options->formats, request);
	}
	vec_each (earlier, &options->formats) {
		if (!earlier->path) {
			earlier->sink = request.sink;
			return 0;
		}
	}
	return vec_push(&options->formats, request);
}

static int period_parse(const char *argument, uint64_t *ret_ns, struct error *err)
{
	uint64_t ns;

	if (duration_parse(argument, &ns) || ns < PERIOD_MIN_NS)
		return error_set(err, -EINVAL,
				 "\"%s\" is not a duration like 10s, 5m or 1h, 100ms at least",
				 argument);
	*ret_ns = ns;
	return 0;
}

SETTER(set_scan_every)
{
	return period_parse(argument, &options->scan_every_ns, err);
}

SETTER(set_interval)
{
	return period_parse(argument, &options->interval_ns, err);
}

SETTER(set_count)
{
	uint64_t count = 0;
	int code = range_parse(argument, 1, UINT32_MAX, &count, err);

	options->count = (uint32_t)count;
	return code;
}

SETTER(set_scan_stop)
{
	options->scan_mode = SCAN_MODE_STOP;
	return 0;
}

SETTER(set_scan_live)
{
	options->scan_mode = SCAN_MODE_LIVE;
	return 0;
}

SETTER(set_scan_swapped)
{
	options->scan_swapped = true;
	return 0;
}

SETTER(set_align)
{
	static const unsigned int steps[] = {1, 2, 4, 8};
	int index = 0, code = choice_parse(row, argument, &index, err);

	if (!code)
		options->align = steps[index];
	return code;
}

SETTER(set_error_exitcode)
{
	uint64_t status = 0;
	int code = range_parse(argument, 1, EXITCODE_MAX, &status, err);

	if (!code)
		options->error_exitcode = (int)status;
	return code;
}

SETTER(set_buffer)
{
	uint64_t bytes;

	if (bytes_parse(argument, &bytes) || bytes < BUFFER_MIN || bytes > BUFFER_MAX)
		return error_set(err, -EINVAL, "\"%s\" is not a size from 64k to 1g", argument);
	options->buffer_bytes = bytes;
	return 0;
}

SETTER(set_sample)
{
	uint64_t bytes;

	if (bytes_parse(argument, &bytes) || !bytes || bytes > SAMPLE_MEAN_MAX)
		return error_set(err, -EINVAL, "\"%s\" is not a size from 1 to 1024g", argument);
	options->thinning.sample = bytes;
	return 0;
}

static int size_parse(const char *argument, uint64_t *ret_bytes, struct error *err)
{
	uint64_t bytes;

	if (bytes_parse(argument, &bytes) || !bytes)
		return error_set(err, -EINVAL, "\"%s\" is not a size like 100, 4k or 1m", argument);
	*ret_bytes = bytes;
	return 0;
}

SETTER(set_min_size)
{
	return size_parse(argument, &options->thinning.min_size, err);
}

SETTER(set_max_size)
{
	return size_parse(argument, &options->thinning.max_size, err);
}

SETTER(set_port)
{
	uint64_t port = 0;
	int code = range_parse(argument, 0, UINT16_MAX, &port, err);

	if (!code)
		options->port = (unsigned int)port;
	return code;
}

SETTER(set_backlog)
{
	if (bytes_parse(argument, &options->backlog_bytes) || options->backlog_bytes < BACKLOG_MIN)
		return error_set(err, -EINVAL, "\"%s\" is not a size from 64k", argument);
	return 0;
}

SETTER(set_reconnect)
{
	if (duration_parse(argument, &options->reconnect_ns))
		return error_set(err, -EINVAL, "\"%s\" is not a duration like 10s, 5m or 1h",
				 argument);
	return 0;
}

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
	 "exit status if a block is definitely lost\nor --sanity found an error, 1 to 255",
	 set_error_exitcode},

	{'s', GROUP_REPORT, "sort", "KEY",
	 "usage, allocations, total, average, leaks,\nbytes-leaked, mismatched, badfree, age or\n"
	 "tsc (usage)",
	 set_sort},
	{'\0', GROUP_REPORT, "top", "N", "sites and processes shown, 0 for all\n(20; JSON: all)",
	 set_top},
	{'\0', GROUP_REPORT, "interval", "DURATION",
	 "a report now and then, besides the last\n(10s, 5m, 1h)", set_interval},
	{'\0', GROUP_REPORT, "count", "N", "after so many reports by --interval the\ntrace ends",
	 set_count},
	{'o', GROUP_REPORT, "output", "FILE",
	 "where to: - is stdout, %p in it the pid, %n\nthe number of the report (stdout with "
	 "-p,\nstderr with CMD)",
	 set_output},
	{'l', GROUP_REPORT, "record", "FILE",
	 "record the trace, for mtrace-bpf report;\nno report meanwhile but with -o or --format",
	 set_record},
	{'\0', GROUP_REPORT, "format", "FORMAT[=FILE]",
	 "text, json, folded, pprof or mtrace (text);\nwith =FILE and repeated, several at once",
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

	{'\0', GROUP_SERVE, "listen", "ADDR", "unix:/path, host:port or [v6]:port\n(localhost)",
	 set_listen},
	{'w', GROUP_SERVE, "wait", NULL, "trace from when the first client is there", set_wait},
	{'\0', GROUP_SERVE, "backlog", "BYTES",
	 "kept of the trace for clients that come or\ncome back (64m, or an eighth of all memory)",
	 set_backlog},

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
