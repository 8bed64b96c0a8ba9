// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/cli/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/option_table.h"
#include "app/cli/suggest.h"
#include "base/log.h"

#define FILE_MAX    (1u << 20)
#define SYSTEM_FILE "/etc/mtrace-bpf.conf"
#define BLANKS      " \t\r"
#define WORD_SIZE   48 /* bytes of a name shown in messages */

/* What is being read, for messages. */
struct file_place {
	const char *path;
	unsigned int line;
	struct error *err;
};

static int fail(const struct file_place *place, int code, const char *reason)
{
	return error_set(place->err, code, "%s:%u: %s", place->path, place->line, reason);
}

/* Options that belong to a single run, so they are allowed only on the command line. */
static bool is_for_command_line(const char *name)
{
	static const char *const names[] = {"pid",         "user",   "cwd",  "system-wide",
					    "comm",        "exe",    "uid",  "cgroup",
					    "interactive", "config", "help", "version"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int name_unknown(const struct file_place *place, const char *name)
{
	char reason[ERROR_TEXT_SIZE], suggested[SUGGESTION_TEXT_SIZE];
	struct suggestion suggestion = {.word = name};
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)); i++)
		if (!is_for_command_line(row->name))
			suggestion_offer(&suggestion, row->name);
	snprintf(reason, sizeof(reason), "unknown option \"%.*s\"%s", WORD_SIZE, name,
		 suggestion_text(&suggestion, "", suggested));
	return fail(place, -EINVAL, reason);
}

/* A copy that lives as long as the options, because setters keep their argument. */
static char *keep(struct options *options, const char *format, const char *text)
{
	char *copy;

	if (asprintf(&copy, format, text) < 0)
		return NULL;
	if (vec_push(&options->texts, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

static bool has_slashes(const char *pattern)
{
	size_t length = strlen(pattern);

	return length >= 2 && pattern[0] == '/' && pattern[length - 1] == '/';
}

static int row_set(struct options *options, const struct option_row *row, const char *value,
		   const struct file_place *place)
{
	bool bare = !strcmp(row->name, "ignore") && !has_slashes(value);
	char reason[ERROR_TEXT_SIZE];
	struct error why = {0};
	const char *kept;
	int code;

	if (row->argument && !*value)
		snprintf(reason, sizeof(reason), "%s needs an argument: %s %s", row->name,
			 row->name, row->argument);
	else if (!row->argument && *value)
		snprintf(reason, sizeof(reason), "%s takes no argument", row->name);
	else
		reason[0] = '\0';
	if (*reason)
		return fail(place, -EINVAL, reason);
	kept = row->argument ? keep(options, bare ? "/%s/" : "%s", value) : NULL;
	if (row->argument && !kept)
		return fail(place, -ENOMEM, "out of memory");
	code = row->set(options, row, kept, &why);
	if (!code)
		return 0;
	snprintf(reason, sizeof(reason), "%s: %.400s", row->name,
		 code == -ENOMEM ? "out of memory" : why.text);
	return fail(place, code, reason);
}

static void trim_end(char *text)
{
	size_t length = strlen(text);

	while (length && strchr(BLANKS, text[length - 1]))
		text[--length] = '\0';
}

/* "name value", "name = value", "name" */
static int line_apply(struct options *options, char *line, const struct file_place *place)
{
	const struct option_row *row;
	char *value, *name;
	size_t length;

	name = line + strspn(line, BLANKS);
	trim_end(name);
	if (!*name || *name == '#')
		return 0;
	length = strcspn(name, BLANKS "=");
	value = name + length;
	value += strspn(value, BLANKS);
	if (*value == '=')
		value += 1 + strspn(value + 1, BLANKS);
	row = option_by_name(name, length);
	name[length] = '\0';
	if (!row)
		return name_unknown(place, name);
	if (is_for_command_line(row->name))
		return fail(place, -EINVAL, "this option belongs on the command line");
	return row_set(options, row, value, place);
}

static int text_apply(struct options *options, char *text, size_t size, struct file_place *place)
{
	char *line, *rest = text;
	int code = 0;

	place->line = 1;
	if (memchr(text, '\0', size))
		return fail(place, -EINVAL, "not a text file");
	for (place->line = 0; !code && (line = strsep(&rest, "\n"));) {
		place->line++;
		code = line_apply(options, line, place);
	}
	return code;
}

static int file_read(const char *path, char *text, size_t *ret_size)
{
	FILE *stream = fopen(path, "re");
	int code = 0;

	if (!stream)
		return -errno;
	*ret_size = fread(text, 1, FILE_MAX, stream);
	if (ferror(stream))
		code = errno ? -errno : -EIO;
	else if (*ret_size == FILE_MAX)
		code = -EFBIG;
	fclose(stream);
	return code;
}

int config_read(struct options *options, const char *path, struct error *err)
{
	struct file_place place = {.path = path, .err = err};
	char *text = malloc(FILE_MAX + 1);
	size_t size = 0;
	int code;

	if (!text)
		return error_set(err, -ENOMEM, "out of memory");
	code = file_read(path, text, &size);
	text[size] = '\0';
	if (code)
		error_set_errno(err, code, "cannot read %s", path);
	else
		code = text_apply(options, text, size, &place);
	free(text);
	return code;
}

/* ---- default files ---- */

static bool is_trusted(const char *path, const struct stat *status)
{
	bool ours = status->st_uid == geteuid() || !status->st_uid;

	if (ours && !(status->st_mode & S_IWOTH))
		return true;
	log_warn("ignoring %s: other users can write to it (use --config %s to read it anyway)",
		 path, path);
	return false;
}

/* Returns 1 if the file was read, 0 if there is none. Takes ownership of `path`. */
static int read_if_there(struct options *options, char *path, struct error *err)
{
	struct stat status;
	int code = 0, there;

	if (!path)
		return error_set(err, -ENOMEM, "out of memory");
	there = !stat(path, &status) && S_ISREG(status.st_mode);
	if (there && is_trusted(path, &status))
		code = config_read(options, path, err);
	free(path);
	return code ? code : there;
}

static char *joined(const char *directory, const char *rest)
{
	char *path;

	return asprintf(&path, "%s%s", directory, rest) < 0 ? NULL : path;
}

int config_read_defaults(struct options *options, struct error *err)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool has_home = home && *home == '/';
	int code = read_if_there(options, strdup(SYSTEM_FILE), err);

	if (code >= 0 && config && *config == '/')
		code = read_if_there(options, joined(config, "/mtrace-bpf/config"), err);
	else if (code >= 0 && has_home)
		code = read_if_there(options, joined(home, "/.config/mtrace-bpf/config"), err);
	if (!code && has_home)
		code = read_if_there(options, joined(home, "/.mtrace-bpf"), err);
	return code < 0 ? code : 0;
}
