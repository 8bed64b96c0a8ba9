/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the ELF files that processes map. They are opened when first seen, so that names remain
 * available after a file is deleted or a process exits. There is one table per session; ids are its
 * indices.
 */
#ifndef MTRACE_SYMBOL_ELF_MODULE_TABLE_H
#define MTRACE_SYMBOL_ELF_MODULE_TABLE_H

#include <stdint.h>

#include "base/error.h"
#include "symbol/elf/module.h"

struct module_table;

/*
 * Fills in the properties of a module's file (build_id to segment_count), given `fd` and `path`.
 * Returns 0, -ENOMEM, or -ENOEXEC and sets *err. On failure nothing is allocated.
 */
struct module_reader {
	int (*read)(void *ctx, struct module *module, struct error *err);
	void *ctx;
};

/*
 * Returns the device and inode by which the kernel identifies an open file for probes and mappings.
 * On overlayfs and btrfs they differ from those of stat(). Returns 0, or -errno if they cannot be
 * determined.
 */
struct module_identifier {
	int (*identify)(void *ctx, int fd, uint64_t *ret_device, uint64_t *ret_inode);
	void *ctx;
};

int module_table_new(struct module_table **ret_table);
void module_table_free(struct module_table *table);
/* Sets who reads the files. By default the table reads them in this process. */
void module_table_set_reader(struct module_table *table, struct module_reader reader);
/* Without an identifier (NULL), or where it fails, the table uses st_dev and st_ino. */
void module_table_set_identifier(struct module_table *table, struct module_identifier identifier);

/*
 * Returns the module of an open file. Takes ownership of the descriptor on success. Files with the
 * same device, inode and build id share a module; the duplicate descriptor is then closed. A file
 * that has not changed since it was read is not read again. `path` is shown to the user.
 *
 * Returns 0, -ENOMEM, or -ENOEXEC and sets *err if it is not an ELF file.
 */
int module_intern(struct module_table *table, int fd, const char *path, struct module **ret_module,
		  struct error *err);

/*
 * Adds a module that is described by `known` (path, build id, machine, word size, segments), such
 * as one from another machine. The description is copied. Takes ownership of known->fd on success;
 * -1 if there is no file. Returns 0 or -ENOMEM.
 */
int module_adopt(struct module_table *table, const struct module *known,
		 struct module **ret_module);

struct module *module_get(struct module_table *table, uint32_t id); /* NULL if there is none */

/* Looks up a module by device and inode, or NULL. The table keeps the files open, so their inodes
 * cannot be reused. */
struct module *module_find(struct module_table *table, uint64_t device, uint64_t inode);

#endif
