// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/elf/module_table.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map64.h"
#include "base/vec.h"
#include "symbol/elf/module_read.h"

struct module_table {
	struct module_reader reader;
	struct module_identifier identifier;
	VEC(struct module *) modules;
	struct map64 by_file; /* file_key() → id of the newest module of that file */
};

static uint64_t file_key(uint64_t device, uint64_t inode)
{
	return hash_u64(device) ^ inode;
}

static int read_here(void *ctx, struct module *module, struct error *err)
{
	(void)ctx;
	return module_read(module, err);
}

int module_table_new(struct module_table **ret_table)
{
	struct module_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->reader.read = read_here;
	*ret_table = table;
	return 0;
}

void module_table_set_reader(struct module_table *table, struct module_reader reader)
{
	table->reader = reader;
}

void module_table_set_identifier(struct module_table *table, struct module_identifier identifier)
{
	table->identifier = identifier;
}

void module_table_free(struct module_table *table)
{
	struct module **module;

	if (!table)
		return;
	vec_each (module, &table->modules)
		module_free(*module);
	vec_free(&table->modules);
	map64_free(&table->by_file);
	free(table);
}

#define NS_PER_SECOND 1000000000ULL

/* Every change of a file updates its ctime, which users cannot set. The ctime is coarse, so a
 * second change soon after the first may not be visible in it. Returns 0 for a file that was
 * changed a moment ago. */
static uint64_t changed_ns(const struct stat *status)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (status->st_ctim.tv_sec < 0 || now.tv_sec <= status->st_ctim.tv_sec + 1)
		return 0;
	return (uint64_t)status->st_ctim.tv_sec * NS_PER_SECOND + (uint64_t)status->st_ctim.tv_nsec;
}

/* Returns the path if it still names the open file, otherwise the descriptor's /proc path. */
static char *choose_open_path(const struct module *module, const struct stat *opened)
{
	struct stat status;
	char *text;

	if (module->path[0] == '/' && !stat(module->path, &status) &&
	    status.st_dev == opened->st_dev && status.st_ino == opened->st_ino)
		return strdup(module->path);
	return asprintf(&text, "/proc/self/fd/%d", module->fd) < 0 ? NULL : text;
}

static void module_identify(const struct module_table *table, struct module *module,
			    const struct stat *status)
{
	const struct module_identifier *identifier = &table->identifier;

	if (identifier->identify &&
	    !identifier->identify(identifier->ctx, module->fd, &module->device, &module->inode))
		return;
	module->device = status->st_dev;
	module->inode = status->st_ino;
}

static int module_stat(const struct module_table *table, struct module *module,
		       struct stat *ret_status, struct error *err)
{
	if (fstat(module->fd, ret_status) || !S_ISREG(ret_status->st_mode))
		return error_set(err, -ENOEXEC, "%s is not a regular file", module->path);
	module->changed_ns = changed_ns(ret_status);
	module_identify(table, module, ret_status);
	return 0;
}

static struct module *find_same(const struct module_table *table, const struct module *module)
{
	for (size_t i = table->modules.count; i-- > 0;) {
		struct module *other = table->modules.items[i];

		if (other->inode == module->inode && other->device == module->device &&
		    !strcmp(other->build_id, module->build_id))
			return other;
	}
	return NULL;
}

static struct module *find_unchanged(struct module_table *table, const struct module *module)
{
	struct module *known =
		module->changed_ns ? module_find(table, module->device, module->inode) : NULL;

	return known && known->changed_ns == module->changed_ns ? known : NULL;
}

/* Fills in the module, or sets *ret_same to an existing module of the same file. */
static int module_fill(struct module_table *table, struct module *module, struct module **ret_same,
		       struct error *err)
{
	struct stat status;
	int code = module_stat(table, module, &status, err);

	if (code)
		return code;
	*ret_same = find_unchanged(table, module);
	if (*ret_same)
		return 0;
	code = table->reader.read(table->reader.ctx, module, err);
	if (code)
		return code;
	*ret_same = find_same(table, module);
	module->open_path = *ret_same ? NULL : choose_open_path(module, &status);
	if (!*ret_same && !module->open_path)
		return error_set_errno(err, -ENOMEM, "cannot read %s", module->path);
	return 0;
}

static int table_add(struct module_table *table, struct module *module)
{
	module->id = (uint32_t)table->modules.count;
	if (vec_push(&table->modules, module))
		return -ENOMEM;
	if (map64_set(&table->by_file, file_key(module->device, module->inode), module->id)) {
		table->modules.count--;
		return -ENOMEM;
	}
	return 0;
}

/* Frees the module but leaves its descriptor to the caller. */
static void module_abandon(struct module *module)
{
	if (module)
		module->fd = -1;
	module_free(module);
}

int module_intern(struct module_table *table, int fd, const char *path, struct module **ret_module,
		  struct error *err)
{
	struct module *module = calloc(1, sizeof(*module));
	struct module *same = NULL;
	int code = -ENOMEM;

	if (module) {
		module->fd = fd;
		module->path = strdup(path);
	}
	if (module && module->path)
		code = module_fill(table, module, &same, err);
	if (!code && !same)
		code = table_add(table, module);
	if (code) {
		module_abandon(module);
		return code == -ENOMEM ? error_set_errno(err, code, "cannot read %s", path) : code;
	}
	if (same) {
		same->changed_ns = module->changed_ns;
		module_free(module);
	}
	*ret_module = same ? same : module;
	return 0;
}

static int segments_copy(struct module *module, const struct module *known)
{
	size_t count = known->segment_count;

	if (!count)
		return 0;
	module->segments = calloc(count, sizeof(*module->segments));
	if (!module->segments)
		return -ENOMEM;
	memcpy(module->segments, known->segments, count * sizeof(*module->segments));
	module->segment_count = count;
	return 0;
}

/* Not added to by_file: no local process maps this file. */
int module_adopt(struct module_table *table, const struct module *known, struct module **ret_module)
{
	struct module *module = calloc(1, sizeof(*module));

	if (!module)
		return -ENOMEM;
	module->fd = -1;
	module->id = (uint32_t)table->modules.count;
	module->path = strdup(known->path);
	memcpy(module->build_id, known->build_id, sizeof(module->build_id));
	module->machine = known->machine;
	module->elf64 = known->elf64;
	module->big_endian = known->big_endian;
	module->executable = known->executable;
	if (!module->path || segments_copy(module, known) || vec_push(&table->modules, module)) {
		module_free(module);
		return -ENOMEM;
	}
	module->fd = known->fd;
	*ret_module = module;
	return 0;
}

struct module *module_get(struct module_table *table, uint32_t id)
{
	return id < table->modules.count ? table->modules.items[id] : NULL;
}

static bool is_file(const struct module *module, uint64_t device, uint64_t inode)
{
	return module->inode == inode && module->device == device;
}

struct module *module_find(struct module_table *table, uint64_t device, uint64_t inode)
{
	uint32_t id = map64_get(&table->by_file, file_key(device, inode));
	struct module *module = id == MAP64_NONE ? NULL : module_get(table, id);

	if (!module || is_file(module, device, inode))
		return module;
	for (size_t i = table->modules.count; i-- > 0;) /* hash collision */
		if (is_file(table->modules.items[i], device, inode))
			return table->modules.items[i];
	return NULL;
}
