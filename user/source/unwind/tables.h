/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables that the BPF programs search (bpf/unwind.bpf.h): compiled from each module's
 * call frame information, written into maps that are mapped into our memory, and published by the
 * name under which the kernel knows the file.
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

/* Who searches the arrays and cannot ask where a module's rows are: is told. */
struct unwind_publisher {
	void (*file)(void *ctx, struct unwind_file_key key, struct unwind_file file);
	void (*exact)(void *ctx, const struct unwind_exact_key *key, const struct unwind_row *row);
	void (*code)(void *ctx, pid_t pid, const struct code_mapping *code);
	uint32_t (*generation)(void *ctx, pid_t pid);
	void (*close)(void *ctx);
	void *ctx;
};

/*
 * In two arrays (layout.h), which must outlive it, compiled by the parser. Without a
 * publisher whoever wants to know a module's place asks for it. 0 or -errno; then nothing is
 * closed.
 */
int unwind_tables_new_at(struct unwind_row *rows, uint32_t row_capacity, struct unwind_page *pages,
			 uint32_t page_capacity, struct parser *parser,
			 const struct unwind_publisher *publisher,
			 struct unwind_tables **ret_tables);
struct unwind_file unwind_tables_file(const struct unwind_tables *tables,
				      const struct module *module);
void unwind_tables_free(struct unwind_tables *tables);

/* The key of a file by the numbers that the kernel gives in mapping records and /proc/PID/maps.
 * (Those of stat() differ from them on overlayfs and btrfs.) */
struct unwind_file_key unwind_file_key(uint32_t major, uint32_t minor, uint64_t inode);

struct unwind_file_key unwind_vdso_key(bool is_64bit);

/* Is something published for that file? */
bool unwind_tables_has(const struct unwind_tables *tables, struct unwind_file_key key);

/*
 * Publish the module's table under that key; it is compiled when the module is first seen. When
 * this returns, stacks that lead through it are complete. A module without a table, or one for
 * which there is no room, is logged, and stacks end there. 0 or -ENOMEM.
 */
int unwind_tables_add(struct unwind_tables *tables, const struct module *module,
		      struct unwind_file_key key);

/* There will be none for that file: do not wait for one. */
void unwind_tables_none(const struct unwind_tables *tables, struct unwind_file_key key);

/*
 * Tell the programs an executable mapping of a process, so that they need not ask the kernel. The
 * generation was taken before the mappings were read: if they have changed since, it is void.
 */
uint32_t unwind_tables_generation(const struct unwind_tables *tables, pid_t pid);
void unwind_tables_tell(const struct unwind_tables *tables, pid_t pid, uint32_t generation,
			const struct proc_mapping *mapping);

/*
 * The row of a call that lies at that offset of the module (return address - 1), as the BPF
 * programs find it. False if the module has no table.
 */
bool unwind_tables_row(const struct unwind_tables *tables, const struct module *module,
		       uint64_t offset, struct unwind_row *ret_row);

/*
 * The row of any instruction, for a frame that was interrupted there; from now on the BPF programs
 * know it, too. The module's full table is compiled for it, and kept for a while. False if there is
 * none.
 */
bool unwind_tables_exact(struct unwind_tables *tables, const struct module *module, uint64_t offset,
			 struct unwind_row *ret_row);

/* The key of a module's file, as the kernel's records have it. */
struct unwind_file_key unwind_module_key(const struct module *module);

/* The key of a mapping's file. */
struct unwind_file_key unwind_mapping_key(const struct proc_mapping *mapping);

#endif
