/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/process/procfs.h"

#define ID_DIGITS 64 /* used by docker, podman, containerd and CRI-O, and so by Kubernetes */

/* A part of the text. */
struct cgroup_span {
	const char *start;
	size_t length;
};

/*
 * Container names that are not ids: the text before the name in the cgroup's path, and the text
 * that ends it (or the end of the path).
 */
static const struct {
	const char *before, *end;
} named[] = {
	{"/lxc.payload.", "/"},
	{"/lxc/", "/"},
	{"/machine-", ".scope"},
	{"/systemd-nspawn@", ".service"},
};

static size_t digits_at(const char *text, size_t length)
{
	size_t count = 0;

	while (count < length && isxdigit((unsigned char)text[count]))
		count++;
	return count;
}

/* Finds the last run of exactly ID_DIGITS digits: containers can be nested. */
static struct cgroup_span find_id(struct cgroup_span path)
{
	struct cgroup_span found = {0};

	for (size_t at = 0; at < path.length;) {
		size_t digits = digits_at(path.start + at, path.length - at);

		if (digits == ID_DIGITS)
			found = (struct cgroup_span){path.start + at, digits};
		at += digits ? digits : 1;
	}
	return found;
}

static struct cgroup_span find_named(struct cgroup_span path)
{
	const char *limit = path.start + path.length;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		size_t before = strlen(named[i].before);
		const char *start = memmem(path.start, path.length, named[i].before, before);
		const char *end;

		if (!start)
			continue;
		start += before;
		end = memmem(start, (size_t)(limit - start), named[i].end, strlen(named[i].end));
		if (!end)
			end = limit;
		if (end > start)
			return (struct cgroup_span){start, (size_t)(end - start)};
	}
	return (struct cgroup_span){0};
}

static struct cgroup_span find_container(struct cgroup_span path)
{
	struct cgroup_span id = find_id(path);

	return id.length ? id : find_named(path);
}

/* Parses "ID:CONTROLLERS:PATH". The result has length 0 if the line is malformed. */
static struct cgroup_span path_of_line(struct cgroup_span line, bool *ret_unified)
{
	const char *colon = memchr(line.start, ':', line.length), *second = NULL;
	const char *limit = line.start + line.length;

	if (colon)
		second = memchr(colon + 1, ':', (size_t)(limit - colon - 1));
	if (!second || second[1] != '/')
		return (struct cgroup_span){0};
	*ret_unified = second == colon + 1;
	return (struct cgroup_span){second + 1, (size_t)(limit - second - 1)};
}

/* Prefers the path of version 2, unless it is the root; otherwise the longest path. */
static bool is_better(struct cgroup_span path, bool unified, struct cgroup_span best,
		      bool best_unified)
{
	if (path.length <= 1 || best_unified)
		return false;
	return unified || path.length > best.length;
}

static int copy(struct cgroup_span span, char **ret_copy)
{
	*ret_copy = span.length ? strndup(span.start, span.length) : NULL;
	return span.length && !*ret_copy ? -ENOMEM : 0;
}

int cgroup_parse(const char *text, struct cgroup *ret_cgroup)
{
	struct cgroup_span best = {0}, container = {0};
	struct cgroup cgroup = {0};
	bool best_unified = false;

	while (*text) {
		struct cgroup_span line = {text, strcspn(text, "\n")}, path, found;
		bool unified = false;

		path = path_of_line(line, &unified);
		if (is_better(path, unified, best, best_unified)) {
			best = path;
			best_unified = unified;
		}
		found = path.length ? find_container(path) : path;
		if (found.length && (!container.length || unified))
			container = found;
		text += line.length + (text[line.length] == '\n');
	}
	if (copy(best, &cgroup.path) || copy(container, &cgroup.container)) {
		cgroup_free(&cgroup);
		return -ENOMEM;
	}
	*ret_cgroup = cgroup;
	return 0;
}

int cgroup_read(pid_t pid, struct cgroup *ret_cgroup)
{
	size_t size;
	char *text;
	int err = procfs_read(pid, "cgroup", &text, &size);

	if (err)
		return err;
	err = cgroup_parse(text, ret_cgroup);
	free(text);
	return err;
}

int cgroup_copy(struct cgroup *copy, const struct cgroup *cgroup)
{
	*copy = (struct cgroup){.path = cgroup->path ? strdup(cgroup->path) : NULL,
				.container = cgroup->container ? strdup(cgroup->container) : NULL};
	if (!copy->path == !cgroup->path && !copy->container == !cgroup->container)
		return 0;
	cgroup_free(copy);
	return -ENOMEM;
}

void cgroup_free(struct cgroup *cgroup)
{
	free(cgroup->path);
	free(cgroup->container);
	*cgroup = (struct cgroup){0};
}
