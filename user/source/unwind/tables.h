/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables that the BPF programs search (bpf/unwind.bpf.h): compiled from each module's
 * call frame information, written to maps that are mapped into our memory, and published under the
 * kernel's key of the file.
 */
#ifndef MTRACE_SOURCE_UNWIND_TABLES_H
#define MTRACE_SOURCE_UNWIND_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "bpf/abi.h"
#include "os/process/maps.h"
#include "parser/client/client.h"
#include "symbol/elf/module.h"

struct unwind_tables;

/* Receives the places of tables, for a searcher that cannot look them up itself. */
struct unwind_publisher {
	void (*file)(void *ctx, struct unwind_file_key key, struct unwind_file file);
	void (*exact)(void *ctx, const struct unwind_exact_key *key, const struct unwind_row *row);
	void (*code)(void *ctx, pid_t pid, const struct code_mapping *code);
	uint32_t (*generation)(void *ctx, pid_t pid);
	void (*close)(void *ctx);
	void *ctx;
};

/*
 * Creates tables in two arrays (layout.h), which must outlive them. The parser compiles the tables.
 * Without a publisher, the searcher looks up a module's place itself. Returns 0 or -errno; on
 * failure the publisher is not closed.
 */
int unwind_tables_new_at(struct unwind_row *rows, uint32_t row_capacity, struct unwind_page *pages,
			 uint32_t page_capacity, struct parser *parser,
			 const struct unwind_publisher *publisher,
			 struct unwind_tables **ret_tables);
struct unwind_file unwind_tables_file(const struct unwind_tables *tables,
				      const struct module *module);
void unwind_tables_free(struct unwind_tables *tables);

/* The key of a file, from the numbers in mapping records and /proc/PID/maps. (Those of stat()
 * differ on overlayfs and btrfs.) */
struct unwind_file_key unwind_file_key(uint32_t major, uint32_t minor, uint64_t inode);

struct unwind_file_key unwind_vdso_key(bool is_64bit);

/* Returns true if something is published for that file. */
bool unwind_tables_has(const struct unwind_tables *tables, struct unwind_file_key key);

/*
 * Publishes the module's table under that key. It is compiled when the module is first seen. When
 * this returns, stacks through the module are complete. If it has no table, or there is no room for
 * one, that is logged, and stacks end there. Returns 0 or -ENOMEM.
 */
int unwind_tables_add(struct unwind_tables *tables, const struct module *module,
		      struct unwind_file_key key);

/* Publishes that there will be no table for that file, so that nobody waits for one. */
void unwind_tables_none(const struct unwind_tables *tables, struct unwind_file_key key);

/*
 * Passes an executable mapping of a process to the BPF programs, so that they need not ask the
 * kernel. The generation must be read before the mappings: if they have changed since, it is
 * ignored.
 */
uint32_t unwind_tables_generation(const struct unwind_tables *tables, pid_t pid);
void unwind_tables_set_mapping(const struct unwind_tables *tables, pid_t pid, uint32_t generation,
			       const struct proc_mapping *mapping);

/*
 * The row of a call at an offset of the module (return address - 1), as the BPF programs find it.
 * Returns false if the module has no table.
 */
bool unwind_tables_row(const struct unwind_tables *tables, const struct module *module,
		       uint64_t offset, struct unwind_row *ret_row);

/*
 * The row of any instruction, for an interrupted frame. It is also passed to the BPF programs.
 * Compiles the module's full table, which is cached for a while. Returns false if there is none.
 */
bool unwind_tables_exact(struct unwind_tables *tables, const struct module *module, uint64_t offset,
			 struct unwind_row *ret_row);

/* The key of a module's file, as in the kernel's records. */
struct unwind_file_key unwind_module_key(const struct module *module);

/* The key of a mapping's file. */
struct unwind_file_key unwind_mapping_key(const struct proc_mapping *mapping);

#endif
