// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/server/prefetched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parser/server/passed_module.h"

static bool is_same_file(const struct stat *one, const struct stat *other)
{
	return one->st_ino == other->st_ino && one->st_dev == other->st_dev &&
	       one->st_size == other->st_size && one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
	       one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

static void file_close(struct prefetched_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	free(file->path);
	file->path = NULL;
}

int prefetched_add(struct prefetched *prefetched, int fd, const char *path)
{
	struct prefetched_file file = {.fd = fd, .path = strdup(path)};
	bool is_known = !fstat(fd, &file.status); /* otherwise the file is ignored */
	int err = file.path ? 0 : -ENOMEM;

	if (!err && is_known)
		err = vec_push(&prefetched->files, file);
	if (err || !is_known)
		file_close(&file);
	return err;
}

bool prefetched_waits(const struct prefetched *prefetched)
{
	return prefetched->next < prefetched->files.count;
}

static void read_plan(struct module *module, struct wire *answer)
{
	const struct probe_plan *plan;
	struct error err;

	if (!probe_plan_make(module, &plan, &err))
		plan_put(answer, plan);
}

static void read_table(const struct module *module, struct wire *answer)
{
	struct cfi_table table;
	struct error err;

	if (cfi_table_build(module->fd, false, &table, &err))
		return;
	table_put(answer, &table);
	cfi_table_free(&table);
}

/* Errors are ignored here: the read is repeated on request, and reports them then. */
static void file_read(struct prefetched_file *file)
{
	struct module *module;
	struct error err;
	int fd = file->fd;

	if (fd < 0)
		return;
	file->fd = -1;
	if (!module_of_descriptor(fd, file->path, &module, &err)) {
		module_put(&file->answers[PREFETCH_MODULE], module);
		read_plan(module, &file->answers[PREFETCH_PLAN]);
		read_table(module, &file->answers[PREFETCH_TABLE]);
		module_free(module);
	}
	file_close(file);
}

void prefetched_read_next(struct prefetched *prefetched)
{
	file_read(&prefetched->files.items[prefetched->next++]);
}

static struct prefetched_file *find(struct prefetched *prefetched, int fd)
{
	struct prefetched_file *file;
	struct stat status;

	if (fstat(fd, &status))
		return NULL;
	vec_each (file, &prefetched->files)
		if (is_same_file(&file->status, &status))
			return file;
	return NULL;
}

void prefetched_write_answers(struct prefetched *prefetched, int fd, struct wire *answer)
{
	static const struct wire nothing;
	struct prefetched_file *file = find(prefetched, fd);

	if (file)
		file_read(file);
	for (int kind = 0; kind < PREFETCH_KINDS; kind++)
		prefetch_put(answer, file ? &file->answers[kind] : &nothing);
	if (file)
		prefetch_drop(file->answers);
}

void prefetched_free(struct prefetched *prefetched)
{
	struct prefetched_file *file;

	vec_each (file, &prefetched->files) {
		file_close(file);
		prefetch_drop(file->answers);
	}
	vec_free(&prefetched->files);
}
