/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the ELF files that processes map, opened when they are first seen, so that names
 * outlive a deleted file or an exited process. One table per session; ids are its indices.
 */
#ifndef MTRACE_SYMBOL_ELF_MODULE_H
#define MTRACE_SYMBOL_ELF_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A PT_LOAD. */
struct module_segment {
	uint64_t offset; /* in the file, bytes */
	uint64_t vaddr;
	uint64_t size; /* bytes that come from the file */
	bool executable;
};

struct module {
	uint32_t id;
	char *path;      /* as the process calls it, for people */
	char *open_path; /* where it can be opened now: for attaching probes; may equal path */
	int fd; /* open for reading as long as the table lives; -1: no file (module_adopt) */
	uint64_t device; /* as the kernel knows the file: st_dev and st_ino, mostly */
	uint64_t inode;
	uint64_t changed_ns; /* the file's ctime when it was read; 0: it may change and keep that */
	char build_id[41];   /* hex, "" if it has none */
	int machine;         /* e_machine */
	bool elf64;
	bool big_endian;
	bool executable; /* a program (ET_EXEC, PIE, static-pie) rather than a library */
	struct module_segment *segments; /* as the program headers list them */
	size_t segment_count;
	const char
		*prefix; /* of its allocation functions, as the user says; else NULL; not owned */
	struct probe_plan *plan; /* NULL until asked for; see symbol/probe_site/plan.h */
};

struct module_table;

/*
 * Fills in what a module's file says of itself (build_id to segment_count), for `fd` and `path`.
 * 0, -ENOMEM, or -ENOEXEC with words; on failure nothing is owned.
 */
struct module_reader {
	int (*read)(void *ctx, struct module *module, struct error *err);
	void *ctx;
};

/* Of one that is in no table; closes its file. NULL is fine. */
void module_free(struct module *module);

/* Such a reader, in this process. */
int module_read(struct module *module, struct error *err);

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

/* Code of the x32 ABI: 64-bit, with pointers of 32. */
bool module_is_x32(const struct module *module);

/* Virtual address in the file's own terms (st_value) ↔ file offset, by PT_LOAD. 0 or -ENOENT. */
int module_offset_to_vaddr(const struct module *module, uint64_t offset, uint64_t *ret_vaddr);

#endif
