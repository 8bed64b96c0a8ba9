// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/stream/finder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "os/file/regular.h"
#include "symbol/elf/module_table.h"
#include "symbol/elf/vdso.h"

/* One search. */
struct file_search {
	const struct finder *finder;
	const struct module *known;
	const struct wanted_file *wanted;
	struct module any; /* if any file is accepted: its properties */
	char *other;       /* the first file with the right name but other contents */
};

/* Returns true if the open file is the one that was traced. */
static bool is_right(struct file_search *search, int fd, const char *path)
{
	struct module seen = {.fd = fd, .path = (char *)path};
	bool any = !search->wanted->size, right;
	struct stat status;
	struct error err;

	if (fstat(fd, &status))
		return false;
	if (parser_read_module(search->finder->parser, &seen, &err)) {
		log_info("%s", err.text);
		return false;
	}
	if (any) {
		search->any = seen;
		return true;
	}
	free(seen.segments);
	if (search->known->build_id[0] || seen.build_id[0])
		right = !strcmp(search->known->build_id, seen.build_id);
	else
		right = (uint64_t)status.st_size == search->wanted->size;
	return right;
}

/* Returns a descriptor, or -1. */
static int try_path(struct file_search *search, const char *path)
{
	int fd = file_open_regular(path, NULL);

	if (fd < 0)
		return -1;
	if (is_right(search, fd, path)) {
		log_debug("reading %s from %s", search->known->path, path);
		return fd;
	}
	close(fd);
	if (!search->other)
		search->other = strdup(path);
	return -1;
}

static int try_below(struct file_search *search, const char *directory, const char *path)
{
	char *joined;
	int fd;

	if (asprintf(&joined, "%s/%s", directory, path) < 0)
		return -1;
	fd = try_path(search, joined);
	free(joined);
	return fd;
}

/* DIR/usr/lib/libx.so, DIR/lib/libx.so, DIR/libx.so. */
static int try_stripped(struct file_search *search, const char *directory)
{
	const char *rest = search->known->path;
	int fd = -1;

	while (rest && fd < 0) {
		rest += strspn(rest, "/");
		fd = try_below(search, directory, rest);
		rest = strchr(rest, '/');
	}
	return fd;
}

static int find_file(struct file_search *search)
{
	const struct finder *finder = search->finder;
	const char *const *binpath = finder->binpaths;
	int fd = -1;

	for (; binpath && *binpath && fd < 0; binpath++)
		fd = try_stripped(search, *binpath);
	if (fd < 0 && finder->sysroot)
		fd = try_below(search, finder->sysroot, search->known->path);
	else if (fd < 0)
		fd = try_path(search, search->known->path);
	return fd;
}

/* The vdso has no file, but ours may be the same. */
static int find_vdso(const struct finder *finder, const struct module *known,
		     struct module **ret_module)
{
	struct module *module;

	if (strcmp(known->path, VDSO_NAME) || !known->build_id[0] ||
	    vdso_module(finder->modules, known->elf64, &module) ||
	    strcmp(module->build_id, known->build_id))
		return -ENOENT;
	*ret_module = module;
	return 0;
}

static void log_other_file(const struct file_search *search)
{
	if (search->other)
		log_warn("%s is not the file that was traced; its functions have no names",
			 search->other);
	else
		log_info("%s was not found; its functions have no names", search->known->path);
}

int finder_module(const struct finder *finder, const struct module *known,
		  const struct wanted_file *wanted, struct module **ret_module)
{
	struct file_search search = {.finder = finder, .known = known, .wanted = wanted};
	struct module found = *known;
	int code;

	if (!find_vdso(finder, known, ret_module))
		return 0;
	found.fd = known->path[0] == '[' ? -1 : find_file(&search);
	if (found.fd < 0)
		log_other_file(&search);
	free(search.other);
	if (found.fd >= 0 && !wanted->size) {
		search.any.path = known->path;
		search.any.fd = found.fd;
		found = search.any;
	}
	code = module_adopt(finder->modules, &found, ret_module);
	free(search.any.segments);
	if (code && found.fd >= 0)
		close(found.fd);
	return code;
}
