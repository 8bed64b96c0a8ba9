/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses options with the option table. It does not use getopt_long(), because errors are one line
 * with a suggestion for a misspelt word, and because options end at the first word that is not an
 * option: the rest belongs to the launched program.
 */
#include "app/cli/option_parser.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/cli/config_file.h"
#include "app/cli/option_table.h"
#include "app/cli/suggest.h"
#include "app/terminal/output.h"

/* The position of the parser. */
struct argument_cursor {
	char *const *next; /* the next argument to parse */
	struct options *options;
	struct error *err;
	bool early; /* take only options that must be read first (--config) */
};

/* Notes options that only some commands accept; the commands check for them. */
static void note_use(struct options *options, const struct option_row *row)
{
	const char **const uses[GROUP_COUNT] = {
		[GROUP_TARGET] = &options->trace_option,
		[GROUP_RECORD] = &options->trace_option,
		[GROUP_SCAN] = &options->trace_option,
		[GROUP_REPORT] = &options->report_option,
		[GROUP_SERVE] = &options->serve_option,
		[GROUP_NET] = &options->net_option,
		[GROUP_CONNECT] = &options->connect_option,
		[GROUP_METRICS] = &options->metrics_option,
	};

	if (row->set == option_by_name("scan", 4)->set ||
	    row->set == option_by_name("scan-live", 9)->set ||
	    row->set == option_by_name("scan-stop", 9)->set)
		options->scan_option = row->name;
	else if (uses[row->group] && row->set != option_by_name("error-exitcode", 14)->set &&
		 row->set != option_by_name("leak-kinds", 10)->set)
		*uses[row->group] = row->name;
}

static int row_apply(struct argument_cursor *cursor, const struct option_row *row, const char *name,
		     const char *argument)
{
	struct error reason = {0};
	int code = 0;

	note_use(cursor->options, row);
	if (cursor->early == option_is_read_first(row))
		code = row->set(cursor->options, row, argument, &reason);
	if (!code)
		return 0;
	if (code == -ENOMEM)
		return error_set(cursor->err, code, "out of memory");
	return error_set(cursor->err, code, "%s: %s", name, reason.text);
}

/* The argument is the rest of the same word, or else the next word. */
static int row_apply_with_argument(struct argument_cursor *cursor, const struct option_row *row,
				   const char *name, const char *attached)
{
	if (!attached)
		attached = *cursor->next ? *cursor->next++ : NULL;
	if (!attached)
		return error_set(cursor->err, -EINVAL, "%s needs an argument: %s %s", name, name,
				 row->argument);
	return row_apply(cursor, row, name, attached);
}

static int name_unknown(struct argument_cursor *cursor, const char *name, size_t length)
{
	char word[OPTION_HEADING_SIZE], suggested[SUGGESTION_TEXT_SIZE];
	struct suggestion suggestion = {.word = word};
	const struct option_row *row;

	snprintf(word, sizeof(word), "%.*s", (int)length, name);
	for (size_t i = 0; (row = option_at(i)); i++)
		suggestion_offer(&suggestion, row->name);
	return error_set(cursor->err, -EINVAL, "unknown option --%s%s", word,
			 suggestion_text(&suggestion, "--", suggested));
}

/* --name, --name=argument, --name argument */
static int long_parse(struct argument_cursor *cursor, const char *word)
{
	size_t length = strcspn(word, "=");
	const char *attached = word[length] ? word + length + 1 : NULL;
	const struct option_row *row = option_by_name(word, length);
	char name[OPTION_HEADING_SIZE];

	if (!row)
		return name_unknown(cursor, word, length);
	snprintf(name, sizeof(name), "--%s", row->name);
	if (row->argument)
		return row_apply_with_argument(cursor, row, name, attached);
	if (attached)
		return error_set(cursor->err, -EINVAL, "%s takes no argument", name);
	return row_apply(cursor, row, name, NULL);
}

/* -q, -vv, -qL, -d8, -d 8, -Ld8 */
static int letters_parse(struct argument_cursor *cursor, const char *letters)
{
	for (; *letters; letters++) {
		const char name[] = {'-', *letters, '\0'};
		const struct option_row *row = option_by_letter(*letters);
		int code;

		if (!row)
			return error_set(cursor->err, -EINVAL, "unknown option %s", name);
		if (row->argument)
			return row_apply_with_argument(cursor, row, name,
						       letters[1] ? letters + 1 : NULL);
		code = row_apply(cursor, row, name, NULL);
		if (code)
			return code;
	}
	return 0;
}

static int words_parse(struct argument_cursor *cursor)
{
	int code = 0;

	while (!code && *cursor->next) {
		const char *word = *cursor->next;

		if (word[0] != '-' || !word[1])
			break;
		cursor->next++;
		if (!strcmp(word, "--"))
			break;
		code = word[1] == '-' ? long_parse(cursor, word + 2)
				      : letters_parse(cursor, word + 1);
	}
	return code;
}

static void nocpp_apply(struct options *options)
{
	const char *bad;
	uint32_t cpp;

	if (options->no_cpp && !api_set_parse("new", &cpp, &bad))
		options->apis &= ~cpp;
}

/*
 * Adds a plain text report, unless all requested reports have their own file, or only a recording
 * was requested. With a recording only, a model is kept only if a scan or another option needs it.
 */
static int formats_complete(struct options *options)
{
	if (options->record && !options->formats.count && !options->output) {
		options->keeps_model = options->scan || options->scan_every_ns ||
				       options->error_exitcode || options->interactive ||
				       options->prometheus || options->prometheus_file;
		return 0;
	}
	options->keeps_model = true;
	if (options->formats.count && !options->output)
		return 0;
	for (size_t i = 0; i < options->formats.count; i++)
		if (!options->formats.items[i].path)
			return 0;
	return vec_push(&options->formats, (struct format_request){.format = &format_text});
}

static bool formats_share_a_file(const struct options *options)
{
	for (size_t i = 0; i < options->formats.count; i++) {
		const char *path = options->formats.items[i].path;

		path = path ? path : options->output;
		for (size_t j = 0; path && strcmp(path, "-") && j < i; j++) {
			const char *other = options->formats.items[j].path;

			other = other ? other : options->output;
			if (other && !strcmp(path, other))
				return true;
		}
	}
	return false;
}

static bool record_shares_a_file(const struct options *options)
{
	const struct format_request *request;

	vec_each (request, &options->formats) {
		const char *path = request->path ? request->path : options->output;

		if (options->record && path && !strcmp(path, options->record))
			return true;
	}
	return false;
}

static bool has_number(const char *pattern)
{
	for (; pattern && (pattern = strchr(pattern, '%')); pattern += pattern[1] ? 2 : 1)
		if (pattern[1] == 'n')
			return true;
	return false;
}

static bool has_numbered_file(const struct options *options)
{
	const struct format_request *request;

	vec_each (request, &options->formats)
		if (has_number(request->path ? request->path : options->output))
			return true;
	return false;
}

/* An option that cannot be obeyed without measuring the cost of tracing, or NULL. */
static const char *measured_option(const struct options *options)
{
	if (options->max_overhead_ppm)
		return "--max-overhead";
	return options->abort_over_ppm ? "--abort-over" : NULL;
}

/* Rejects options that are valid alone but not together. */
static int contradictions_check(const struct options *options, struct error *err)
{
	if (options->pids.count && options->program)
		return error_set(err, -EINVAL, "cannot combine --pid with a program to launch (%s)",
				 options->program[0]);
	if (options->system && (options->pids.count || options->program))
		return error_set(
			err, -EINVAL,
			"--system-wide, --comm, --exe, --cgroup and --uid choose among all "
			"processes: they cannot be combined with --pid or a program");
	if (options->pids.count && (options->user || options->directory))
		return error_set(err, -EINVAL,
				 "%s needs a program to launch, and does not work with --pid",
				 options->user ? "--user" : "--cwd");
	if (options->program && !options->program[0][0])
		return error_set(err, -EINVAL, "the program to launch has an empty name");
	if (!options->apis)
		return error_set(err, -EINVAL, "--nocpp excludes everything in --only");
	if (options->count && !options->interval_ns)
		return error_set(err, -EINVAL, "--count needs --interval");
	if ((options->prometheus_auth || options->prometheus_tls || options->prometheus_host) &&
	    !options->prometheus)
		return error_set(err, -EINVAL, "--prometheus-%s needs --prometheus",
				 options->prometheus_auth  ? "auth"
				 : options->prometheus_tls ? "tls"
							   : "host");
	if (options->keep && !has_numbered_file(options))
		return error_set(err, -EINVAL, "--keep needs a report file with %%n in its name");
	if (options->sanity && alloc_filter_is_on(&options->alloc_filter))
		return error_set(
			err, -EINVAL,
			"--sanity checks every free and needs every allocation: not valid with "
			"--sample, --max-overhead, --min-size or --max-size");
	if (measured_option(options) && options->backend == BACKEND_PTRACE)
		return error_set(err, -EINVAL,
				 "%s needs BPF: with ptrace each call stops the thread, sampled "
				 "or not",
				 measured_option(options));
	if (options->alloc_filter.max_size &&
	    options->alloc_filter.max_size < options->alloc_filter.min_size)
		return error_set(err, -EINVAL, "--max-size is below --min-size: nothing to trace");
	if (formats_share_a_file(options))
		return error_set(err, -EINVAL, "two reports cannot go to the same file");
	if (record_shares_a_file(options))
		return error_set(err, -EINVAL, "report and recording cannot go to the same file");
	return 0;
}

/* Options about how to scan imply --scan, unless another time was requested. */
static void scan_apply(struct options *options)
{
	bool said_how = options->scan_mode != SCAN_MODE_AUTO || options->scan_swapped ||
			options->align || (options->error_exitcode && !options->sanity) ||
			(options->leak_kinds_given && options->leak_kinds);

	if (said_how && !options->scan_every_ns)
		options->scan = true;
}

/* Options that filter all processes imply --system-wide. */
static void system_apply(struct options *options)
{
	const struct selection_words *select = &options->select;

	options->system |= select->comm || select->exe || select->cgroup || select->by_user;
}

/*
 * The initial mean when tracing everything costs too much: allocations of this size are sampled
 * with a probability of about two thirds.
 */
#define FIRST_MEAN 64

/* With a budget, tracing starts with all calls, or with the given --sample. */
static void budget_apply(struct options *options)
{
	if (!options->max_overhead_ppm || options->alloc_filter.sample)
		return;
	options->alloc_filter.sample = FIRST_MEAN;
	options->alloc_filter.all_at_first = true;
}

static int options_complete(struct options *options, char *const *rest, struct error *err)
{
	options->program = *rest ? rest : NULL;
	budget_apply(options);
	nocpp_apply(options);
	system_apply(options);
	scan_apply(options);
	if (formats_complete(options) || vec_push(&options->omit, NULL) ||
	    vec_push(&options->allocators, NULL) || vec_push(&options->binpaths, NULL))
		return error_set(err, -ENOMEM, "out of memory");
	return contradictions_check(options, err);
}

static const struct options options_default = {
	.apis = API_SET_ALL,
	.depth = DEPTH_DEFAULT,
	.output_mode = OUTPUT_PRIVATE,
	.top = TOP_DEFAULT,
	.leak_kinds = LEAK_BIT(LEAK_DEFINITE),
	.port = PORT_DEFAULT,
	.prometheus_processes = SERIES_PROCESSES_DEFAULT,
	.prometheus_sites = SERIES_SITES_DEFAULT,
};

/* Reads the files of --config, or the default files. */
static int options_read_files(struct options *options, struct error *err)
{
	const char **path;
	int code = 0;

	if (!options->configs.count)
		return config_read_defaults(options, err);
	vec_each (path, &options->configs)
		if (!code)
			code = config_read(options, *path, err);
	return code;
}

static int parse(struct options *ret, char *const *arguments, bool files, struct error *err)
{
	struct argument_cursor cursor = {
		.next = arguments, .options = ret, .err = err, .early = true};
	int code;

	*ret = options_default;
	ret->arguments = arguments;
	code = words_parse(&cursor);
	if (!code && files)
		code = options_read_files(ret, err);
	if (code)
		return code;
	cursor = (struct argument_cursor){.next = arguments, .options = ret, .err = err};
	code = words_parse(&cursor);
	return code ? code : options_complete(ret, cursor.next, err);
}

int options_parse(struct options *ret, char *const *arguments, struct error *err)
{
	return parse(ret, arguments, false, err);
}

int options_load(struct options *ret, char *const *arguments, struct error *err)
{
	return parse(ret, arguments, true, err);
}

void options_free(struct options *options)
{
	char **text;

	vec_each (text, &options->texts)
		free(*text);
	vec_free(&options->texts);
	vec_free(&options->configs);
	vec_free(&options->pids);
	vec_free(&options->omit);
	vec_free(&options->allocators);
	vec_free(&options->binpaths);
	vec_free(&options->formats);
	suppressions_free(options->suppressions);
}
