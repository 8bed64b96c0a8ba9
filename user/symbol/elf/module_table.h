/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the ELF files that processes map, opened when they are first seen, so that names
 * outlive a deleted file or an exited process. There is one table per session; ids are its indices.
 */
#ifndef MTRACE_SYMBOL_ELF_MODULE_TABLE_H
#define MTRACE_SYMBOL_ELF_MODULE_TABLE_H

#include <stdint.h>

#include "base/error.h"
#include "symbol/elf/module.h"

struct module_table;

/*
 * Fills in what a module's file says of itself (build_id to segment_count), for `fd` and `path`.
 * 0, -ENOMEM, or -ENOEXEC with words; on failure nothing is owned.
 */
struct module_reader {
	int (*read)(void *ctx, struct module *module, struct error *err);
	void *ctx;
};

/*
 * Tells the device and inode by which the kernel knows an open file, where probes and mappings are
 * concerned. On overlayfs and btrfs stat() gives others. 0, or -errno where it cannot be told.
 */
struct module_identifier {
	int (*identify)(void *ctx, int fd, uint64_t *ret_device, uint64_t *ret_inode);
	void *ctx;
};

int module_table_new(struct module_table **ret_table);
void module_table_free(struct module_table *table);
/* Who reads the files; without one the table does it itself. */
void module_table_set_reader(struct module_table *table, struct module_reader reader);
/* Without one (NULL), or where it cannot tell, files are known as stat() has them. */
void module_table_set_identifier(struct module_table *table, struct module_identifier identifier);

/*
 * The module of an open file (taken over on success, closed by the table). The same device, inode
 * and build id give the same module, and fd is then closed; a file that has not been changed since
 * it was read is not read again. `path` is what people see.
 * 0, -ENOMEM, or -ENOEXEC with words for what is not an ELF file.
 */
int module_intern(struct module_table *table, int fd, const char *path, struct module **ret_module,
		  struct error *err);

/*
 * A module that was known elsewhere: what `known` says of it (path, build id, machine, word,
 * segments) is copied, and its descriptor taken over on success; -1 if there is no file. 0 or
 * -ENOMEM.
 */
int module_adopt(struct module_table *table, const struct module *known,
		 struct module **ret_module);

struct module *module_get(struct module_table *table, uint32_t id); /* NULL if there is none */

/* By device and inode, or NULL. As long as the table lives, nothing else can have them. */
struct module *module_find(struct module_table *table, uint64_t device, uint64_t inode);

#endif
