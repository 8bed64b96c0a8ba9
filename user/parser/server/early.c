// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/server/early.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parser/server/opened.h"

static bool is_same_file(const struct stat *one, const struct stat *other)
{
	return one->st_ino == other->st_ino && one->st_dev == other->st_dev &&
	       one->st_size == other->st_size && one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
	       one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

static void file_close(struct early_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	free(file->path);
	file->path = NULL;
}

int early_give(struct early *early, int fd, const char *path)
{
	struct early_file file = {.fd = fd, .path = strdup(path)};
	bool is_known = !fstat(fd, &file.status); /* otherwise the file is ignored */
	int err = file.path ? 0 : -ENOMEM;

	if (!err && is_known)
		err = vec_push(&early->files, file);
	if (err || !is_known)
		file_close(&file);
	return err;
}

bool early_waits(const struct early *early)
{
	return early->next < early->files.count;
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
static void file_read(struct early_file *file)
{
	struct module *module;
	struct error err;
	int fd = file->fd;

	if (fd < 0)
		return;
	file->fd = -1;
	if (!opened_module(fd, file->path, &module, &err)) {
		module_put(&file->answers[EARLY_MODULE], module);
		read_plan(module, &file->answers[EARLY_PLAN]);
		read_table(module, &file->answers[EARLY_TABLE]);
		module_free(module);
	}
	file_close(file);
}

void early_read_next(struct early *early)
{
	file_read(&early->files.items[early->next++]);
}

static struct early_file *find(struct early *early, int fd)
{
	struct early_file *file;
	struct stat status;

	if (fstat(fd, &status))
		return NULL;
	vec_each (file, &early->files)
		if (is_same_file(&file->status, &status))
			return file;
	return NULL;
}

void early_tell(struct early *early, int fd, struct wire *answer)
{
	static const struct wire nothing;
	struct early_file *file = find(early, fd);

	if (file)
		file_read(file);
	for (int kind = 0; kind < EARLY_KINDS; kind++)
		early_put(answer, file ? &file->answers[kind] : &nothing);
	if (file)
		early_drop(file->answers);
}

void early_free(struct early *early)
{
	struct early_file *file;

	vec_each (file, &early->files) {
		file_close(file);
		early_drop(file->answers);
	}
	vec_free(&early->files);
}
