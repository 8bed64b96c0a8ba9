/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/cli/option_setters.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/suggest.h"
#include "app/cli/suppress.h"
#include "base/units.h"
#include "model/suppress/parse.h"
#include "os/account/account.h"
#include "source/alloc_filter.h"

#define PERIOD_MIN_NS (100 * 1000000ULL)
#define EXITCODE_MAX  255

#define UNUSED __attribute__((unused))

/* All setters have the same signature; hardly any of them uses all parameters. */
#define SETTER(name)                                                                  \
	int name(struct options *options UNUSED, const struct option_row *row UNUSED, \
		 const char *argument UNUSED, struct error *err UNUSED)

/* A flag: no argument, one boolean. */
#define FLAG_SETTER(name, field)       \
	SETTER(name)                   \
	{                              \
		options->field = true; \
		return 0;              \
	}

/* A string, stored as is. An empty one is always a mistake (an unset shell variable). */
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
TEXT_SETTER(set_prometheus, prometheus)
TEXT_SETTER(set_prometheus_file, prometheus_file)
TEXT_SETTER(set_prometheus_auth, prometheus_auth)
TEXT_SETTER(set_prometheus_tls, prometheus_tls)
TEXT_SETTER(set_prometheus_host, prometheus_host)
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
		return error_set(err, -EINVAL, "no user \"%s\"", argument);
	options->select.by_user = true;
	options->select.user = account.uid;
	account_free(&account);
	return 0;
}

/* New images are always followed. mtrace-ng needed an option for it. */
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

/* The index of the word in the row's "a|b|c". */
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

/* Process ids separated by commas or blanks: -p "$(pidof x)" has blanks. */
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

SETTER(set_gates)
{
	static const enum gate_use uses[] = {GATES_AUTO, GATES_ALWAYS, GATES_NEVER};
	int index = 0, code = choice_parse(row, argument, &index, err);

	if (!code)
		options->gates = uses[index];
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

/* OBJECT[:PREFIX]. A path may contain colons, but a prefix has no slash. */
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

/* Returns 0 or -ENOMEM. */
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

/* Reads the file now, so that errors in it are reported before the trace. */
SETTER(set_suppressions)
{
	int code = suppressions_want(options);

	return code ? code : suppress_read_file(options->suppressions, argument, err);
}

static const struct report_format *format_of_word(const char *word, size_t length)
{
	const struct report_format *format;

	for (size_t i = 0; (format = format_at(i)); i++)
		if (strlen(format->name) == length && !strncmp(format->name, word, length))
			return format;
	return NULL;
}

static int format_unknown(const char *argument, size_t length, struct error *err)
{
	char word[32], suggested[SUGGESTION_TEXT_SIZE];
	struct suggestion suggestion = {.word = word};
	const struct report_format *format;

	snprintf(word, sizeof(word), "%.*s", (int)length, argument);
	for (size_t i = 0; (format = format_at(i)); i++)
		suggestion_offer(&suggestion, format->name);
	return error_set(err, -EINVAL, "\"%s\" is not a format%s", word,
			 suggestion_text(&suggestion, "", suggested));
}

/* Of several formats without a file, the last one counts, as with other options. */
SETTER(set_format)
{
	size_t length = strcspn(argument, "=");
	struct format_request request = {.format = format_of_word(argument, length)}, *earlier;

	if (!request.format)
		return format_unknown(argument, length, err);
	if (argument[length] == '=') {
		request.path = argument + length + 1;
		if (!*request.path)
			return error_set(err, -EINVAL, "\"%s\" names no file", argument);
		return vec_push(&options->formats, request);
	}
	vec_each (earlier, &options->formats) {
		if (!earlier->path) {
			earlier->format = request.format;
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

SETTER(set_output_mode)
{
	char *end;
	unsigned long mode = strtoul(argument, &end, 8);

	if (!strchr("01234567", *argument) || !*argument || *end || mode > 0777)
		return error_set(err, -EINVAL, "\"%s\" is not a mode like 600 or 640", argument);
	if ((mode & 0600) != 0600)
		return error_set(err, -EINVAL, "%s does not let you read and write your own files",
				 argument);
	options->output_mode = (mode_t)mode;
	return 0;
}

SETTER(set_keep)
{
	uint64_t keep = 0;
	int code = range_parse(argument, 1, UINT32_MAX, &keep, err);

	options->keep = (uint32_t)keep;
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

static int leak_kind_unknown(const char *list, size_t length, struct error *err)
{
	char word[32], suggested[SUGGESTION_TEXT_SIZE], kinds[128] = "";
	struct suggestion suggestion = {.word = word};
	const char *kind;

	snprintf(word, sizeof(word), "%.*s", (int)length, list);
	for (size_t i = 0; (kind = leak_kind_at(i)); i++) {
		size_t used = strlen(kinds);

		suggestion_offer(&suggestion, kind);
		snprintf(kinds + used, sizeof(kinds) - used, "%s%s", i ? ", " : "", kind);
	}
	return error_set(err, -EINVAL, "\"%s\" is not one of %s%s", word, kinds,
			 suggestion_text(&suggestion, "", suggested));
}

SETTER(set_leak_kinds)
{
	uint32_t kinds = 0;

	for (;;) {
		size_t length = strcspn(argument, ",");
		uint32_t classes;

		if (leak_kind_parse(argument, length, &classes))
			return leak_kind_unknown(argument, length, err);
		kinds |= classes;
		argument += length;
		if (!*argument)
			break;
		argument++;
	}
	options->leak_kinds = kinds;
	options->leak_kinds_given = true;
	return 0;
}

SETTER(set_buffer)
{
	uint64_t bytes;

	if (bytes_parse(argument, &bytes) || bytes < BUFFER_MIN || bytes > BUFFER_MAX)
		return error_set(err, -EINVAL, "\"%s\" is not a size from 64k to 1g", argument);
	options->buffer_bytes = bytes;
	return 0;
}

SETTER(set_max_memory)
{
	uint64_t bytes;

	if (bytes_parse(argument, &bytes) || bytes < MEMORY_MIN || bytes > MEMORY_MAX)
		return error_set(err, -EINVAL, "\"%s\" is not a size from 16m to 1024g", argument);
	options->max_memory = bytes;
	return 0;
}

SETTER(set_sample)
{
	uint64_t bytes;

	if (bytes_parse(argument, &bytes) || !bytes || bytes > SAMPLE_MEAN_MAX)
		return error_set(err, -EINVAL, "\"%s\" is not a size from 1 to 1024g", argument);
	options->alloc_filter.sample = bytes;
	return 0;
}

#define PPM_PER_PERCENT 10000.0
#define PERCENT_LEAST   0.1

static int share_parse(const char *argument, uint32_t *ret_ppm, struct error *err)
{
	char *end = NULL;
	double percent = strtod(argument, &end);

	if (end == argument || (*end == '%' ? end[1] : *end) || !(percent >= PERCENT_LEAST) ||
	    percent > 100)
		return error_set(err, -EINVAL, "\"%s\" is not a percentage from 0.1 to 100",
				 argument);
	*ret_ppm = (uint32_t)(percent * PPM_PER_PERCENT);
	return 0;
}

SETTER(set_max_overhead)
{
	return share_parse(argument, &options->max_overhead_ppm, err);
}

SETTER(set_abort_over)
{
	return share_parse(argument, &options->abort_over_ppm, err);
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
	return size_parse(argument, &options->alloc_filter.min_size, err);
}

SETTER(set_max_size)
{
	return size_parse(argument, &options->alloc_filter.max_size, err);
}

SETTER(set_port)
{
	uint64_t port = 0;
	int code = range_parse(argument, 0, UINT16_MAX, &port, err);

	if (!code)
		options->port = (unsigned int)port;
	return code;
}

static int series_parse(const char *argument, uint64_t min, uint32_t *ret_count, struct error *err)
{
	uint64_t count = 0;
	int code = range_parse(argument, min, SERIES_MAX, &count, err);

	if (!code)
		*ret_count = (uint32_t)count;
	return code;
}

SETTER(set_prometheus_sites)
{
	return series_parse(argument, 0, &options->prometheus_sites, err);
}

SETTER(set_prometheus_processes)
{
	return series_parse(argument, 1, &options->prometheus_processes, err);
}

SETTER(set_backlog)
{
	if (bytes_parse(argument, &options->backlog_bytes) || options->backlog_bytes < BACKLOG_MIN)
		return error_set(err, -EINVAL, "\"%s\" is not a size from 64k", argument);
	return 0;
}

SETTER(set_checkpoint)
{
	if (bytes_parse(argument, &options->checkpoint_bytes))
		return error_set(err, -EINVAL, "\"%s\" is not a size like 16m", argument);
	options->checkpoint_given = true;
	return 0;
}

SETTER(set_reconnect)
{
	if (duration_parse(argument, &options->reconnect_ns))
		return error_set(err, -EINVAL, "\"%s\" is not a duration like 10s, 5m or 1h",
				 argument);
	return 0;
}
